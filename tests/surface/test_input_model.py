"""Input models: the schema a model reads survives the projection, and a violation never shows a value."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, field_validator

from surface.catalog import build_catalog
from surface.errors import CatalogError
from surface.input_model import (
    InputRejectedError,
    PydanticInput,
    Violation,
    property_names,
    shown_path,
)
from surface.tool import Tool

SECRET = "hunter2-the-secret"  # noqa: S105 - planted, and looked for


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Node(BaseModel):
    label: str
    children: list[Node] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    name: Annotated[str, Field(min_length=2, max_length=5, pattern="^[a-z]+$")] = "rex"


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: Annotated[int, Field(gt=0, le=9, multiple_of=3)] = 3
    colour: Colour = Colour.RED
    when: date | None = None
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    lines: Annotated[list[Dog], Field(max_length=2)] = []
    notes: dict[str, int] = {}
    sender: str = Field("me", alias="from")
    either: int | bool = 0


def projected(model: type[BaseModel]) -> Mapping[str, Any]:
    """The schema as it stands in a manifest."""
    made = Tool(name="one", description="", input=PydanticInput(model), handler=print)
    return build_catalog([made]).manifest.entries[0].input_schema


def violations_of(arguments: Any, model: type[BaseModel] = Order) -> list[tuple[str, str]]:
    with pytest.raises(InputRejectedError) as caught:
        PydanticInput(model).validate(arguments)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    return [(violation.path, violation.problem) for violation in caught.value.violations]


# CAT-7: what survives the projection


@pytest.mark.rule("CAT-7")
def test_a_recursive_model_keeps_its_reference_to_itself() -> None:
    schema = projected(Node)
    assert schema["$ref"] == "#/$defs/Node"
    assert schema["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}


@pytest.mark.rule("CAT-7")
def test_unions_enums_nested_models_defaults_and_aliases_survive() -> None:
    schema = projected(Order)
    properties = schema["properties"]
    assert set(schema["$defs"]) == {"Cat", "Dog", "Colour"}
    assert schema["$defs"]["Colour"]["enum"] == ["red", "blue"]
    assert properties["colour"] == {"$ref": "#/$defs/Colour", "default": "red"}
    union = properties["pet"]["anyOf"][0]
    assert union["oneOf"] == [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]
    assert union["discriminator"]["propertyName"] == "kind"
    assert properties["lines"]["items"] == {"$ref": "#/$defs/Dog"}
    assert properties["count"]["default"] == 3
    assert properties["from"] == {"type": "string", "default": "me"}
    assert "sender" not in properties
    assert properties["when"]["anyOf"] == [{"type": "string", "format": "date"}, {"type": "null"}]


@pytest.mark.rule("CAT-7")
def test_generated_titles_of_fields_are_left_out_and_written_ones_stay() -> None:
    class Titled(BaseModel):
        plain: int = 0
        titled: int = Field(0, title="A title of its own")

    assert projected(Titled)["properties"] == {
        "plain": {"type": "integer", "default": 0},
        "titled": {"type": "integer", "default": 0, "title": "A title of its own"},
    }
    assert "title" not in projected(Titled)


@pytest.mark.rule("CAT-2")
def test_a_root_model_that_is_no_object_is_refused_by_the_catalog() -> None:
    with pytest.raises(CatalogError, match="the input must be an object"):
        projected(RootModel[list[int]])


# MNT-3: violations


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize(
    ("arguments", "violation"),
    [
        ({"count": SECRET}, ("count", "must be an integer")),
        ({"count": 0}, ("count", "must be greater than 0")),
        ({"count": 12}, ("count", "must be at most 9")),
        ({"count": 4}, ("count", "must be a multiple of 3")),
        ({"count": 2.5}, ("count", "must be an integer")),
        ({"colour": SECRET}, ("colour", "must be one of 'red' or 'blue'")),
        ({"from": 1}, ("from", "must be a string")),
        ({"when": SECRET}, ("when", "must be an ISO 8601 date")),
        ({"lines": [{"kind": "dog", "name": "X"}]}, ("lines.0.name", "must have at least 2 characters")),
        ({"lines": [{"kind": "dog", "name": "abcdef"}]}, ("lines.0.name", "must have at most 5 characters")),
        ({"lines": [{"kind": "dog", "name": "ABC"}]}, ("lines.0.name", "must match the pattern ^[a-z]+$")),
        ({"lines": [{"kind": "dog"}] * 3}, ("lines", "must have at most 2 items")),
        ({"lines": [{}]}, ("lines.0.kind", "is required")),
        ({"lines": {"0": 1}}, ("lines", "must be a list")),
        ({"pet": {}}, ("pet", "needs its discriminator 'kind'")),
        ({"pet": {"kind": SECRET}}, ("pet", "its discriminator 'kind' must be one of 'cat', 'dog'")),
        ({"pet": SECRET}, ("pet", "must be an object")),
    ],
)
def test_a_violation_names_the_field_and_the_constraint(arguments: Any, violation: tuple[str, str]) -> None:
    assert violation in violations_of(arguments)


@pytest.mark.rule("MNT-3")
def test_a_key_that_the_caller_wrote_is_never_shown() -> None:
    assert violations_of({SECRET: 1}) == [("", "holds a field that is not known here")]
    assert violations_of({"notes": {SECRET: "x"}}) == [("notes.*", "must be an integer")]


@pytest.mark.rule("MNT-3")
def test_every_violation_is_listed() -> None:
    assert violations_of({"count": 0, "from": None, SECRET: SECRET}) == [
        ("count", "must be greater than 0"),
        ("from", "must be a string"),
        ("", "holds a field that is not known here"),
    ]


@pytest.mark.rule("MNT-3")
def test_what_a_validator_of_the_application_says_is_not_repeated() -> None:
    class Strict(BaseModel):
        word: str

        @field_validator("word")
        @classmethod
        def check(cls, word: str) -> str:
            raise ValueError(f"{word} is wrong")

    assert violations_of({"word": SECRET}, Strict) == [("word", "is not valid")]


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize(
    "arguments",
    [None, [], "text", 1, {"count": float("nan")}, {"count": 10**5000}, {"\ud800": 1}, {"from": "\ud800"}, {1: {2}}],
    ids=["null", "list", "text", "number", "nan", "huge", "odd key", "odd value", "no json"],
)
def test_whatever_is_no_json_object_is_rejected_and_never_raises_anything_else(arguments: Any) -> None:
    ((path, problem),) = violations_of(arguments)
    assert path == ""
    assert problem


@pytest.mark.rule("MNT-3")
def test_arguments_that_nest_without_end_are_rejected() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert violations_of({"count": deep})[0][0] == ""


def test_arguments_are_read_as_json_so_enums_and_dates_come_as_text() -> None:
    order = PydanticInput(Order).validate({"colour": "blue", "when": "2026-01-31", "from": "you"})
    assert isinstance(order, Order)
    assert (order.colour, order.when, order.sender) == (Colour.BLUE, date(2026, 1, 31), "you")


def test_a_violation_reads_as_one_sentence() -> None:
    rejected = InputRejectedError([Violation(path="a.0", problem="is required"), Violation(path="", problem="is odd")])
    assert str(rejected) == "a.0: is required; the arguments: is odd"


def test_property_names_are_found_at_any_depth() -> None:
    schema = {
        "properties": {"a": {"properties": {"b": {}}}},
        "$defs": {"D": {"anyOf": [{"properties": {"c": {}}}]}},
        "prefixItems": ({"properties": {"d": True}},),
    }
    assert property_names(schema) == {"a", "b", "c", "d"}
    assert property_names({"properties": ["odd"]}) == frozenset()


def test_a_path_shows_positions_and_declared_names_only() -> None:
    assert shown_path(["a", 3, "secret"], frozenset({"a"})) == "a.3.*"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (float("nan"), "hold a number that JSON cannot (NaN or an infinity), or themselves"),
        (float("inf"), "hold a number that JSON cannot (NaN or an infinity), or themselves"),
        ("\ud800", "hold text that is no Unicode (a lone surrogate)"),
        (object(), "must be a JSON object"),
    ],
)
def test_arguments_that_json_cannot_hold_are_told_why(value: Any, told: str) -> None:
    assert violations_of({"word": value}, Order) == [("", told)]
