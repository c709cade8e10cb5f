"""A VALIDATION_ERROR says the field and the constraint in our own words and never shows a value (MNT-3)."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, HttpUrl, field_validator, model_validator
from pydantic_core import PydanticCustomError

from surface import Tool
from surface.input_model import InputRejectedError, PydanticInput
from tests.surface.neutral_dialect import error_in
from tests.surface.one_call import answer_of

SECRET = "hunter2"  # noqa: S105 - planted to be looked for


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


def _refuse(value: str) -> str:
    raise ValueError(f"{value} is not allowed")


def _refuse_in_its_own_type(value: str) -> str:
    raise PydanticCustomError("secret_found", "found {value}", {"value": value})


class Wide(BaseModel):
    model_config = ConfigDict(extra="forbid")

    colour: Colour | None = None
    size: Literal["small", "large"] | None = None
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    ages: dict[str, int] = {}
    numbered: dict[int, int] = {}
    steps: list[Annotated[int, Field(ge=1, le=9)]] = []
    code: Annotated[str, Field(pattern="^[a-z]{3}$")] | None = None
    short: Annotated[str, Field(max_length=3)] | None = None
    when: datetime | None = None
    day: date | None = None
    id: UUID | None = None
    link: HttpUrl | None = None
    price: Decimal | None = None
    share: Annotated[float, Field(gt=0, lt=1)] | None = None
    either: int | list[int] | None = None
    checked: Annotated[str, AfterValidator(_refuse)] | None = None
    checked_oddly: Annotated[str, AfterValidator(_refuse_in_its_own_type)] | None = None
    in_code: Annotated[int, Field(alias="inCode")] = 0
    asserted: str | None = None

    @field_validator("asserted")
    @classmethod
    def _asserted(cls, value: str | None) -> str | None:
        assert value is None, f"{value} was asserted"
        return value

    @model_validator(mode="after")
    def _whole(self) -> Wide:
        if self.short == "bad":
            raise ValueError(f"{self.short} does not go with {self.size}")
        return self


WIDE = Tool(name="wide", description="Takes much.", input=PydanticInput(Wide), handler=lambda value, call: "done")


async def told(arguments: Any, tool: Tool = WIDE) -> str:
    error = error_in(await answer_of(tool, arguments))
    assert error["code"] == "VALIDATION_ERROR"
    assert error["hint"]
    return error["message"]


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"colour": SECRET}, "colour: must be one of 'red' or 'blue'"),
        ({"size": SECRET}, "size: must be one of 'small' or 'large'"),
        ({"pet": {"kind": SECRET}}, "pet: its discriminator 'kind' must be one of 'cat', 'dog'"),
        ({"pet": {"lives": SECRET}}, "pet: needs its discriminator 'kind'"),
        ({"pet": {"kind": "cat", "lives": SECRET}}, "pet.*.lives: must be an integer"),
        ({"ages": {SECRET: "old"}}, "ages.*: must be an integer"),
        ({"ages": {"mine": SECRET}}, "ages.*: must be an integer"),
        ({"ages": SECRET}, "ages: must be an object"),
        ({"steps": [1, 10]}, "steps.1: must be at most 9"),
        ({"steps": [1, 0]}, "steps.1: must be at least 1"),
        ({"steps": SECRET}, "steps: must be a list"),
        ({"code": SECRET}, "code: must match the pattern ^[a-z]{3}$"),
        ({"short": SECRET}, "short: must have at most 3 characters"),
        ({"when": SECRET}, "when: must be an ISO 8601 date and time"),
        ({"id": SECRET}, "id: must be a UUID"),
        ({"link": SECRET}, "link: must be a URL"),
        ({"share": 1}, "share: must be less than 1.0"),
        ({"share": SECRET}, "share: must be a number"),
        ({SECRET: 1}, "the arguments: holds a field that is not known here"),
        ({"inCode": SECRET}, "inCode: must be an integer"),
        ({"checked": SECRET}, "checked: is not valid"),
        ({"checked_oddly": SECRET}, "checked_oddly: is not valid"),
        ({"asserted": SECRET}, "asserted: is not valid"),
        ({"short": "bad", "size": "small"}, "the arguments: is not valid"),
        ([SECRET], "the arguments: must be an object"),
        (SECRET, "the arguments: must be an object"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_violation_names_the_field_and_the_constraint_and_shows_no_value(arguments: Any, message: str) -> None:
    assert await told(arguments) == message


@pytest.mark.rule("MNT-3")
async def test_a_missing_field_is_named() -> None:
    tool = Tool(name="cat", description="A cat.", input=PydanticInput(Cat), handler=lambda value, call: "done")
    assert await told({"kind": "cat"}, tool) == "lives: is required"


@pytest.mark.rule("MNT-3")
async def test_several_violations_are_all_told() -> None:
    message = await told({"colour": SECRET, "steps": [0, SECRET], SECRET: SECRET})
    assert message.count(";") == 3
    assert SECRET not in message


@pytest.mark.rule("MNT-3")
async def test_a_flood_of_violations_stays_short() -> None:
    message = await told({"steps": [SECRET] * 10_000})
    assert len(message) < 2_000
    assert SECRET not in message


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize(
    "field",
    ["day", "price", "either", "numbered", "when", "link", "id", "colour", "pet", "steps", "ages", "share", "inCode"],
)
@pytest.mark.parametrize(
    "value",
    [
        SECRET,
        [SECRET],
        {SECRET: SECRET},
        {SECRET: {SECRET: 1}},
        [[SECRET], {SECRET: 0}],
        f"2020-01-{SECRET}",
        f"https://{SECRET}:{SECRET}@/",
        f"\ud800{SECRET}",
    ],
    ids=ascii,
)
async def test_no_form_of_a_wrong_value_is_shown(field: str, value: Any) -> None:
    assert SECRET not in await told({field: value})


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize("numbered", [{"4111111111111111": "x"}, {"4111111111111111": 1.5}], ids=str)
async def test_a_number_that_the_caller_wrote_as_a_key_is_not_shown_as_a_position(numbered: Any) -> None:
    assert "4111111111111111" not in await told({"numbered": numbered})


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize(
    "arguments", [{"ages": {"a": float("nan")}}, {"ages": {1, 2}}, {1: 2, "a": 3}], ids=["nan", "set", "keys"]
)
async def test_replaced_arguments_that_are_no_json_are_a_validation_error(arguments: Any) -> None:
    await told(arguments)


@pytest.mark.rule("MNT-3")
async def test_arguments_that_nest_past_the_stack_are_a_validation_error() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    await told({"either": deep})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.rule("MNT-3")
@given(arguments=st.dictionaries(st.sampled_from(sorted(Wide.model_fields)) | st.text(max_size=6), json_values))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_a_model_writes_is_validated_or_rejected_and_never_raises_otherwise(arguments: dict[str, Any]) -> None:
    try:
        validated = PydanticInput(Wide).validate(arguments)
    except InputRejectedError as error:
        rejected = error
    else:
        assert isinstance(validated, Wide)
        return
    assert rejected.violations
