"""Errors, observers, names and arguments of hostile kinds: none of them costs a turn its answers or its time."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from surface import Refused, Tool, ToolError, TranscriptError
from surface.adapters.json_schema import JsonSchemaInput
from surface.input_model import InputRejectedError, PydanticInput
from surface.transcript import Call, TranscriptBuilder
from tests.surface.one_call import answer_of

ANY = JsonSchemaInput({"type": "object"})


class ForgetfulError(ToolError):
    def __init__(self) -> None:
        """Forgets to tell its parent."""


class Forgetful(Refused):
    def __init__(self) -> None:
        """Forgets to tell its parent."""


class LyingError(ToolError):
    @property
    def message(self) -> str:  # type: ignore[override]
        raise RuntimeError("a secret")

    def __init__(self) -> None:
        self.code = "NOT_FOUND"


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize(
    ("raised", "outcome"),
    [(ForgetfulError(), "TOOL_ERROR"), (Forgetful(), "REFUSED"), (LyingError(), "NOT_FOUND")],
    ids=["tool error", "refusal", "lying property"],
)
async def test_an_error_that_forgot_its_fields_still_answers_the_call(raised: Exception, outcome: str) -> None:
    def handler(value: Any, call: Any) -> None:
        raise raised

    assert (await answer_of(Tool(name="pay", description="Pays.", input=ANY, handler=handler), {})).outcome == outcome


@pytest.mark.rule("EVD-3")
@pytest.mark.parametrize("raised", [asyncio.CancelledError(), SystemExit(3)])
async def test_an_observer_that_raises_more_than_an_exception_changes_nothing(raised: BaseException) -> None:
    def observe(event: Any) -> None:
        raise raised

    tool = Tool(name="pay", description="Pays.", input=ANY, handler=lambda value, call: "paid")
    assert (await answer_of(tool, {}, observer=observe)).outcome == "ok"


class Lying(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("help")


@pytest.mark.rule("REP-2")
@pytest.mark.parametrize(("id_", "name"), [("c", Lying("hidden")), (Lying("c"), "hidden")])
def test_a_name_that_compares_as_it_likes_is_refused(id_: str, name: str) -> None:
    with pytest.raises(TranscriptError, match="plain text"):
        TranscriptBuilder().assistant([Call(id=id_, name=name, arguments={})])


@pytest.mark.rule("MNT-3")
def test_a_recursive_union_of_a_schema_is_refused_at_once_however_deep_the_arguments_nest() -> None:
    def branch(op: str) -> dict[str, Any]:
        sides = {"left": {"$ref": "#/$defs/expression"}, "right": {"type": "integer"}, "op": {"const": op}}
        return {"type": "object", "properties": sides, "required": ["left", "right", "op"]}

    model = JsonSchemaInput(
        {
            "type": "object",
            "properties": {"e": {"$ref": "#/$defs/expression"}},
            "$defs": {"expression": {"anyOf": [branch("add"), branch("mul"), {"type": "integer"}]}},
        }
    )
    value: Any = "no number"
    for _ in range(24):
        value = {"op": "add", "left": value, "right": 1}
    started = time.process_time()
    with pytest.raises(InputRejectedError, match="match none of the forms"):
        model.validate({"e": value})
    assert time.process_time() - started < 1.0


class Add(BaseModel):
    op: Literal["add"]
    left: Add | Mul | int
    right: int


class Mul(BaseModel):
    op: Literal["mul"]
    left: Add | Mul | int
    right: int


class Expression(BaseModel):
    e: Add | Mul | int


def nested(levels: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(levels):
        value = {"op": "add", "left": value, "right": 1}
    return {"e": value}


@pytest.mark.rule("MNT-3")
def test_a_union_of_models_without_a_discriminator_bears_some_depth_and_refuses_more_at_once() -> None:
    model = PydanticInput(Expression)
    assert model.validate(nested(6)) == Expression.model_validate(nested(6))
    started = time.process_time()
    with pytest.raises(InputRejectedError, match="nest deeper than 10 levels"):
        model.validate(nested(30))
    assert time.process_time() - started < 1.0


class Node(BaseModel):
    child: Node | None = None


@pytest.mark.rule("CAT-7", "MNT-3")
def test_a_recursive_model_that_is_no_union_may_nest_as_deep_as_it_likes() -> None:
    value: dict[str, Any] = {}
    for _ in range(60):
        value = {"child": value}
    assert isinstance(PydanticInput(Node).validate(value), Node)
