"""The page about pydantic-ai: its example runs as it stands, with the real Anthropic SDK against a server on loopback.

Its function goes on from stored messages, with a scripted model in place of a provider's.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.docs.pages import example, page, printed_by
from tests.docs.scripted_api import scripted_api

PAGE = page("pydantic-ai.md")
SCREEN = 60
"""Lines."""
TURNS: list[list[dict[str, Any]]] = [
    [{"type": "tool_use", "id": "call-1", "name": "search_tools", "input": {"query": "overdue invoices"}}],
    [{"type": "tool_use", "id": "call-2", "name": "overdue", "input": {"days": 10}}],
    [{"type": "text", "text": "Ada and Grace owe us money."}],
]


def test_the_page_stands_on_one_screen() -> None:
    assert len(PAGE.splitlines()) <= SCREEN


def test_the_example_runs_as_it_stands() -> None:
    with scripted_api(TURNS) as api:
        assert printed_by(example(PAGE), api) == "Ada and Grace owe us money."
    advertised = [[tool["name"] for tool in request["tools"]] for request in api.requests]
    assert advertised == [["search_tools"], ["search_tools", "overdue"], ["search_tools", "overdue"]]
    assert "Grace" in str(api.requests[2]["messages"][-1]["content"])


async def test_the_example_goes_on_from_stored_messages_and_another_run_and_role_inherit_nothing() -> None:
    page: dict[str, Any] = {"__name__": "page"}
    exec(compile(example(PAGE), "pydantic-ai.md", "exec", dont_inherit=True), page)  # noqa: S102 - the page is ours
    shown: list[list[str]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        shown.append([tool.name for tool in info.function_tools])
        turn = sum(isinstance(message, ModelResponse) for message in messages)
        calls: list[tuple[str, dict[str, Any]]] = [
            ("search_tools", {"query": "refund a customer"}),
            ("refund", {"customer": "Ada"}),
        ]
        if turn >= len(calls):
            return ModelResponse(parts=[TextPart("Done.")])
        return ModelResponse(parts=[ToolCallPart(*calls[turn], tool_call_id=f"call-{turn}")])

    clerk = page["Deps"](request_id="request-42", role="clerk")
    stored = await page["serve"]("Pay Ada back.", b"", clerk, FunctionModel(answer))
    assert shown[0] == ["search_tools"]
    assert "refund" in shown[1]
    assert b"clerk refunded Ada" in stored
    await page["serve"]("And now?", stored, clerk, FunctionModel(answer))
    assert shown[-1] == shown[1]
    for other in (page["Deps"](request_id="request-43", role="clerk"), page["Deps"]("request-42", "reader")):
        await page["serve"]("And now?", stored, other, FunctionModel(answer))
        assert shown[-1] == ["search_tools"]
