"""`surface.testing`: the scripted parts keep their own laws, and the conformance suite fails for broken adapters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surface.testing
from surface import Json, Limits, RankRequest, Text, parse_receipt
from surface.activation import activate
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.openai_chat import OPENAI_CHAT
from surface.adapters.openai_responses import OPENAI_RESPONSES
from surface.call import CallAnswer, Outcome
from surface.dialect import Dialect
from surface.errors import RankerUnavailable
from surface.failure import failure_parts
from surface.testing import (
    AdapterConformance,
    AnthropicVoice,
    OpenAIChatVoice,
    OpenAIResponsesVoice,
    ScriptedCall,
    ScriptedModel,
    ScriptedRanker,
    Voice,
    checked_surface,
    counting_tool,
    selecting_receipt,
)
from surface.transcript import Transcript
from tests.surface import broken_harnesses as broken
from tests.surface.broken_harnesses import EVIDENCE, FIRST, HIDDEN, INHERITS, PARALLEL, RESTORES, failing

SPOKEN: Mapping[str, tuple[Dialect, Voice]] = {
    "anthropic": (ANTHROPIC_MESSAGES, AnthropicVoice()),
    "chat": (OPENAI_CHAT, OpenAIChatVoice()),
    "responses": (OPENAI_RESPONSES, OpenAIResponsesVoice()),
}


def test_the_unbroken_adapters_fail_nothing() -> None:
    assert failing(broken.Whole) == set()
    assert failing(broken.WholeParts) == set()


@pytest.mark.rule("REP-2", "REP-1", "SRC-1")
def test_an_adapter_that_advertises_everything_and_gates_nothing_is_caught() -> None:
    assert {HIDDEN, INHERITS, FIRST} <= failing(broken.EverythingShows)


@pytest.mark.rule("REP-2")
def test_an_adapter_that_advertises_rightly_and_gates_nothing_is_caught() -> None:
    found = failing(broken.NoGate)
    assert {HIDDEN, INHERITS, "test_a_repaired_call_is_active_in_the_next_step"} <= found
    assert FIRST not in found


@pytest.mark.rule("ACT-5")
def test_an_adapter_whose_restart_forgets_is_caught() -> None:
    found = failing(broken.RestartForgets)
    assert {RESTORES, "test_a_restart_runs_an_unanswered_call_again_only_where_that_is_safe"} <= found
    assert INHERITS not in found


@pytest.mark.rule("ACT-5")
def test_an_adapter_that_lets_another_run_inherit_is_caught() -> None:
    assert INHERITS in failing(broken.EveryRunIsOne)


@pytest.mark.rule("MNT-6")
def test_an_adapter_that_drops_presenter_parts_is_caught() -> None:
    assert failing(broken.PartsAreDropped) >= {"test_presenter_parts_survive"}


@pytest.mark.rule("RCP-5")
def test_an_adapter_that_loses_the_signer_is_caught() -> None:
    assert failing(broken.AnybodySigns) == {"test_a_forged_receipt_is_ignored_where_there_is_a_signer"}


@pytest.mark.rule("EVD-1")
def test_an_adapter_that_loses_the_observer_is_caught() -> None:
    assert failing(broken.NobodyWatches) == {EVIDENCE}


@pytest.mark.rule("ACT-3")
def test_an_adapter_that_loses_parallel_calls_is_caught() -> None:
    found = failing(broken.ParallelCallsAreLost)
    assert {"test_parallel_searches_of_one_step_merge_in_call_order", EVIDENCE, PARALLEL} <= found


@pytest.mark.rule("MNT-7")
def test_an_adapter_that_mixes_parallel_calls_up_is_caught() -> None:
    assert PARALLEL in failing(broken.ParallelCallsShareArguments)


def test_the_suite_asks_for_a_harness() -> None:
    with pytest.raises(NotImplementedError):
        AdapterConformance().harness()


def test_every_exported_name_is_there_and_sorted() -> None:
    assert surface.testing.__all__ == sorted(surface.testing.__all__)
    assert all(hasattr(surface.testing, name) for name in surface.testing.__all__)


@pytest.mark.parametrize("spoken", sorted(SPOKEN))
def test_a_scripted_model_says_its_turns_in_order_and_numbers_its_calls(spoken: str) -> None:
    dialect, voice = SPOKEN[spoken]
    model = ScriptedModel(
        voice, [[ScriptedCall("a", {"x": 1}), ScriptedCall("b")], "Done.", [ScriptedCall("a")]], first_call=7
    )
    first = model.reply(["search_tools"])
    assert [(call.id, call.name, call.arguments) for call in dialect.read(first).unanswered] == [
        ("call-7", "a", {"x": 1}),
        ("call-8", "b", {}),
    ]
    assert dialect.read(model.reply(["a", "b"])).unanswered == ()
    done_before = model.done
    assert [call.id for call in dialect.read(model.reply([])).unanswered] == ["call-9"]
    assert (done_before, model.done) == (False, True)
    assert model.advertised == [("search_tools",), ("a", "b"), ()]


def test_a_script_that_is_over_says_so() -> None:
    model = ScriptedModel(AnthropicVoice(), ["Done."])
    model.reply([])
    with pytest.raises(AssertionError, match="over after 1 turns"):
        model.reply([])
    assert model.advertised == [()]


def test_a_scripted_model_leaves_the_script_as_it_was() -> None:
    arguments = {"x": 1}
    turns: list[Sequence[ScriptedCall] | str] = [[ScriptedCall("a", arguments)]]
    message: Any = ScriptedModel(AnthropicVoice(), turns).reply([])[0]
    message["content"][0]["input"]["x"] = 2
    assert arguments == {"x": 1}
    assert len(turns) == 1


def request(query: str, *, limit: int = 5) -> RankRequest:
    return RankRequest(application="shop", surface="reader", query=query, limit=limit, catalog_digest="0" * 32)


async def test_a_scripted_ranker_answers_what_is_written_and_abstains_otherwise() -> None:
    ranker = ScriptedRanker(answers={"pay": ["pay_invoice", "pay_salary", "refund"], "nothing": []})
    found = await ranker.rank(request("pay", limit=2))
    assert [each.name for each in found.ranked] == ["pay_invoice", "pay_salary"]
    assert found.ranked[0].score > found.ranked[1].score
    assert (found.abstained, found.surface, found.degraded) == (False, "reader", None)
    for query in ("nothing", "Pay"):
        assert (await ranker.rank(request(query))).abstained
    assert [asked.query for asked in ranker.requests] == ["pay", "nothing", "Pay"]


async def test_a_scripted_ranker_can_be_down() -> None:
    ranker = ScriptedRanker(answers={"pay": ["pay_invoice"]}, unavailable="timeout")
    with pytest.raises(RankerUnavailable, match="timeout"):
        await ranker.rank(request("pay"))
    ranker.unavailable = None
    assert (await ranker.rank(request("pay"))).ranked
    assert len(ranker.requests) == 2


@dataclass(frozen=True, slots=True)
class Prompt:
    """A user says something."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One call, by its place among all calls so far, gets a result."""

    place: int
    text: str
    kind: str


NAMES = st.text("abcXYZ019_-", min_size=1, max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
TURNS = st.text(min_size=1, max_size=8) | st.lists(
    st.builds(ScriptedCall, NAMES, st.dictionaries(st.text(max_size=6), VALUES, max_size=3)), min_size=1, max_size=3
)
RESULTS = st.builds(
    Recorded,
    st.integers(0, 9),
    st.text(min_size=1, max_size=8).filter(str.strip),
    st.sampled_from(["text", "json", "parts", "failure"]),
)
STORIES = st.lists(TURNS | RESULTS | st.just(Prompt()), max_size=10)


def told(story: Sequence[Any], dialect: Dialect, voice: Voice) -> Transcript:
    """The transcript of a story that is told in one dialect."""
    messages: list[Any] = []
    made: list[str] = []
    for event in story:
        match event:
            case Prompt():
                messages += voice.asks("Go on.")
            case Recorded() if made:
                messages += dialect.answer([answer_of(event, made[event.place % len(made)])])
            case Recorded():
                continue
            case _:
                messages += ScriptedModel(voice, [event], first_call=len(made) + 1).reply([])
                made += [f"call-{len(made) + at}" for at, _ in enumerate(event, start=1)] * (not isinstance(event, str))
    return dialect.read(json.loads(json.dumps(messages)))


def answer_of(recorded: Recorded, call_id: str) -> CallAnswer:
    parts: Mapping[str, tuple[Any, ...]] = {
        "text": (Text(text=recorded.text),),
        "json": (Json(value=[recorded.text]),),
        "parts": (Text(text=recorded.text), Text(text=recorded.text)),
        "failure": failure_parts("REFUSED", recorded.text),
    }
    outcome = Outcome.REFUSED if recorded.kind == "failure" else Outcome.OK
    return CallAnswer(call_id=call_id, tool="any", parts=parts[recorded.kind], outcome=outcome)


@pytest.mark.rule("ACT-1")
@settings(max_examples=100)
@given(STORIES)
def test_the_same_story_told_in_every_dialect_gives_equal_transcripts(story: list[Any]) -> None:
    anthropic, chat, responses = (told(story, dialect, voice) for dialect, voice in SPOKEN.values())
    assert anthropic == chat == responses


@pytest.mark.parametrize("spoken", sorted(SPOKEN))
def test_a_long_history_reads_as_every_step_that_it_holds(spoken: str) -> None:
    dialect, voice = SPOKEN[spoken]
    turns = 5_000
    model = ScriptedModel(voice, [[ScriptedCall("pay", {"euros": at})] for at in range(turns)])
    messages: list[Any] = []
    for at in range(1, turns + 1):
        messages += model.reply([])
        messages += dialect.answer([answer_of(Recorded(0, "paid", "text"), f"call-{at}")])
    steps = dialect.read(messages).steps
    assert len(steps) == turns
    assert all(len(step.calls) == len(step.results) == 1 for step in steps)


def test_a_built_receipt_is_one_that_a_run_on_the_built_surface_believes() -> None:
    ran: Counter[str] = Counter()
    shop = checked_surface([counting_tool("alpha", ran), counting_tool("bravo", ran)], always_on=["bravo"])
    receipt = selecting_receipt(shop, ["alpha"], run_id="run-1")
    assert parse_receipt(receipt.to_json()) == receipt
    asked = AnthropicVoice().calls([("s", "search_tools", {"query": "alpha"})])
    answer = CallAnswer(call_id="s", tool="search_tools", parts=(Text(text=receipt.to_json()),), outcome="ok")
    transcript = ANTHROPIC_MESSAGES.read([*asked, *ANTHROPIC_MESSAGES.answer([answer])])
    made = activate(transcript, run_id="run-1", surface=shop, pins=(), limits=Limits(), signer=None)
    assert made.names == ("search_tools", "bravo", "alpha")
