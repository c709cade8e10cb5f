"""What a model reads of the search tool."""

from __future__ import annotations

from typing import Any

import pytest

from surface.input_model import InputRejectedError
from surface.search_tool import MAX_COVERAGE_BYTES, SEARCH_INPUT, SearchInput
from surface.tool import Service
from tests.surface.shop import SEARCH, make_surface, make_tool, make_tools


def coverage_of(*tools: Any) -> str:
    """What the description says of the catalog: everything after the fixed sentences."""
    description = make_surface(tools).search.description
    return description[description.index("The catalog holds") :]


@pytest.mark.rule("SRC-2")
@pytest.mark.parametrize("query", ["", " ", "\t\n", "\u2003"])
def test_a_blank_query_is_a_violation(query: str) -> None:
    with pytest.raises(InputRejectedError, match=r"^query: "):
        SEARCH_INPUT.validate({"query": query})


@pytest.mark.rule("SRC-2")
@pytest.mark.parametrize("arguments", [{}, {"query": 1}, {"query": "x", "limit": 3}, {"q": "x"}, [], None, "x"])
def test_anything_but_one_text_called_query_is_a_violation(arguments: Any) -> None:
    with pytest.raises(InputRejectedError):
        SEARCH_INPUT.validate(arguments)


@pytest.mark.rule("SRC-2")
def test_a_query_is_kept_as_it_was_written() -> None:
    asked = SEARCH_INPUT.validate({"query": "  list Invoices\n"})
    assert isinstance(asked, SearchInput)
    assert asked.query == "  list Invoices\n"


@pytest.mark.rule("SRC-10")
def test_the_search_tool_takes_one_described_text_and_nothing_else() -> None:
    schema = make_surface(make_tools("one")).search.input_schema
    assert set(schema) == {"type", "properties", "required", "additionalProperties"}
    assert (schema["type"], schema["required"], schema["additionalProperties"]) == ("object", ["query"], False)
    assert set(schema["properties"]["query"]) == {"type", "description"}


@pytest.mark.rule("SRC-10")
def test_the_description_says_when_to_search_and_how_many_tools_there_are() -> None:
    entry = make_surface(make_tools("one", "two")).search
    assert entry.name == SEARCH
    assert "search before you conclude that something cannot be done" in entry.description
    assert entry.description.endswith("The catalog holds 2 tools.")


@pytest.mark.rule("SRC-10")
def test_the_description_counts_services_largest_first_and_equal_ones_by_name() -> None:
    services = [
        Service(name="mail", tools=make_tools("send")),
        Service(name="shop", tools=make_tools("list", "buy", "sell")),
        Service(name="banking", tools=make_tools("pay")),
    ]
    assert coverage_of(*services, make_tool("alone")) == "The catalog holds 6 tools: shop 3, banking 1, mail 1."
    assert coverage_of(make_tool("a", service="z"), make_tool("z", service="a")).endswith(": a 1, z 1.")
    assert coverage_of(*reversed(services)) == "The catalog holds 5 tools: shop 3, banking 1, mail 1."


@pytest.mark.rule("SRC-10")
def test_the_list_of_services_ends_at_its_byte_ceiling_and_says_so() -> None:
    services = [Service(name=f"service{number:03}", tools=make_tools("do")) for number in range(500)]
    coverage = coverage_of(*services)
    listed = coverage.removeprefix("The catalog holds 500 tools, among them: ").removesuffix(".")
    one_more = len(", service000 1")
    assert MAX_COVERAGE_BYTES - one_more < len(listed.encode()) <= MAX_COVERAGE_BYTES
    assert listed.split(", ") == [f"service{number:03} 1" for number in range(len(listed.split(", ")))]


@pytest.mark.rule("SRC-10")
def test_the_description_is_the_same_bytes_for_the_same_catalog() -> None:
    tools = [Service(name="b", tools=make_tools("x")), Service(name="a", tools=make_tools("x"))]
    assert make_surface(tools).search == make_surface(list(reversed(tools))).search
