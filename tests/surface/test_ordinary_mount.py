"""`mount_agent` alone: every tool advertised, the same execution, no deferral (MNT-1, MNT-8, REP-3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from surface import (
    CallContext,
    CallEvidence,
    CatalogError,
    ConfigurationError,
    DialectError,
    Lifecycle,
    Service,
    Tool,
    TranscriptError,
    mount_agent,
    tool,
)
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.input_model import PydanticInput
from tests.surface.deferred import AnyArguments, Shop
from tests.surface.neutral_dialect import NEUTRAL, answers_in, call, error_in, text_in, turn
from tests.surface.shop import make_tool


def service() -> Service:
    def note(value: Any, call: CallContext) -> str:
        return f"{call.tool} ran"

    return Service(
        name="invoices",
        scope="billing",
        tools=[Tool(name="list", description="Lists.", input=PydanticInput(AnyArguments), handler=note)],
        lifecycle=Lifecycle(after=lambda output, call: f"{output}, afterwards"),
    )


@pytest.mark.rule("MNT-8")
async def test_every_tool_is_advertised_in_every_step_in_canonical_order_and_no_search_tool_beside_them() -> None:
    shop = Shop(help="Explains.", weather_forecast="Tells the weather.")
    run = mount_agent([*shop.tools, service()], dialect=NEUTRAL).mount(run_id="run-1")
    names = ("help", "invoices_list", "weather_forecast")
    for messages in ([], [turn(call("help"))]):
        step = await run.prepare_step(messages)
        assert step.names == names
        assert step.activation is None


@pytest.mark.rule("MNT-8")
async def test_two_steps_have_byte_identical_lists() -> None:
    run = mount_agent(Shop().tools, dialect=ANTHROPIC_MESSAGES).mount(run_id="run-1")
    first = json.dumps((await run.prepare_step([])).tools)
    messages = [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "help", "input": {}}]}]
    messages += await run.dispatch(messages)
    assert json.dumps((await run.prepare_step(messages)).tools) == first


@pytest.mark.rule("MNT-1", "MNT-8")
async def test_every_tool_runs_directly_under_its_own_identity() -> None:
    shop = Shop()
    run = mount_agent([*shop.tools[1:], service()], dialect=NEUTRAL).mount(run_id="run-1")
    answers = answers_in(await run.dispatch([turn(call("invoices_list", id="a"), call("help", id="b"))]))
    assert [text_in(answer) for answer in answers] == ["invoices_list ran, afterwards", "help is done"]
    assert shop.handled == ["help"]


@pytest.mark.rule("REP-3", "MNT-8")
async def test_an_unknown_name_fails_honestly_and_the_rest_of_the_turn_is_answered() -> None:
    shop = Shop()
    events: list[Any] = []
    run = mount_agent(shop.tools, dialect=NEUTRAL, observer=events.append).mount(run_id="run-1")
    answers = answers_in(
        await run.dispatch([turn(call("hepl", id="a"), call("help", id="b"), call("search_tools", id="c"))])
    )
    assert [answer.outcome for answer in answers] == ["UNKNOWN_TOOL", "ok", "UNKNOWN_TOOL"]
    assert "help" not in str(error_in(answers[0]))
    told = sorted((event.tool or "", event.outcome) for event in events if isinstance(event, CallEvidence))
    assert told == [("", "UNKNOWN_TOOL"), ("", "UNKNOWN_TOOL"), ("help", "ok")]


@pytest.mark.rule("MNT-8")
async def test_nothing_unanswered_is_answered_with_nothing() -> None:
    run = mount_agent(Shop().tools, dialect=NEUTRAL).mount(run_id="run-1")
    for messages in ([], ["a prompt"], [turn()]):
        assert await run.dispatch(messages) == []


@pytest.mark.rule("MNT-8")
async def test_messages_of_another_dialect_are_refused() -> None:
    run = mount_agent(Shop().tools, dialect=NEUTRAL).mount(run_id="run-1")
    for method in (run.prepare_step, run.dispatch, run.resume):
        with pytest.raises(TranscriptError):
            await method([{"role": "user", "content": "hello"}])


@pytest.mark.rule("CAT-2")
def test_every_fault_of_the_tool_set_is_listed() -> None:
    with pytest.raises(CatalogError) as raised:
        mount_agent([make_tool("a b"), make_tool("twice"), make_tool("twice")], dialect=NEUTRAL)
    assert len(raised.value.faults) == 2


@pytest.mark.rule("CAT-7")
def test_a_name_that_the_dialect_cannot_carry_fails_at_the_mount_and_names_the_tool() -> None:
    with pytest.raises(DialectError, match=r"files\.delete: the name must match"):
        mount_agent([make_tool("files.delete"), make_tool("fine")], dialect=ANTHROPIC_MESSAGES)


@pytest.mark.parametrize("application", ["", "a b", "x" * 65])
def test_an_application_name_that_is_none_is_refused(application: str) -> None:
    with pytest.raises(ConfigurationError, match="application"):
        mount_agent(Shop().tools, dialect=NEUTRAL, application=application)


@pytest.mark.parametrize("run_id", ["", "é", "a" * 257])
def test_a_run_id_that_is_none_is_refused(run_id: str) -> None:
    with pytest.raises(ConfigurationError, match="run_id"):
        mount_agent(Shop().tools, dialect=NEUTRAL).mount(run_id=run_id)


@pytest.mark.rule("MNT-1")
async def test_a_typed_function_is_called_with_its_own_arguments_and_its_call() -> None:
    seen: list[Any] = []

    @tool
    def greet(name: str, call: CallContext, times: int = 1) -> str:
        """Greets somebody.

        Args:
            name: Whom.
        """
        seen.append((name, times, call.call_id))
        return f"Hello {name}"

    run = mount_agent([greet], dialect=NEUTRAL).mount(run_id="run-1")
    (answer,) = answers_in(await run.dispatch([turn(call("greet", {"name": "Ada"}, id="c"))]))
    assert text_in(answer) == "Hello Ada"
    assert seen == [("Ada", 1, "c")]
    (refused,) = answers_in(await run.dispatch([turn(call("greet", {"name": "Ada", "call": "x"}))]))
    assert refused.outcome == "VALIDATION_ERROR"
