"""A journal beside the messages: what began is not run twice, approved or not, and each record is tied to its call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic_ai import BinaryContent, ModelRetry, RunContext, Tool, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults

from surface import ConfigurationError
from surface.adapters.pydantic_ai import catalog_tools
from tests.frameworks.pydantic_ai_bench import SEARCH, Bench, Calls, Desk, close_account, refund, returns


class KilledError(BaseException):
    """The process ends here."""


@dataclass
class Table:
    """An application's own journal: a table of texts by name. A work that does not end leaves nothing in it."""

    texts: dict[str, str] = field(default_factory=dict)

    async def __call__(self, name: str, work: Callable[[], Coroutine[Any, Any, str]]) -> str:
        if name not in self.texts:
            self.texts[name] = await work()
        return self.texts[name]


class Teller:
    """Tools that note each run and may be killed in the middle of one."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.dies = True

    def wire(self, ctx: RunContext[Desk]) -> str:
        """Wires money."""
        return self._run(f"wire {ctx.tool_call_id}")

    def balance(self, ctx: RunContext[Desk]) -> str:
        """Reads the balance."""
        return self._run(f"balance {ctx.tool_call_id}")

    def _run(self, what: str) -> str:
        self.ran.append(what)
        if self.dies:
            raise KilledError
        return f"{what} done"


OUTPUT: Any = [str, DeferredToolRequests]


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize(("read_only", "times"), [([], 1), (["wire"], 2)])
async def test_a_call_of_pydantic_ais_own_tool_that_began_is_run_again_only_where_that_is_safe(
    read_only: list[str], times: int
) -> None:
    teller, table = Teller(), Table()

    def bench() -> Bench:
        return Bench(made=catalog_tools(teller.wire, read_only=read_only), journal=table)

    with pytest.raises(KilledError):
        await bench().run([SEARCH], [("wire", {})])
    teller.dies = False
    # The engine replays the whole run: same prompt, same answers of the model, same journal.
    again = bench()
    result = await again.run([SEARCH], [("wire", {})])
    assert teller.ran == ["wire call-1-0"] * times
    assert again.outcomes == [("wire", "INTERRUPTED" if times == 1 else "ok")]
    assert ("INTERRUPTED" in str(returns(result)[-1].content)) == (times == 1)


@pytest.mark.rule("MNT-9")
async def test_a_call_that_was_recorded_is_not_made_again_and_its_record_is_what_it_gave() -> None:
    runs: list[str] = []

    def show(ctx: RunContext[Desk]) -> ToolReturn:
        """Shows a picture."""
        runs.append("show")
        picture = BinaryContent(data=b"\x89PNG", media_type="image/png")
        return ToolReturn(return_value={"page": 1}, content=["Look:", picture], metadata={"kept": True})

    def ask(ctx: RunContext[Desk]) -> str:
        """Asks again."""
        runs.append("ask")
        raise ModelRetry("Once more.")

    table = Table()
    script: tuple[Calls, ...] = ([SEARCH], [("show", {}), ("ask", {})])
    first = await Bench(show, ask, journal=table).run(*script)
    replayed = await Bench(show, ask, journal=table).run(*script)
    assert sorted(runs) == ["ask", "show"]

    def told(result: Any) -> list[Any]:
        parts = [part for message in result.all_messages() for part in message.parts]
        kept = [part for part in parts if part.part_kind in ("tool-return", "retry-prompt", "user-prompt")]
        return [(part.part_kind, part.content, getattr(part, "metadata", None)) for part in kept]

    assert told(replayed) == told(first)
    assert any(isinstance(part, UserPromptPart) and "Look:" in part.content for part in first.all_messages()[4].parts)


@pytest.mark.rule("MNT-9")
async def test_an_approved_call_that_began_is_not_run_a_second_time_on_the_same_approval() -> None:
    teller, table = Teller(), Table()

    def bench() -> Bench:
        made = catalog_tools(Tool(teller.wire, requires_approval=True))
        return Bench(made=made, journal=table, output_type=OUTPUT)

    asked = await bench().run([SEARCH], [("wire", {})])
    stored, given = asked.all_messages_json(), DeferredToolResults(approvals={"call-1-0": True})

    async def resumed() -> Any:
        history = ModelMessagesTypeAdapter.validate_json(stored)
        return await bench().run(history=history, deferred_tool_results=given)

    with pytest.raises(KilledError):
        await resumed()
    teller.dies = False
    result = await resumed()
    assert teller.ran == ["wire call-1-0"]
    assert "INTERRUPTED" in str(returns(result)[-1].content)


@pytest.mark.rule("MNT-9")
async def test_an_approved_call_that_may_run_twice_is_run_again_and_one_that_has_its_record_is_not() -> None:
    teller, table = Teller(), Table()

    def balance(ctx: RunContext[Desk]) -> str:
        """Reads the balance, with leave."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return teller.balance(ctx)

    def bench() -> Bench:
        return Bench(made=catalog_tools(balance, read_only=["balance"]), journal=table, output_type=OUTPUT)

    asked = await bench().run([SEARCH], [("balance", {})])
    assert [call.tool_name for call in asked.output.approvals] == ["balance"]
    stored, given = asked.all_messages_json(), DeferredToolResults(approvals={"call-1-0": True})
    told = []
    for _ in range(3):
        history = ModelMessagesTypeAdapter.validate_json(stored)
        try:
            told.append(str(returns(await bench().run(history=history, deferred_tool_results=given))[-1].content))
        except KilledError:
            teller.dies = False
    assert teller.ran == ["balance call-1-0"] * 2
    assert told == ["balance call-1-0 done"] * 2


async def test_a_record_of_another_call_is_refused_and_given_to_nobody() -> None:
    class Shuffled(Table):
        """Gives the first record of a kind whatever name is asked for, as an engine that counts only may."""

        async def __call__(self, name: str, work: Callable[[], Coroutine[Any, Any, str]]) -> str:
            return await super().__call__(name.partition(":")[0], work)

    with pytest.raises(ConfigurationError, match=r"another record than that of call call-1-[01]"):
        await Bench(refund, close_account, journal=Shuffled({"toolsurface.begun": "call-0-0"})).run(
            [SEARCH], [("refund", {"amount": 1}), ("close_account", {})]
        )


async def test_two_calls_of_one_turn_have_records_of_their_own() -> None:
    table = Table()
    await Bench(refund, close_account, journal=table).run([SEARCH], [("refund", {"amount": 1}), ("close_account", {})])
    calls = [name for name in table.texts if name.startswith("toolsurface.call:")]
    # Calls of one turn run at once, and which is recorded first is nobody's promise.
    assert sorted(calls) == [f"toolsurface.call:run-1:{call}:1.1" for call in ("call-0-0", "call-1-0", "call-1-1")]


class Engine:
    """Finds a record by its place, as a durable engine does: the nth work of a replay is the nth of the first life."""

    def __init__(self, log: list[tuple[str, str]], *, slow: Callable[[str], Awaitable[object]] | None = None) -> None:
        self.log = log
        self.asked = 0
        self.slow = slow

    async def __call__(self, name: str, work: Callable[[], Coroutine[Any, Any, str]]) -> str:
        place, self.asked = self.asked, self.asked + 1
        if place < len(self.log):
            assert self.log[place][0] == name
            return self.log[place][1]
        self.log.append((name, ""))
        if self.slow is not None:
            await self.slow(name)
        self.log[place] = (name, await work())
        return self.log[place][1]


@pytest.mark.rule("MNT-9")
async def test_an_engine_that_counts_finds_the_records_of_a_turn_though_the_first_life_was_slow_to_write_one() -> None:
    second = asyncio.Event()

    class Notes(AbstractCapability[Any]):
        """Says that the second call of the turn is there."""

        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
            if call.tool_name == "close_account":
                second.set()
            return args

    async def slow(name: str) -> None:
        if name.startswith("toolsurface.begun:run-1:call-1-0"):
            await second.wait()

    log: list[tuple[str, str]] = []
    script: tuple[Calls, ...] = ([SEARCH], [("refund", {"amount": 1}), ("close_account", {})])
    told = []
    for journal in (Engine(log, slow=slow), Engine(log)):
        bench = Bench(refund, close_account, journal=journal, capabilities=[Notes()])
        told.append(([part.content for part in returns(await bench.run(*script))][1:], len(bench.desk.did)))
    assert told == [(["refunded 1", "closed"], 2), (["refunded 1", "closed"], 0)]
    assert (len(log), journal.asked) == (5, 5)


@pytest.mark.rule("MNT-9")
async def test_without_a_journal_what_a_restart_finds_is_interrupted_unless_it_is_approved() -> None:
    bench = Bench(refund)
    searched = await bench.run([SEARCH])
    left = ModelResponse(parts=[ToolCallPart("refund", {"amount": 5}, tool_call_id="a")])
    await bench.run(history=[*searched.all_messages()[:-1], left])
    assert bench.desk.did == []
