"""Approved calls and restarts without a journal: what may have begun does not begin again, whoever approves it."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import DeferredToolResults, ToolApproved, ToolDenied
from pydantic_graph import End

from surface import ConfigurationError
from surface.adapters.pydantic_ai import catalog_tools
from surface.adapters.pydantic_ai.approvals import MARK
from tests.frameworks.approving_agent import CALL
from tests.frameworks.pydantic_ai_bench import SEARCH, Bench, Desk, returns
from tests.frameworks.test_pydantic_ai_journal import OUTPUT, KilledError, Table
from tests.recovery.processes import said_by
from tests.recovery.store import Store

INSIDE = "inside:wire"


def lived(folder: Path, act: str, *how: str, killed: bool = False) -> Any:
    """One process; how its run ended, where it was not killed inside the tool."""
    holds = [INSIDE] if killed else []
    log = folder / "stderr"
    program = ["tests.frameworks.approving_agent", str(folder), act, json.dumps(holds), *how]
    said, code = said_by(program, log=log, until=holds)
    assert code == (-signal.SIGKILL if killed else 0), log.read_text()
    return next((line["ended"] for line in said if "ended" in line), None)


def wired(folder: Path) -> list[str]:
    return Store(folder / "deeds.db").ran("wire")


@pytest.mark.rule("MNT-9")
def test_killed_inside_a_tool_that_a_handler_in_the_run_approved_it_is_not_run_on_the_next_approval(
    tmp_path: Path,
) -> None:
    lived(tmp_path, "ask", "inline", killed=True)
    ended = lived(tmp_path, "resume", "inline")
    assert "INTERRUPTED" in ended["gave"][0]
    assert wired(tmp_path) == [CALL]


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("act", ["resume", "approve"])
def test_killed_inside_an_approved_tool_it_is_interrupted_whether_or_not_the_approval_is_handed_on_again(
    act: str, tmp_path: Path
) -> None:
    assert lived(tmp_path, "ask")["waiting"] == [CALL]
    lived(tmp_path, "approve", killed=True)
    ended = lived(tmp_path, act)
    assert ended["waiting"] == []
    assert "INTERRUPTED" in ended["gave"][0]
    assert wired(tmp_path) == [CALL]


@pytest.mark.rule("MNT-9")
def test_a_call_that_only_waits_asks_again_after_a_restart_and_runs_once_it_is_approved(tmp_path: Path) -> None:
    lived(tmp_path, "ask")
    assert lived(tmp_path, "resume") == {"waiting": [CALL], "gave": []}
    assert lived(tmp_path, "approve") == {"waiting": [], "gave": ["wired"]}
    assert wired(tmp_path) == [CALL]


class Wires:
    """A bench whose tool wires money with leave, and what it stores after each node."""

    def __init__(self, *names: str, **options: Any) -> None:
        self.ran: list[str] = []
        self.dies = False
        self.names = names or ("wire",)
        self.options = options
        self.stored = b""

    def _tool(self, name: str) -> Tool[Any]:
        def wire(ctx: RunContext[Desk]) -> str:
            """Wires money."""
            self.ran.append(str(ctx.tool_call_id))
            if self.dies:
                raise KilledError
            return "wired"

        return Tool(wire, name=name, requires_approval=True)

    async def run(self, *turns: Any, **approvals: Any) -> Any:
        """One run in a new process, which may end in the middle; its result, or None."""
        read_only = self.options.get("read_only", [])
        bench = Bench(
            made=catalog_tools(*map(self._tool, self.names), read_only=read_only),
            output_type=OUTPUT,
            **{key: value for key, value in self.options.items() if key != "read_only"},
        )
        bench.turns = list(turns)
        history = ModelMessagesTypeAdapter.validate_json(self.stored) if self.stored else None
        given = DeferredToolResults(approvals=approvals["given"]) if "given" in approvals else None
        prompt = None if history else "Go on."
        try:
            async with bench.agent.iter(
                prompt, deps=bench.desk, message_history=history, deferred_tool_results=given
            ) as run:
                node = run.next_node
                while not isinstance(node, End):
                    node = await run.next(node)
                    self.stored = ModelMessagesTypeAdapter.dump_json(run.all_messages())
        except KilledError:
            self.dies = False
            return None
        return run.result


def waiting(result: Any) -> list[str]:
    return [] if isinstance(result.output, str) else [call.tool_call_id for call in result.output.approvals]


@pytest.mark.rule("MNT-9")
async def test_an_approved_tool_that_may_run_twice_asks_again_after_a_kill_and_runs() -> None:
    wires = Wires(read_only=["wire"])
    await wires.run([SEARCH], [("wire", {})])
    wires.dies = True
    await wires.run(given={"call-1-0": True})
    assert waiting(await wires.run()) == ["call-1-0"]
    result = await wires.run(given={"call-1-0": True})
    assert returns(result)[-1].content == "wired"
    assert wires.ran == ["call-1-0"] * 2


@pytest.mark.rule("MNT-9")
async def test_a_call_that_the_application_lets_run_again_needs_its_approval_again() -> None:
    wires = Wires(controlled={"on_interrupted": lambda _: True})
    await wires.run([SEARCH], [("wire", {})])
    wires.dies = True
    await wires.run(given={"call-1-0": True})
    assert waiting(await wires.run()) == ["call-1-0"]
    assert wires.ran == ["call-1-0"]
    assert returns(await wires.run(given={"call-1-0": True}))[-1].content == "wired"
    assert wires.ran == ["call-1-0"] * 2


@pytest.mark.rule("MNT-9")
async def test_beside_an_approved_call_that_began_a_denied_one_of_the_same_tool_never_runs() -> None:
    wires = Wires()
    await wires.run([SEARCH], [("wire", {}), ("wire", {})])
    wires.dies = True
    await wires.run(given={"call-1-0": True, "call-1-1": ToolDenied("No.")})
    result = await wires.run()
    assert waiting(result) == ["call-1-1"]
    assert "INTERRUPTED" in str(returns(result)[-1].content)
    result = await wires.run(given={"call-1-1": ToolDenied("No.")})
    assert returns(result)[-1].content == "No."
    assert wires.ran == ["call-1-0"]


@pytest.mark.rule("MNT-9")
async def test_a_tool_that_asks_for_a_second_approval_gets_it_without_a_journal_too() -> None:
    ran: list[str] = []

    def wire(ctx: RunContext[Desk]) -> str:
        """Wires money that two have to approve."""
        by = (ctx.tool_call_metadata or {}).get("by", "nobody")
        ran.append(by)
        if by != "boss":
            raise ApprovalRequired
        return "wired"

    def bench() -> Bench:
        return Bench(wire, output_type=OUTPUT)

    asked = await bench().run([SEARCH], [("wire", {})])
    for by in ("clerk", "boss"):
        history = ModelMessagesTypeAdapter.validate_json(asked.all_messages_json())
        given = DeferredToolResults(approvals={"call-1-0": True}, metadata={"call-1-0": {"by": by}})
        asked = await bench().run(history=history, deferred_tool_results=given)
    assert ran == ["nobody", "clerk", "boss"]
    assert returns(asked)[-1].content == "wired"


@pytest.mark.rule("MNT-9")
async def test_an_approval_is_noted_beside_what_the_application_keeps_and_not_in_the_messages_it_handed_over() -> None:
    wires = Wires("wire", "balance", read_only=["balance"])
    asked = await wires.run([SEARCH], [("wire", {}), ("balance", {})])
    history = asked.all_messages()
    response = history[-1]
    assert isinstance(response, ModelResponse)
    response.metadata = {"mine": 1}
    wires.stored = ModelMessagesTypeAdapter.dump_json(history)
    given = DeferredToolResults(approvals={"call-1-0": ToolApproved(), "call-1-1": True})
    bench = Bench(made=catalog_tools(*map(wires._tool, wires.names), read_only=["balance"]), output_type=OUTPUT)
    result = await bench.run(history=history, deferred_tool_results=given)
    kept = next(each for each in result.all_messages() if isinstance(each, ModelResponse) and len(each.tool_calls) == 2)
    assert kept.metadata is not None
    assert (kept.metadata["mine"], list(kept.metadata[MARK])) == (1, ["call-1-0"])
    assert response.metadata == {"mine": 1}


@pytest.mark.rule("MNT-9")
async def test_with_a_journal_an_approved_call_that_ended_gives_its_record_after_a_kill_and_asks_nobody() -> None:
    wires = Wires("wire", "balance", journal=Table())
    await wires.run([SEARCH], [("wire", {}), ("balance", {})])
    before = wires.stored
    given = {"call-1-0": True, "call-1-1": True}
    done = await wires.run(given=given)
    marked = [each for each in done.all_messages() if isinstance(each, ModelResponse) and MARK in (each.metadata or {})]
    left = [*ModelMessagesTypeAdapter.validate_json(before)[:-1], *marked]
    wires.stored = ModelMessagesTypeAdapter.dump_json(left)
    result = await wires.run()
    assert [part.content for part in returns(result)][1:] == ["wired"] * 2
    assert sorted(wires.ran) == ["call-1-0", "call-1-1"]


async def test_an_approval_handed_to_a_streamed_run_has_its_call_run() -> None:
    wires = Wires()
    asked = await wires.run([SEARCH], [("wire", {})])
    bench = Bench(made=catalog_tools(wires._tool("wire")), output_type=OUTPUT)

    async def words(*_: Any) -> Any:
        yield "Done."

    bench.agent.model = FunctionModel(bench._answer, stream_function=words)
    given = DeferredToolResults(approvals={"call-1-0": True})
    async with bench.agent.run_stream(
        message_history=asked.all_messages(), deferred_tool_results=given, deps=bench.desk
    ) as result:
        assert await result.get_output() == "Done."
    assert wires.ran == ["call-1-0"]


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("journal", [None, Table()])
async def test_only_a_journal_lets_a_found_call_run_that_a_handler_in_the_run_approves(journal: Table | None) -> None:
    def leave(ctx: RunContext[Desk], requests: Any) -> DeferredToolResults:
        return DeferredToolResults(approvals={call.tool_call_id: True for call in requests.approvals})

    wires = Wires(pins=["wire"], journal=journal, capabilities=[HandleDeferredToolCalls(handler=leave)])
    prompt, left = ModelRequest(parts=[UserPromptPart("Go on.")]), ModelResponse(parts=[ToolCallPart("wire", {}, "a")])
    wires.stored = ModelMessagesTypeAdapter.dump_json([prompt, left])
    result = await wires.run()
    assert ("INTERRUPTED" in str(returns(result)[-1].content)) == (journal is None)
    assert wires.ran == ([] if journal is None else ["a"])


async def test_where_no_hook_sees_an_approval_the_run_ends_and_says_how_to_drive_it() -> None:
    wires = Wires()
    asked = await wires.run([SEARCH], [("wire", {})])
    bench = Bench(made=catalog_tools(wires._tool("wire")), output_type=OUTPUT)
    alone = Agent(bench.agent.model, deps_type=Desk, toolsets=[bench.deferred.toolset], output_type=OUTPUT)
    given = DeferredToolResults(approvals={"call-1-0": True})
    with pytest.raises(ConfigurationError, match=r"^wire: nothing tells whether this approved call had begun"):
        await alone.run(message_history=asked.all_messages(), deferred_tool_results=given, deps=bench.desk)
    assert wires.ran == []
