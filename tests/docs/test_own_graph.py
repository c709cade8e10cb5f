"""The nodes that docs/frameworks.md has for a graph of one's own, run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from langchain.tools import tool as lc_tool
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.frameworks.langchain_agents import call, controller_of, last
from tests.frameworks.langchain_harness import ScriptedChatModel

PAGE = (Path(__file__).parents[2] / "docs/frameworks.md").read_text(encoding="utf-8")
THREAD: Any = {"configurable": {"thread_id": "main"}}


def _graph(controller: Any, turns: Any, saver: InMemorySaver) -> Any:
    """The graph, made anew as each process does."""
    (code,) = (dedent(each) for each in re.findall(r"```python\n(  heard: .*?)```", PAGE, flags=re.DOTALL))
    nodes: dict[str, Any] = {
        "run": controller.mount(run_id="run-1", surface="desk"),
        "model": ScriptedChatModel(turns=turns),
    }
    exec(compile("from __future__ import annotations\n" + code, "frameworks.md", "exec"), nodes)  # noqa: S102 - the page is ours
    graph: Any = StateGraph(MessagesState)
    graph.add_node("think", nodes["think"])
    graph.add_node("act", nodes["act"])
    graph.add_edge(START, "think")
    graph.add_edge("act", "think")
    graph.add_conditional_edges("think", lambda state: "act" if state["messages"][-1].tool_calls else END)
    return graph.compile(checkpointer=saver)


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize("same_process", [True, False])
async def test_in_a_graph_of_ones_own_a_call_that_another_process_may_have_begun_does_not_run(
    *, same_process: bool
) -> None:
    ran: list[str] = []

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append("pay")
        return "paid"

    controller, saver = controller_of([pay], always_on=["pay"]), InMemorySaver()
    first = _graph(controller, [[call("pay")], "Done."], saver)
    given: Any = {"messages": [HumanMessage("Pay.")]}
    await first.ainvoke(given, THREAD, durability="sync", interrupt_before=["act"])
    later = first if same_process else _graph(controller, ["Done."], saver)
    ended = await later.ainvoke(None, THREAD, durability="sync")
    assert ("INTERRUPTED" in last(ended["messages"]).text) is not same_process
    assert ran == ["pay"] * same_process
