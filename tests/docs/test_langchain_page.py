"""The page about LangChain: its example runs as it stands, with the real ChatAnthropic against a server on loopback."""

from __future__ import annotations

import json
from typing import Any

from tests.docs.pages import example, page, printed_by
from tests.docs.scripted_api import scripted_api

PAGE = page("langchain.md")
TURNS: list[list[dict[str, Any]]] = [
    [{"type": "tool_use", "id": "call-1", "name": "search_tools", "input": {"query": "overdue invoices"}}],
    [{"type": "tool_use", "id": "call-2", "name": "overdue_invoices", "input": {"days": 10}}],
    [{"type": "text", "text": "Ada and Grace owe us money."}],
]


def test_the_example_runs_as_it_stands() -> None:
    with scripted_api(TURNS) as api:
        assert printed_by(example(PAGE), api, "-W", "error::UserWarning") == "Ada and Grace owe us money."
    advertised = [[tool["name"] for tool in request["tools"]] for request in api.requests]
    assert advertised == [["search_tools"], ["search_tools", "overdue_invoices"], ["search_tools", "overdue_invoices"]]
    schema = api.requests[1]["tools"][1]["input_schema"]
    assert list(schema["properties"]) == ["days"]
    result = api.requests[2]["messages"][-1]["content"][0]["content"]
    assert "For Joan: Ada and Grace, 10 days." in json.dumps(result)
    assert "toolsurface" not in json.dumps(api.requests[1]["messages"])


def test_the_page_is_at_most_a_screen_long() -> None:
    assert len(PAGE.splitlines()) <= 60
