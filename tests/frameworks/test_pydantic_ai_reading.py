"""The messages of a run are read once, and anew as soon as they are not what they were."""

from __future__ import annotations

import gc
import warnings
from dataclasses import replace
from typing import Any
from weakref import ref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import ModelRequestNode, RunContext, Tool, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults
from pydantic_ai.usage import RunUsage

from surface.adapters.pydantic_ai import PYDANTIC_AI
from surface.adapters.pydantic_ai.reading import RunMessages
from surface.errors import TranscriptError
from tests.frameworks.pydantic_ai_bench import SEARCH, Bench, Desk, close_account, refund, returns
from tests.frameworks.test_pydantic_ai_journal import Table


def retried(call_id: str | None) -> Any:
    """What an older release stored for a call that it refused, or for none, as this release reads it."""
    answered = {} if call_id is None else {"tool_name": "alpha", "tool_call_id": call_id}
    stored = [{"kind": "request", "parts": [{"part_kind": "retry-prompt", "content": "no", **answered}]}]
    (request,) = ModelMessagesTypeAdapter.validate_python(stored)
    return request.parts[0]


_IDS = st.sampled_from(["a", "b", "c"])
_CALLS = st.lists(_IDS, unique=True, max_size=3).map(
    lambda ids: ModelResponse(
        parts=[TextPart("Well."), *(ToolCallPart("alpha", {}, tool_call_id=each) for each in ids)]
    )
)
_PARTS = st.one_of(
    st.builds(lambda each, text: ToolReturnPart("alpha", text, tool_call_id=each), _IDS, st.text(max_size=3)),
    st.builds(lambda each: ToolReturnPart("alpha", "no", tool_call_id=each, outcome="failed"), _IDS),
    st.builds(retried, st.one_of(st.none(), _IDS)),
    st.builds(lambda: UserPromptPart("hello")),
)
_MESSAGES = st.lists(st.one_of(_CALLS, st.lists(_PARTS, min_size=1, max_size=3).map(ModelRequest)))


@pytest.mark.rule("ACT-1")
@given(history=_MESSAGES, other=_MESSAGES, cuts=st.lists(st.integers(0, 8), max_size=4))
@settings(max_examples=60)
def test_whatever_was_read_before_the_transcript_is_that_of_the_messages(
    history: list[Any], other: list[Any], cuts: list[int]
) -> None:
    reader = RunMessages()
    for messages in [*(history[:cut] for cut in cuts), history, other, [*history, *other]]:
        try:
            expected = PYDANTIC_AI.read(messages)
        except TranscriptError:
            with pytest.raises(TranscriptError):
                reader.read(messages)
        else:
            assert reader.read(messages) == expected
            assert reader.reading(messages) is reader.reading(list(messages))


def test_a_part_that_is_edited_in_place_is_read_anew() -> None:
    called = ToolCallPart("alpha", {}, tool_call_id="a")
    returned = ToolReturnPart("alpha", "seen", tool_call_id="a", metadata={"toolsurface.receipt": "{}"})
    messages: list[ModelMessage] = [ModelResponse(parts=[called]), ModelRequest(parts=[returned])]
    reader = RunMessages()
    edits: list[tuple[Any, str, Any]] = [
        (returned, "metadata", {"toolsurface.receipt": "[]"}),
        (returned, "metadata", None),
        (returned, "content", "other"),
        (returned, "outcome", "failed"),
        (called, "tool_name", "bravo"),
        (called, "args", {"x": 1}),
    ]
    for part, name, value in edits:
        before = reader.reading(messages)
        setattr(part, name, value)
        assert reader.reading(messages) is not before, name
        assert reader.read(messages) == PYDANTIC_AI.read(messages), name


@pytest.mark.rule("REP-2", "ACT-1")
async def test_another_history_of_the_same_length_is_judged_by_itself() -> None:
    bench = Bench(refund, close_account)
    searched = (await bench.run([SEARCH])).all_messages()[:-1]
    call = ModelResponse(parts=[ToolCallPart("close_account", {}, tool_call_id="x")])
    selected = [*searched, call]
    part = returns(await bench.run([SEARCH]))[0]
    bare = [*searched[:-1], ModelRequest(parts=[replace(part, metadata=None, content="lost")]), call]
    context: RunContext[Any] = RunContext(deps=Desk(), model=TestModel(), usage=RunUsage())
    toolset = await bench.deferred.toolset.for_run(context)
    names = []
    for messages in (selected, bare, selected):
        turn = await toolset._turn(replace(context, messages=messages))
        names.append(turn.names)
    assert names == [("search_tools", "refund", "close_account"), ("search_tools",), names[0]]


@pytest.mark.rule("MNT-1")
async def test_what_a_tool_says_beside_its_result_keeps_the_other_calls_of_the_turn_open() -> None:
    def show(ctx: RunContext[Desk]) -> ToolReturn:
        """Shows something."""
        return ToolReturn(return_value="shown", content="Look closely.")

    bench = Bench(show, Tool(close_account, requires_approval=True), output_type=[str, DeferredToolRequests])
    asked = await bench.run([SEARCH], [("show", {}), ("close_account", {})])
    assert isinstance(asked.all_messages()[-1].parts[-1], UserPromptPart)
    given = DeferredToolResults(approvals={asked.output.approvals[0].tool_call_id: True})
    result = await bench.run(history=asked.all_messages(), deferred_tool_results=given)
    assert (bench.desk.did, result.output) == (["close"], "Done.")


def test_a_prompt_behind_an_open_turn_still_passes_it_over() -> None:
    called = ModelResponse(parts=[ToolCallPart("alpha", {}, tool_call_id=each) for each in "ab"])
    answered = ModelRequest(parts=[UserPromptPart("beside"), ToolReturnPart("alpha", "seen", tool_call_id="a")])
    prompt = ModelRequest(parts=[UserPromptPart("next")])
    assert [call.id for call in PYDANTIC_AI.read([called, answered]).unanswered] == ["b"]
    with pytest.raises(TranscriptError, match="something follows"):
        _ = PYDANTIC_AI.read([called, answered, prompt]).unanswered


@pytest.mark.rule("ACT-1")
@pytest.mark.parametrize(("field", "value"), [("tool_call_id", "b"), ("tool_name", None)])
def test_a_refusal_that_was_edited_in_place_is_read_anew(field: str, value: Any) -> None:
    with warnings.catch_warnings(action="ignore"):  # newer releases make no such part any more, and read it
        refusal = RetryPromptPart(content="no", tool_name="alpha", tool_call_id="a")
    calls = [ToolCallPart("alpha", {}, tool_call_id=each) for each in ("a", "b")]
    messages: list[ModelMessage] = [ModelResponse(parts=calls), ModelRequest(parts=[refusal])]
    reader = RunMessages()
    before = reader.read(messages)
    setattr(refusal, field, value)
    assert reader.read(messages) == PYDANTIC_AI.read(messages) != before


class Forgets(AbstractCapability[Desk]):
    """Takes every receipt out of the history once the model has answered."""

    async def after_model_request(
        self,
        ctx: RunContext[Desk],
        *,
        request_context: ModelRequestContext,
        response: ModelResponse,
    ) -> ModelResponse:
        for message in ctx.messages:
            for part in message.parts:
                if isinstance(part, ToolReturnPart):
                    part.metadata = None
        return response


@pytest.mark.rule("REP-2")
async def test_what_a_step_advertised_may_run_in_it_whatever_is_edited_in_between() -> None:
    bench = Bench(refund, capabilities=[Forgets()])
    result = await bench.run([SEARCH], [("refund", {"amount": 1})])
    assert [part.content for part in returns(result)][1:] == ["refunded 1"]
    assert bench.shown == [["search_tools"], ["search_tools", "refund"], ["search_tools"]]


class LosesAnAnswer(AbstractCapability[Desk]):
    """Takes every receipt and one answer out of the history before the third request."""

    requests = 0

    async def before_node_run(self, ctx: RunContext[Desk], *, node: Any) -> Any:
        self.requests += isinstance(node, ModelRequestNode)
        if self.requests == 3 and isinstance(node, ModelRequestNode):
            for part in (part for message in ctx.messages for part in message.parts):
                if isinstance(part, ToolReturnPart):
                    part.metadata = None
            node.request.parts = node.request.parts[:1]
        return node


@pytest.mark.rule("REP-2", "ACT-1")
async def test_a_step_that_finds_a_call_open_lets_run_what_the_messages_say_and_not_what_an_earlier_step_did() -> None:
    bench = Bench(refund, capabilities=[LosesAnAnswer()])
    await bench.run([SEARCH], [("refund", {"amount": 1}), ("refund", {"amount": 2})], [("refund", {"amount": 3})])
    assert sorted(bench.desk.did) == ["refund 1 in call-1-0", "refund 2 in call-1-1"]
    assert bench.outcomes[-1] == ("refund", "INACTIVE")


@pytest.mark.parametrize("table", [None, Table()], ids=["alone", "journal"])
async def test_nothing_of_a_run_stays_behind_when_nobody_holds_its_result(table: Table | None) -> None:
    bench = Bench(refund, journal=table)
    result = await bench.run([SEARCH], [("refund", {"amount": 1})])
    gone = [ref(bench.desk), *(ref(message) for message in result.all_messages())]
    bench.desk = Desk()
    del result
    gc.collect()
    assert [each() for each in gone] == [None] * len(gone)
