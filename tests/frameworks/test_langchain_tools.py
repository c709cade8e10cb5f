"""LangChain's own tools in a catalog: what they bring along stays theirs, sync and async."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolRetryMiddleware
from langchain.agents.middleware.types import AgentMiddleware, AgentState
from langchain.tools import InjectedState, InjectedStore, InjectedToolCallId, ToolException, ToolRuntime
from langchain.tools import tool as lc_tool
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel, Field

from surface import CallReport, ConfigurationError, DialectError, Evidence, Hooks, mount_agent, tool
from surface.adapters.langchain import LANGCHAIN_MESSAGES, langchain_tool
from surface.adapters.openai_chat import OPENAI_CHAT
from surface.evidence import CallEvidence
from surface.search_tool import DEFAULT_NAME as SEARCH
from tests.frameworks.langchain_agents import Agent, Dies, Turns, agent_of, answers, call, controller_of, last, search

BOTH = pytest.mark.parametrize("how", ["invoke", "ainvoke"])
APPROVED: Command[Any] = Command(resume={"decisions": [{"type": "approve"}]})


class Noted(AgentState[Any]):
    notes: str


class Heard(BaseCallbackHandler):
    """Notes the tools that LangChain's callbacks tell of."""

    def __init__(self) -> None:
        self.tools: list[str] = []
        self.described: dict[str, str] = {}

    def on_tool_start(self, serialized: dict[str, Any], input_str: str, **_: Any) -> None:
        self.tools.append(serialized["name"])
        self.described[serialized["name"]] = serialized["description"]


@BOTH
async def test_injected_arguments_reach_the_tool_and_no_model_can_write_them(how: str) -> None:
    @lc_tool
    def look(
        query: str,
        notes: Annotated[str, InjectedState("notes")],
        store: Annotated[Any, InjectedStore()],
        call_id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime[Any, Any],
    ) -> str:
        """Looks."""
        word = store.get(("shelf",), "key").value["word"]
        return f"{query} {notes} {word} {call_id} {runtime.tool_call_id}"

    store = InMemoryStore()
    store.put(("shelf",), "key", {"word": "kept"})
    agent = agent_of([look], store=store, state_schema=Noted)
    agent.model.turns.extend(
        [[search("look")], [call("look", query="where", notes="forged", call_id="forged")], "Done."]
    )
    messages = await agent.move({"messages": [HumanMessage("Please.")], "notes": "mine"}, how)
    assert last(messages).text == "where mine kept call-2 call-2"
    assert list(langchain_tool(look).input.json_schema["properties"]) == ["query"]


@BOTH
async def test_artifacts_commands_and_streamed_words_are_langchains_own(how: str) -> None:
    @lc_tool(response_format="content_and_artifact")
    def draw(runtime: ToolRuntime[Any, Any]) -> tuple[str, dict[str, int]]:
        """Draws."""
        runtime.stream_writer("drawing")
        return "drawn", {"pixels": 3}

    @lc_tool
    def note(call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Notes."""
        return Command(update={"notes": "noted", "messages": [ToolMessage("kept", tool_call_id=call_id)]})

    agent = agent_of([draw, note], state_schema=Noted)
    agent.model.turns.extend([[search("draw note")], [call("draw"), call("note")], "Done."])
    given, config = {"messages": [HumanMessage("Please.")]}, {"configurable": {"thread_id": "main"}}
    modes = ["custom", "values"]
    if how == "invoke":
        streamed = list(agent.graph.stream(given, config, stream_mode=modes))
    else:
        streamed = [each async for each in agent.graph.astream(given, config, stream_mode=modes)]
    values = streamed[-1][1]
    assert [each for mode, each in streamed if mode == "custom"] == ["drawing"]
    assert values["notes"] == "noted"
    told = {message.text: message.artifact for message in answers(values["messages"])[1:]}
    assert told == {"drawn": {"pixels": 3}, "kept": None}


@BOTH
async def test_a_tools_own_ways_with_errors_stay_its_own(how: str) -> None:
    def fail() -> str:
        """Fails."""
        raise ToolException("the shelf is empty")

    class Size(BaseModel):
        inches: int = Field(ge=1)

    events: list[Evidence] = []
    handled = StructuredTool.from_function(fail, handle_tool_error=True)
    lenient = StructuredTool.from_function(
        lambda inches: "cut",
        name="cut",
        description="Cuts.",
        args_schema=Size,
        handle_validation_error="inches, please",
    )
    strict = StructuredTool.from_function(lambda inches: "cut", name="saw", description="Saws.", args_schema=Size)
    agent = agent_of([handled, lenient, strict], options={"observer": events.append})
    wrong = {"inches": -77}
    turns: Turns = [[search("fail cut saw")], [call("fail"), call("cut", **wrong), call("saw", **wrong)], "Done."]
    shown = {message.name: message for message in answers(await agent.ask(turns, how))}
    assert shown["fail"].text == "the shelf is empty"
    assert shown["cut"].text == "inches, please"
    assert "VALIDATION_ERROR" in shown["saw"].text
    assert "77" not in shown["saw"].text
    assert {shown[name].status for name in ("fail", "cut", "saw")} == {"error"}
    outcomes = {event.tool: event.outcome for event in events if isinstance(event, CallEvidence)}
    assert (outcomes["fail"], outcomes["cut"], outcomes["saw"]) == ("TOOL_ERROR", "TOOL_ERROR", "VALIDATION_ERROR")


@pytest.mark.parametrize("inner", [True, False], ids=["retry-inside", "retry-outside"])
@BOTH
async def test_retries_and_callbacks_work_and_the_hooks_see_every_try_that_the_gate_let_through(
    how: str, *, inner: bool
) -> None:
    tries: list[int] = []
    reports: list[CallReport] = []

    @lc_tool
    def flaky() -> str:
        """Fails twice."""
        tries.append(len(tries))
        if len(tries) < 3:
            raise ConnectionError("gone")
        return "through"

    @tool
    def steady() -> str:
        """Does it."""
        return "done"

    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)
    agent = agent_of(
        [flaky, steady],
        before=[] if inner else [retry],
        after=[retry] if inner else [],
        options={"hooks": Hooks(after_call=reports.append)},
    )
    heard = Heard()
    turns: Turns = [[search("flaky steady")], [call("flaky"), call("steady")], "Done."]
    messages = await agent.ask(turns, how, config={"callbacks": [heard]})
    assert {message.text for message in answers(messages)[1:]} == {"through", "done"}
    assert sorted(heard.tools) == ["flaky", "flaky", "flaky", "search_tools", "steady"]
    assert (heard.described["flaky"], heard.described["steady"]) == ("Fails twice.", "Does it.")
    assert len(reports) == (2 if inner else 4)


class Rewrites(AgentMiddleware[Any, Any, Any]):
    """Puts other arguments into every call behind the gate."""

    def _rewritten(self, request: ToolCallRequest) -> ToolCallRequest:
        asked = request.tool_call
        made = {"query": "nothing"} if asked["name"] == SEARCH else {"what": "that"}
        return request.override(tool_call={**asked, "args": made})

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return handler(self._rewritten(request))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return await handler(self._rewritten(request))


@pytest.mark.rule("ACT-1", "SRC-1")
@BOTH
async def test_middleware_behind_the_gate_changes_the_arguments_of_tools_and_those_of_no_search(how: str) -> None:
    @lc_tool
    def look(what: str) -> str:
        """Looks."""
        return f"saw {what}"

    @tool
    def watch(what: str) -> str:
        """Watches."""
        return f"watched {what}"

    agent = agent_of([look, watch], after=[Rewrites()])
    turns: Turns = [[search("look watch")], [call("look", what="this"), call("watch", what="this")], "Done."]
    found, *told = answers(await agent.ask(turns, how))
    # What a search selected is what the messages say that it was asked for.
    assert "SELECTED" in found.text
    assert agent.model.advertised[1] == (SEARCH, "look", "watch")
    assert [each.text for each in told] == ["saw that", "watched that"]


@BOTH
async def test_an_exception_of_a_tool_ends_the_run_as_langchain_means_it_to(how: str) -> None:
    @lc_tool
    def broken() -> str:
        """Breaks."""
        raise ConnectionError("gone")

    seen: list[Exception] = []
    agent = agent_of([broken], options={"hooks": Hooks(on_error=lambda error, call: seen.append(error))})
    with pytest.raises(ConnectionError):
        await agent.ask([[search("broken")], [call("broken")], "Done."], how)
    assert [type(error) for error in seen] == [ConnectionError]


@BOTH
async def test_a_tool_that_returns_directly_ends_the_run_but_its_repair_does_not(how: str) -> None:
    @lc_tool(return_direct=True)
    def answer(question: str, state: Annotated[Any, InjectedState("messages")]) -> str:
        """Answers."""
        return f"{question} is 42 after {len(state)}"

    agent = agent_of([answer])
    turns = [[call("answer", question="it")], [call("answer")], [call("answer", question="it")]]
    messages = await agent.ask(turns, how)
    hidden, wrong, ended = answers(messages)
    assert "SEARCH_REQUIRED" in hidden.text
    assert "VALIDATION_ERROR" in wrong.text
    assert messages[-1] is ended
    assert ended.text == "it is 42 after 6"


@BOTH
async def test_an_approval_between_call_and_result_is_waited_for_also_by_another_process(how: str) -> None:
    ran: list[str] = []

    @lc_tool
    def pay(euros: int) -> str:
        """Pays."""
        ran.append(f"{euros}")
        return "paid"

    saver = InMemorySaver()

    def process() -> Agent:
        return agent_of([pay], after=[HumanInTheLoopMiddleware(interrupt_on={"pay": True})], checkpointer=saver)

    asked = await process().ask([[search("pay")], [call("pay", euros=5)]], how)
    assert not ran
    assert len(answers(asked)) == 1
    later = process()
    later.model.turns.append("Done.")
    # Nothing runs twice and nothing is taken for interrupted: the approved call had never begun.
    assert last(await later.move(APPROVED, how)).text == "paid"
    assert ran == ["5"]


@BOTH
async def test_a_tool_that_interrupts_itself_goes_on_with_the_answer_also_in_another_process(how: str) -> None:
    events: list[Evidence] = []

    @lc_tool
    def pay() -> str:
        """Pays."""
        return f"paid {interrupt('how much?')}"

    saver = InMemorySaver()

    def process() -> Agent:
        return agent_of([pay], checkpointer=saver, options={"observer": events.append})

    await process().ask([[search("pay")], [call("pay")]], how)
    later = process()
    later.model.turns.append("Done.")
    assert last(await later.move(Command(resume="7"), how)).text == "paid 7"
    outcomes = [event.outcome for event in events if isinstance(event, CallEvidence) and event.tool == "pay"]
    assert outcomes == ["SUSPENDED", "ok"]


@pytest.mark.rule("MNT-9")
@BOTH
async def test_a_tool_that_interrupts_twice_goes_on_twice_each_time_in_another_process(how: str) -> None:
    ran: list[str] = []

    @lc_tool
    def pay() -> str:
        """Pays."""
        asked = f"{interrupt('how much?')} {interrupt('to whom?')}"
        ran.append(asked)
        return f"paid {asked}"

    saver = InMemorySaver()
    await agent_of([pay], checkpointer=saver).ask([[search("pay")], [call("pay")]], how)
    await agent_of([pay], checkpointer=saver).move(Command(resume="7"), how)
    later = agent_of([pay], checkpointer=saver)
    later.model.turns.append("Done.")
    assert last(await later.move(Command(resume="Ada"), how)).text == "paid 7 Ada"
    assert ran == ["7 Ada"]


@pytest.mark.rule("MNT-9", "REP-2")
@BOTH
async def test_a_call_that_was_resumed_and_begun_and_cut_off_is_not_run_again_by_another_process(how: str) -> None:
    ran: list[str] = []

    @lc_tool
    def pay() -> str:
        """Pays."""
        ran.append(interrupt("how much?"))
        raise Dies

    saver = InMemorySaver()
    await agent_of([pay], checkpointer=saver).ask([[search("pay")], [call("pay")]], how)
    with pytest.raises(Dies):
        await agent_of([pay], checkpointer=saver).move(Command(resume="7"), how)
    later = agent_of([pay], checkpointer=saver)
    later.model.turns.append("Done.")
    assert "INTERRUPTED" in last(await later.move(None, how)).text
    assert ran == ["7"]


def test_hints_of_mcp_tools_say_what_a_restart_may_repeat() -> None:
    def listed() -> str:
        """Lists."""
        return ""

    hinted = StructuredTool.from_function(listed, metadata={"readOnlyHint": True, "idempotentHint": False})
    assert (langchain_tool(hinted).read_only, langchain_tool(hinted).idempotent) == (True, False)
    assert langchain_tool(hinted, read_only=False).repeatable is False
    assert langchain_tool(listed).repeatable is False


@pytest.mark.parametrize("wrong", [lambda: None, 5, object(), "the_name_of_a_tool"])
def test_what_is_no_tool_is_refused_in_one_sentence(wrong: Callable[..., Any]) -> None:
    with pytest.raises(ConfigurationError, match="langchain_tool: needs a BaseTool or a function"):
        langchain_tool(wrong)


def test_a_tool_of_the_library_is_to_be_put_on_the_surface_as_it_is() -> None:
    def listed() -> str:
        """Lists."""
        return ""

    with pytest.raises(ConfigurationError, match="put it on the surface as it is"):
        langchain_tool(langchain_tool(listed))


def test_another_dialect_refuses_langchains_tools_when_it_mounts() -> None:
    def listed() -> str:
        """Lists."""
        return ""

    with pytest.raises(DialectError, match=r"listed: only langchain runs it$"):
        mount_agent([langchain_tool(listed)], dialect=OPENAI_CHAT)


@pytest.mark.rule("MNT-3", "EVD-1")
@pytest.mark.parametrize("how", ["tool", "validation"])
async def test_without_a_graph_an_error_that_a_tool_handles_is_a_failure_in_its_own_words(how: str) -> None:
    def fail(shelf: int) -> str:
        """Fails."""
        raise ToolException("the shelf is empty")

    events: list[Evidence] = []
    made = StructuredTool.from_function(fail, handle_tool_error=True, handle_validation_error="a number, please")
    controller = controller_of([made], always_on=["fail"], observer=events.append)
    run = controller.mount(run_id="run-1", surface="desk")
    given = {"shelf": 1 if how == "tool" else "top"}
    asked = AIMessage("", tool_calls=[{"name": "fail", "args": given, "id": "call-1"}])
    (message,) = await run.dispatch([asked])
    assert message.status == "error"
    assert ("the shelf is empty" if how == "tool" else "a number, please") in message.text
    assert [event.outcome for event in events if isinstance(event, CallEvidence)] == ["TOOL_ERROR"]


def _answers(call_id: str) -> ToolMessage:
    return ToolMessage("noted", tool_call_id=call_id)


@pytest.mark.rule("MNT-3", "EVD-1")
@pytest.mark.parametrize(
    ("made", "code"),
    [
        (lambda call_id: Command(update={"notes": "secret", "messages": [_answers(call_id)]}), "NEEDS_GRAPH"),
        (lambda _: Command(goto="secret"), "NEEDS_GRAPH"),
        (lambda call_id: [_answers(call_id), Command(update={"notes": "secret"})], "NEEDS_GRAPH"),
        (lambda call_id: [_answers(call_id), ToolMessage("secret", tool_call_id="another")], "NEEDS_GRAPH"),
        (lambda call_id: [_answers(call_id)], "ok"),
        (_answers, "ok"),
        (lambda _: "noted", "ok"),
    ],
    ids=["update", "goto", "with-a-command", "several", "list-of-one", "message", "text"],
)
async def test_without_a_graph_an_answer_that_changes_its_state_is_a_failure_and_no_text(
    made: Callable[[str], Any], code: str
) -> None:
    @lc_tool
    def note(call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Notes."""
        return made(call_id)

    events: list[Evidence] = []
    controller = controller_of([note], always_on=["note"], observer=events.append)
    asked = AIMessage("", tool_calls=[{"name": "note", "args": {}, "id": "call-1"}])
    (message,) = await controller.mount(run_id="run-1", surface="desk").dispatch([asked])
    assert [event.outcome for event in events if isinstance(event, CallEvidence)] == [code]
    if code == "ok":
        assert (message.text, message.status) == ("noted", "success")
    else:
        assert message.status == "error"
        assert "The tool ran" in message.text
        assert "secret" not in message.text


DATA = b64encode(b"bytes").decode()
PICTURE = {"type": "image", "base64": DATA, "mime_type": "image/png"}


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("seen", "seen"),
        ("", ""),
        ([{"type": "text", "text": "seen"}], "seen"),
        (["one", "two"], [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]),
        ([{"type": "text", "text": "seen"}, PICTURE], [{"type": "text", "text": "seen"}, PICTURE]),
        ([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}], [PICTURE]),
        (
            [{**PICTURE, "type": "audio", "mime_type": "audio/wav"}],
            [{**PICTURE, "type": "audio", "mime_type": "audio/wav"}],
        ),
        ([{**PICTURE, "type": "file", "filename": "a.pdf"}], [{**PICTURE, "type": "file", "filename": "a.pdf"}]),
        ([{**PICTURE, "type": "file"}], [{**PICTURE, "type": "file", "filename": "file"}]),
        (
            [{**PICTURE, "type": "file", "filename": 3, "extras": None}],
            [{**PICTURE, "type": "file", "filename": "file"}],
        ),
        ([{**PICTURE, "base64": "no base64"}], '{"base64":"no base64","mime_type":"image/png","type":"image"}'),
        ([{"type": "image", "base64": DATA}], f'{{"base64":"{DATA}","type":"image"}}'),
        ([{"type": "image", "url": "https://a.test/b.png"}], '{"type":"image","url":"https://a.test/b.png"}'),
        ([{"type": "text"}], '{"type":"text"}'),
        ([{"type": "own", "value": 7}], '{"type":"own","value":7}'),
        ([{"key": 7}], '[{"key":7}]'),
    ],
)
async def test_without_a_graph_blocks_of_content_stay_what_they_are(content: Any, shown: Any) -> None:
    @lc_tool
    def look(call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Looks."""
        return ToolMessage(content, tool_call_id=call_id)

    run = mount_agent([langchain_tool(look)], dialect=LANGCHAIN_MESSAGES).mount(run_id="run-1")
    (message,) = await run.dispatch([AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "call-1"}])])
    assert (message.content, message.status) == (shown, "success")


async def test_without_a_graph_dispatch_invokes_the_tool() -> None:
    @lc_tool
    def double(number: int) -> str:
        """Doubles."""
        return str(2 * number)

    run = mount_agent([langchain_tool(double)], dialect=LANGCHAIN_MESSAGES).mount(run_id="run-1")
    asked = AIMessage("", tool_calls=[{"name": "double", "args": {"number": 4}, "id": "a", "type": "tool_call"}])
    (message,) = await run.dispatch([asked])
    assert message.text == "8"
