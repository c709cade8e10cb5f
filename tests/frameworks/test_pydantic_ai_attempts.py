"""What a journal's record settles: one call, one attempt of it, and nothing that was not begun."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import DeferredToolResults

from surface import ConfigurationError, Surface, create_deferred_agent_tool_surface, tool
from surface.adapters.pydantic_ai import PYDANTIC_AI, DeferredTools, catalog_tools
from surface.call import CallContext
from tests.frameworks.pydantic_ai_bench import SEARCH, Bench, Calls, Desk, close_account, refund, returns, said_at
from tests.frameworks.test_pydantic_ai_journal import OUTPUT, KilledError, Table


def counting_anew(bench: Bench, *turns: Calls) -> Bench:
    """The bench with a model that gives the calls of each turn the same ids."""
    left = list(turns)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if not left:
            return ModelResponse(parts=[TextPart("Done.")])
        parts = [ToolCallPart(name, args, tool_call_id=f"call_{at}") for at, (name, args) in enumerate(left.pop(0))]
        return ModelResponse(parts=parts, timestamp=said_at(len(turns) - len(left)))

    bench.agent.model = FunctionModel(answer)
    return bench


@pytest.mark.rule("MNT-9")
async def test_calls_of_one_id_in_several_turns_have_records_of_their_own() -> None:
    table, did = Table(), []
    for _ in range(2):
        turns: list[Calls] = [[SEARCH], [("refund", {"amount": 1})], [("refund", {"amount": 1})]]
        bench = counting_anew(Bench(refund, journal=table), *turns)
        result = await bench.run()
        did.append(bench.desk.did)
        assert [part.content for part in returns(result)][1:] == ["refunded 1"] * 2
    assert did == [["refund 1 in call_0"] * 2, []]


@pytest.mark.parametrize("other", [("refund", {"amount": 2}), ("close_account", {})])
async def test_a_record_of_another_tool_or_of_other_arguments_is_refused(other: tuple[str, dict[str, Any]]) -> None:
    table = Table()
    await Bench(refund, close_account, journal=table).run([SEARCH], [("refund", {"amount": 1})])
    again = Bench(refund, close_account, journal=table)
    with pytest.raises(ConfigurationError, match=r"record of call call-1-0 is of another tool or of other arguments"):
        await again.run([SEARCH], [other])
    assert again.desk.did == []


@pytest.mark.rule("MNT-9")
async def test_a_tool_that_asks_for_a_second_approval_gets_it_and_runs_once_on_each() -> None:
    ran: list[str] = []
    dies: list[str] = []

    def wire(ctx: RunContext[Desk]) -> str:
        """Wires money that two have to approve."""
        by = (ctx.tool_call_metadata or {}).get("by", "nobody") if ctx.tool_call_approved else "nobody"
        ran.append(by)
        if by in dies:
            raise KilledError
        if by != "boss":
            raise ApprovalRequired(metadata={"has": by})
        return "wired"

    table = Table()

    def bench() -> Bench:
        return Bench(wire, journal=table, output_type=OUTPUT)

    async def approved(asked: Any, by: str) -> Any:
        given = DeferredToolResults(approvals={"call-1-0": True}, metadata={"call-1-0": {"by": by}})
        history = ModelMessagesTypeAdapter.validate_json(asked.all_messages_json())
        return await bench().run(history=history, deferred_tool_results=given)

    asked = await bench().run([SEARCH], [("wire", {})])
    assert asked.output.metadata == {"call-1-0": {"has": "nobody"}}
    once = await approved(asked, "clerk")
    assert once.output.metadata == {"call-1-0": {"has": "clerk"}}
    # The same approval once more is a replay; it is answered as before.
    assert (await approved(asked, "clerk")).output.metadata == {"call-1-0": {"has": "clerk"}}
    dies.append("boss")
    with pytest.raises(KilledError):
        await approved(once, "boss")
    dies.clear()
    done = await approved(once, "boss")
    assert ran == ["nobody", "clerk", "boss"]
    assert "INTERRUPTED" in str(returns(done)[-1].content)


async def test_metadata_that_is_no_json_is_left_out_of_the_record_and_the_run_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class SecretThing:
        pass

    def show(ctx: RunContext[Desk]) -> ToolReturn:
        """Shows something."""
        ctx.deps.did.append("show")
        return ToolReturn(return_value="shown", metadata={"thing": SecretThing()})

    def send(ctx: RunContext[Desk]) -> str:
        """Has somebody else do it."""
        raise CallDeferred(metadata={"thing": SecretThing(), "secret": "s3cret"})

    table = Table()
    for times in (1, 0):
        bench = Bench(show, send, journal=table, output_type=OUTPUT)
        with caplog.at_level(logging.ERROR, logger="toolsurface"):
            result = await bench.run([SEARCH], [("show", {})], [("send", {})])
        assert bench.desk.did == ["show"] * times
        assert (returns(result)[-1].content, returns(result)[-1].metadata) == ("shown", None)
        assert [call.tool_name for call in result.output.calls] == ["send"]
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        f"the metadata of a call of tool {name} cannot be recorded: PydanticSerializationError"
        for name in ("show", "send")
    ]


@pytest.mark.rule("MNT-4", "MNT-9")
@pytest.mark.parametrize("own", [True, False])
async def test_a_call_that_the_fence_refused_runs_once_the_run_owns_its_conversation_again(*, own: bool) -> None:
    owns, ran, table = [False], [], Table()

    def pay() -> str:
        """Pays."""
        ran.append("pay")
        return "paid"

    @tool(name="pay")
    def library_pay(call: CallContext) -> str:
        """Pays."""
        return pay()

    controller = create_deferred_agent_tool_surface(
        application="shop",
        surfaces=[Surface(key="desk", tools=catalog_tools(pay) if own else [library_pay], always_on=["pay"])],
        dialect=PYDANTIC_AI,
        fence=lambda _: owns[0],
    )
    told = []
    for owner in (False, False, True, True):
        owns[0] = owner
        bench = Bench(refund, journal=table)
        deferred = DeferredTools(controller, surface="desk", run_id="run-1", journal=table)
        bench.agent = Agent(FunctionModel(bench._answer), deps_type=Desk, capabilities=[deferred])
        told.append(str(returns(await bench.run([("pay", {})]))[-1].content))
    assert ["FENCED" in each for each in told] == [True, True, False, False]
    assert (told[2:], ran) == (["paid"] * 2, ["pay"])


@pytest.mark.rule("MNT-9")
async def test_a_call_that_was_killed_before_it_began_is_run_and_its_neighbour_that_began_is_not() -> None:
    class Kills(AbstractCapability[Any]):
        """Ends the process before one tool, while another runs."""

        on = True

        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
            if Kills.on and call.tool_name == "refund":
                await began.wait()
                raise KilledError
            return args

    began, ran = asyncio.Event(), []

    async def wire(ctx: RunContext[Desk]) -> str:
        """Wires money."""
        ran.append("wire")
        began.set()
        if Kills.on:
            await asyncio.Event().wait()
        return "wired"

    table = Table()
    script: tuple[Calls, ...] = ([SEARCH], [("refund", {"amount": 1}), ("wire", {})])
    with pytest.raises(KilledError):
        await Bench(refund, wire, journal=table, capabilities=[Kills()]).run(*script)
    Kills.on = False
    again = Bench(refund, wire, journal=table, capabilities=[Kills()])
    told = [str(part.content) for part in returns(await again.run(*script))][1:]
    assert told[0] == "refunded 1"
    assert "INTERRUPTED" in told[1]
    assert ran == ["wire"]


async def test_approved_calls_run_at_the_same_time() -> None:
    waiting = asyncio.Barrier(2)

    async def meet(ctx: RunContext[Desk]) -> str:
        """Ends when two are there."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        await asyncio.wait_for(waiting.wait(), 5)
        return "met"

    table = Table()
    asked = await Bench(meet, journal=table, output_type=OUTPUT).run([SEARCH], [("meet", {})] * 2)
    given = DeferredToolResults(approvals={f"call-1-{at}": True for at in range(2)})
    bench = Bench(meet, journal=table, output_type=OUTPUT)
    result = await bench.run(history=asked.all_messages(), deferred_tool_results=given)
    assert [part.content for part in returns(result)][1:] == ["met"] * 2


@pytest.mark.rule("MNT-9")
async def test_an_id_of_a_call_that_a_restart_found_may_serve_a_later_turn() -> None:
    stored: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("Go on.")]),
        ModelResponse(parts=[ToolCallPart(*SEARCH, tool_call_id="call_0")]),
    ]
    bench = counting_anew(Bench(refund), [("refund", {"amount": 1})])
    await bench.run(history=stored)
    assert bench.desk.did == ["refund 1 in call_0"]
