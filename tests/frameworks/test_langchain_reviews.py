"""Reviewers who edit a call (`HumanInTheLoopMiddleware`): to other arguments, and to another tool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from inspect import signature
from typing import Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.types import AgentMiddleware
from langchain.tools import tool as lc_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from pydantic import ValidationError

from surface import CallReport, ConfigurationError, Evidence, Hooks, tool
from surface.adapters.langchain import langchain_tool
from surface.evidence import CallEvidence
from surface.search_tool import DEFAULT_NAME as SEARCH
from tests.frameworks.langchain_agents import Agent, Dies, Renames, agent_of, answers, call, last, search

BOTH = pytest.mark.parametrize("how", ["invoke", "ainvoke"])
SIDES = pytest.mark.parametrize("side", ["outside", "inside"])
NOTICE = "Executed instead: "


class Desk:
    """An agent whose calls a reviewer looks at, and what ran of its tools."""

    def __init__(self, *, side: str = "inside", native: bool = True, outer: Sequence[Any] = (), **review: Any) -> None:
        self.ran: list[tuple[str, Any]] = []
        self.events: list[Evidence] = []
        self.reports: list[CallReport] = []
        self._native = native
        looked_at = ["look", "pay", "own", "nobody"]
        reviewer: Any = HumanInTheLoopMiddleware(interrupt_on=dict.fromkeys(looked_at, True), **review)
        self._before, self._after = ([reviewer], []) if side == "outside" else (outer, [reviewer])
        self._saver = InMemorySaver()
        self.agent = self.process()

    def process(self) -> Agent:
        """The agent, built anew."""

        def look(what: str) -> str:
            """Looks."""
            self.ran.append(("look", what))
            return f"saw {what}"

        def pay(euros: int) -> str:
            """Pays."""
            self.ran.append(("pay", euros))
            if euros > 1_000:
                raise Dies
            return f"paid {euros}"

        @lc_tool
        def own(what: str) -> str:
            """Stands beside the catalog."""
            self.ran.append(("own", what))
            return f"own {what}"

        if self._native:
            tools = [langchain_tool(lc_tool(look), read_only=True), lc_tool(pay)]
        else:
            tools = [tool(read_only=True)(look), tool(pay)]
        return agent_of(
            tools,
            beside=[own],
            checkpointer=self._saver,
            options={"observer": self.events.append, "hooks": Hooks(after_call=self.reports.append)},
            before=self._before,
            after=self._after,
        )

    async def edited(self, how: str, written: Any, name: str, args: dict[str, Any], *, found: str = "look pay") -> Any:
        """The messages after the model searched, wrote a call, and a reviewer made this one of it."""
        await self.agent.ask([[search(found)], [written], "Done."], how)
        edit = {"type": "edit", "edited_action": {"name": name, "args": args}}
        return await self.agent.move(Command(resume={"decisions": [edit]}), how)

    def told(self) -> list[tuple[str | None, str]]:
        """The evidence of calls that were no searches."""
        calls = [event for event in self.events if isinstance(event, CallEvidence)]
        return [(each.tool, each.outcome) for each in calls if (each.tool, each.outcome) != (SEARCH, "ok")]


@pytest.mark.rule("REP-2")
@pytest.mark.parametrize("native", [True, False], ids=["langchains", "librarys"])
@pytest.mark.parametrize("written", [call("look", what="a bill"), call("own", what="a bill")], ids=["look", "own"])
@BOTH
async def test_an_edit_to_another_active_tool_runs_that_one_through_the_gate_and_no_other(
    how: str, written: Any, *, native: bool
) -> None:
    desk = Desk(native=native)
    messages = await desk.edited(how, written, "pay", {"euros": 5})
    assert desk.ran == [("pay", 5)]
    assert NOTICE in last(messages).text
    assert last(messages).text.endswith("paid 5")
    assert (last(messages).name, messages[-1].text) == ("pay", "Done.")
    assert desk.told() == [("pay", "ok")]


@pytest.mark.rule("REP-2", "REP-3")
@pytest.mark.parametrize(("name", "outcome"), [("pay", "INACTIVE"), ("nobody", "UNKNOWN_TOOL"), (SEARCH, "INACTIVE")])
@BOTH
async def test_an_edit_to_what_is_not_active_runs_nothing_and_is_told_so(how: str, name: str, outcome: str) -> None:
    desk = Desk()
    messages = await desk.edited(how, call("look", what="a bill"), name, {"euros": 5, "query": "pay"}, found="look")
    assert desk.ran == []
    assert outcome in last(messages).text
    assert "reviewer" in last(messages).text
    assert last(messages).status == "error"
    assert desk.told() == [(None if name == "nobody" else name, outcome)]
    assert messages[-1].text == "Done."
    # The answer stands behind a call of another name, so a receipt in it would activate nothing.
    assert desk.agent.model.advertised[-1] == (SEARCH, "own", "look")


@BOTH
async def test_of_the_calls_of_a_turn_each_gets_the_edit_that_is_its_own(how: str) -> None:
    desk = Desk()
    written = [call("look", what="one"), call("look", what="two"), call("pay", euros=3)]
    await desk.agent.ask([[search("look pay")], written, "Done."], how)
    edits = [("look", {"what": "another"}), ("pay", {"euros": 2}), ("look", {"what": "three"})]
    decisions = [{"type": "edit", "edited_action": {"name": name, "args": args}} for name, args in edits]
    messages = await desk.agent.move(Command(resume={"decisions": decisions}), how)
    assert sorted(desk.ran) == [("look", "another"), ("look", "three"), ("pay", 2)]
    endings = ["saw another", "paid 2", "saw three"]
    assert all(each.text.endswith(end) for each, end in zip(answers(messages)[1:], endings, strict=True))


@SIDES
@BOTH
async def test_an_edit_to_a_tool_beside_the_catalog_runs_that_one_as_without_the_library(how: str, side: str) -> None:
    desk = Desk(side=side)
    messages = await desk.edited(how, call("look", what="a bill"), "own", {"what": "x"})
    assert desk.ran == [("own", "x")]
    assert last(messages).text.endswith("own x")
    assert desk.told() == []


@pytest.mark.rule("REP-2")
@BOTH
async def test_a_reviewer_outside_the_gate_has_an_edit_to_a_tool_of_the_catalog_refused_by_langchain(how: str) -> None:
    desk = Desk(side="outside")
    with pytest.raises(ValueError, match=r"edited tool call .* to 'pay', which is not an available tool") as refused:
        await desk.edited(how, call("look", what="a bill"), "pay", {"euros": 5})
    assert str(refused.value).endswith(f"Available tools: own, {SEARCH}.")
    assert (desk.ran, desk.told()) == ([], [])


@pytest.mark.rule("REP-2")
@BOTH
async def test_an_edit_excuses_no_middleware_that_made_yet_another_call_of_it(how: str) -> None:
    desk = Desk(outer=[Renames("look", "pay")])
    with pytest.raises(ConfigurationError, match=r"^middleware: .* made a call of pay out of another name"):
        await desk.edited(how, call("look", what="a bill"), "own", {"what": "x"})
    assert desk.ran == []


@SIDES
@BOTH
async def test_an_edit_to_the_search_is_refused_on_either_side(how: str, side: str) -> None:
    desk = Desk(side=side)
    messages = await desk.edited(how, call("look", what="a bill"), SEARCH, {"query": "pay"}, found="look")
    assert "INACTIVE" in last(messages).text
    assert desk.agent.model.advertised[-1] == (SEARCH, "own", "look")


@SIDES
@pytest.mark.parametrize("native", [True, False], ids=["langchains", "librarys"])
@BOTH
async def test_arguments_that_a_reviewer_put_right_are_those_that_run(how: str, side: str, *, native: bool) -> None:
    desk = Desk(side=side, native=native)
    messages = await desk.edited(how, call("pay", euros="all of it"), "pay", {"euros": 7})
    assert desk.ran == [("pay", 7)]
    assert last(messages).text.endswith("paid 7")
    assert desk.told() == [("pay", "ok")]
    assert [each.effective_arguments for each in desk.reports] == [{"euros": 7}]


class Supplies(AgentMiddleware[Any, Any, Any]):
    """Brings a tool of its own into the run, as this library does."""

    def __init__(self, brought: Any) -> None:
        super().__init__()
        self._brought = brought

    def _offering(self, request: Any) -> Any:
        return request.override(tools=[*request.tools, self._brought])

    def _supplied(self, request: ToolCallRequest) -> ToolCallRequest:
        mine = request.tool_call["name"] == self._brought.name
        return request.override(tool=self._brought) if mine else request

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(self._offering(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return await handler(self._offering(request))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return handler(self._supplied(request))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return await handler(self._supplied(request))


@BOTH
async def test_edited_arguments_of_a_tool_that_other_middleware_brought_stay_its_own_affair(how: str) -> None:
    @lc_tool
    def nobody(what: str) -> str:
        """Comes with other middleware."""
        return f"brought {what}"

    desk = Desk(outer=[Supplies(nobody)])
    messages = await desk.edited(how, call("nobody", what="a bill"), "nobody", {"what": "x"})
    assert last(messages).text.endswith("brought x")
    assert desk.told() == []


@BOTH
async def test_arguments_that_a_reviewer_got_wrong_are_told_to_the_model(how: str) -> None:
    desk = Desk()
    messages = await desk.edited(how, call("look", what="a bill"), "pay", {"euros": "all of it"})
    assert desk.ran == []
    assert "VALIDATION_ERROR" in last(messages).text
    assert desk.told() == [("pay", "VALIDATION_ERROR")]


@pytest.mark.rule("MNT-9", "REP-2")
@BOTH
async def test_a_call_that_was_edited_into_one_that_may_not_run_twice_does_not_run_twice(how: str) -> None:
    desk = Desk()
    with suppress(Dies):
        await desk.edited(how, call("look", what="a bill"), "pay", {"euros": 9_000})
    assert desk.ran == [("pay", 9_000)]
    later = desk.process()
    later.model.turns.append("Done.")
    assert "INTERRUPTED" in last(await later.move(None, how)).text
    assert desk.ran == [("pay", 9_000)]


@BOTH
async def test_an_edit_of_one_turn_says_nothing_of_the_next(how: str) -> None:
    desk = Desk()
    await desk.edited(how, call("look", what="a bill"), "pay", {"euros": 5})
    desk.agent.model.turns.extend([[search("look")], [call("look", what="it")], "Done."])
    await desk.agent.ask([], how)
    approved = await desk.agent.move(Command(resume={"decisions": [{"type": "approve"}]}), how)
    assert [each.text for each in answers(approved)][-1] == "saw it"
    assert desk.ran == [("pay", 5), ("look", "it")]


PER_CALL = pytest.mark.skipif(
    "interrupt_mode" not in signature(HumanInTheLoopMiddleware).parameters,
    reason="this release of LangChain asks once for all calls of a turn",
)


@PER_CALL
@SIDES
@BOTH
async def test_a_reviewer_who_is_asked_call_by_call_approves_edits_and_cannot_change_the_tool(
    how: str, side: str
) -> None:
    desk = Desk(side=side, interrupt_mode="per_call")
    await desk.agent.ask([[search("look pay")], [call("pay", euros=5)], "Done."], how)
    for wrong in ("look", "own"):
        other = {"type": "edit", "edited_action": {"name": wrong, "args": {"what": "x"}}}
        with pytest.raises(ValidationError):
            await desk.agent.move(Command(resume=other), how)
    right = {"type": "edit", "edited_action": {"name": "pay", "args": {"euros": 7}}}
    assert last(await desk.agent.move(Command(resume=right), how)).text.endswith("paid 7")
    assert desk.ran == [("pay", 7)]


@PER_CALL
@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize(
    ("side", "native", "rejected", "approved"),
    [
        ("outside", True, "because", "paid 5"),
        # What raised behind the gate may have run the tool, for all that another process knows.
        ("inside", True, "INTERRUPTED", "INTERRUPTED"),
        ("inside", False, "because", "INTERRUPTED"),
    ],
)
@BOTH
async def test_behind_a_refused_edit_another_process_never_runs_the_call_where_it_cannot_know_that_it_did_not(
    how: str, side: str, rejected: str, approved: str, *, native: bool
) -> None:
    for decision, told in (({"type": "reject", "message": "because"}, rejected), ({"type": "approve"}, approved)):
        desk = Desk(side=side, native=native, interrupt_mode="per_call")
        await desk.agent.ask([[search("look pay")], [call("pay", euros=5)]], how)
        edit = {"type": "edit", "edited_action": {"name": "look", "args": {"what": "x"}}}
        with pytest.raises(ValidationError):
            await desk.agent.move(Command(resume=edit), how)
        later = desk.process()
        later.model.turns.append("Done.")
        assert told in last(await later.move(Command(resume=decision), how)).text
        assert desk.ran == ([("pay", 5)] if told == "paid 5" else [])
