"""The page about pydantic-ai runs as it stands, with a scripted model in place of a provider's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

PAGE = Path(__file__).parents[2] / "docs" / "pydantic-ai.md"
SCREEN = 60
"""Lines."""


async def test_the_example_of_the_page_searches_calls_and_goes_on_from_stored_messages() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= SCREEN
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    page: dict[str, Any] = {"__name__": "page"}
    exec(compile(code, str(PAGE), "exec", dont_inherit=True), page)  # noqa: S102 - the page is ours
    shown: list[list[str]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        shown.append([tool.name for tool in info.function_tools])
        turn = sum(isinstance(message, ModelResponse) for message in messages)
        calls: list[tuple[str, dict[str, Any]]] = [
            ("search_tools", {"query": "overdue invoices"}),
            ("overdue", {"days": 10}),
            ("refund", {"customer": "Ada"}),
        ]
        if turn >= len(calls):
            return ModelResponse(parts=[TextPart("Done.")])
        return ModelResponse(parts=[ToolCallPart(*calls[turn], tool_call_id=f"call-{turn}")])

    clerk = page["Deps"](request_id="request-42", role="clerk")
    stored = await page["serve"](FunctionModel(answer), "Who owes us money?", b"", clerk)
    assert shown[:2] == [["search_tools", "refund"], ["search_tools", "overdue", "refund"]]
    assert clerk.paid == ["Ada"]
    reader = page["Deps"](request_id="request-42", role="reader")
    await page["serve"](FunctionModel(answer), "And now?", stored, reader)
    assert shown[-1] == ["search_tools"]
