"""Inputs that a provider refuses fail where they are mounted, because one such tool costs the whole request (CAT-7)."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from surface import DialectError, Surface, Tool, build_tool_manifest, create_deferred_agent_tool_surface, mount_agent
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.json_schema import JsonSchemaInput
from surface.adapters.openai_chat import OPENAI_CHAT
from surface.adapters.openai_responses import OPENAI_RESPONSES
from surface.dialect import Dialect
from surface.input_model import PydanticInput
from surface.provider_inputs import ANTHROPIC, ANY_INPUT, EVERY_PROVIDER, OPENAI
from tests.surface.neutral_dialect import NEUTRAL

DIALECTS: list[Dialect] = [ANTHROPIC_MESSAGES, OPENAI_CHAT, OPENAI_RESPONSES]
PROBLEMS = {"allOf": [{}], "anyOf": [{"required": ["a"]}], "const": {}, "enum": [{}], "not": {}, "oneOf": [{}]}
NAMES = ["$top", "filter[name]", "account number", "größe", "", "x" * 65, "a\n"]


def taking(schema: dict[str, Any]) -> Tool:
    return Tool(
        name="odd",
        description="Takes something odd.",
        input=JsonSchemaInput({"type": "object"} | schema),
        handler=lambda value, call: None,
    )


def problem(dialect: Dialect, made: Tool) -> str | None:
    surface = Surface(key="clerk", tools=[made])
    said: set[str | None] = set()
    for mount in (
        lambda: mount_agent([made], dialect=dialect),
        lambda: create_deferred_agent_tool_surface(application="shop", surfaces=[surface], dialect=dialect),
    ):
        try:
            mount()
        except DialectError as error:
            said.add(str(error))
        else:
            said.add(None)
    (only,) = said
    return only


@pytest.mark.rule("CAT-7")
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("keyword", PROBLEMS)
def test_a_keyword_at_the_top_that_a_provider_refuses_fails_at_the_mount_and_names_the_tool(
    dialect: Dialect, keyword: str
) -> None:
    refused = dialect is not ANTHROPIC_MESSAGES or keyword in ("allOf", "anyOf", "oneOf")
    said = problem(dialect, taking({"properties": {"a": {"type": "string"}}, keyword: PROBLEMS[keyword]}))
    assert (said is not None) == refused
    assert said is None or f"odd: its input schema has {keyword} at its top; put it into an argument" in said


@pytest.mark.rule("CAT-7")
@pytest.mark.parametrize("name", NAMES)
def test_an_argument_whose_name_anthropic_refuses_fails_at_the_mount_and_is_named(name: str) -> None:
    made = taking({"properties": {name: {}, "fine.name-1": {}}})
    said = problem(ANTHROPIC_MESSAGES, made)
    assert said is not None
    assert said.count("its argument ") == 1
    assert "must match [A-Za-z0-9_.-]{1,64}" in said
    assert problem(OPENAI_CHAT, made) is None
    assert problem(OPENAI_RESPONSES, made) is None


@pytest.mark.rule("CAT-7")
def test_the_aliases_of_a_model_are_held_to_the_same_names() -> None:
    class Page(BaseModel):
        top: Annotated[int, Field(alias="$top")]

    listing = Tool(name="users", description="Lists.", input=PydanticInput(Page), handler=lambda value, call: None)
    said = problem(ANTHROPIC_MESSAGES, listing)
    assert said is not None
    assert "users: its argument $top must match" in said
    assert problem(NEUTRAL, listing) is None


@pytest.mark.rule("CAT-7")
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_what_stands_further_down_is_nobodys_affair(dialect: Dialect) -> None:
    inner = {"type": "object", "properties": {name: {} for name in NAMES}} | PROBLEMS
    properties = {"anyOf": inner, "deep": {"type": "array", "items": inner}}
    assert problem(dialect, taking({"properties": properties, "$defs": {"inner": inner}})) is None


@pytest.mark.rule("CAT-7")
def test_openai_is_told_that_there_are_no_arguments() -> None:
    """Its API refuses `{"type": "object"}`, what many an MCP server says: "object schema missing properties"."""
    entries = list(build_tool_manifest([taking({})]))
    whole = {"type": "object", "properties": {}}
    assert OPENAI_CHAT.advertise(entries)[0]["function"]["parameters"] == whole
    assert OPENAI_RESPONSES.advertise(entries)[0]["parameters"] == whole
    assert ANTHROPIC_MESSAGES.advertise(entries)[0]["input_schema"] == {"type": "object"}


KEYWORDS = [*PROBLEMS, "properties", "$defs", "description", "required", "additionalProperties"]
names = st.text(max_size=3) | st.just("fine")
schemas: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(KEYWORDS), st.dictionaries(names, st.just({}), max_size=3)
)


@given(schemas)
def test_what_every_provider_takes_each_of_them_takes_and_nothing_else(schema: dict[str, Any]) -> None:
    each = {*ANTHROPIC.problems(schema), *OPENAI.problems(schema)}
    assert set(EVERY_PROVIDER.problems(schema)) == each
    assert ANY_INPUT.problems(schema) == []


@given(st.none() | st.integers() | st.text() | st.lists(st.text()))
def test_properties_that_are_none_name_no_argument(properties: Any) -> None:
    assert ANTHROPIC.problems({"type": "object", "properties": properties}) == []
