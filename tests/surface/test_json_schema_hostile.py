"""Arguments and schemas that made a validator hang or break: each ends in a refusal, in hardly any time (MNT-3).

Times are processor time with a wide margin: what is guarded against took seconds to minutes.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from surface.adapters.json_schema import JsonSchemaInput
from surface.input_model import InputRejectedError

ENOUGH_SECONDS = 1.0


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def accepting(**properties: Any) -> JsonSchemaInput:
    return JsonSchemaInput({"type": "object", "properties": properties})


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize(
    ("model", "arguments"),
    [
        (accepting(word={"pattern": "^(a+)+$"}), {"word": "a" * 5_000 + "!"}),
        (accepting(word={"pattern": "^(?=a)(a+)+$"}), {"word": "a" * 40 + "!"}),
        (accepting(items={"uniqueItems": True}), {"items": [{"at": at} for at in range(3_000)] + [{"at": 0}]}),
        (accepting(share={"multipleOf": 0.1}), {"share": 0.35}),
        (accepting(size={"type": "number"}), {"size": float("nan")}),
        (accepting(size={"type": "number"}), {"size": float("inf")}),
        (accepting(deep={"type": "string"}), {"deep": nested(100_000)}),
    ],
    ids=["catastrophic pattern", "look-around", "unique items", "no multiple", "nan", "infinity", "deep"],
)
def test_hostile_arguments_are_refused_at_once(model: JsonSchemaInput, arguments: Any) -> None:
    started = time.process_time()
    with pytest.raises(InputRejectedError):
        model.validate(arguments)
    assert time.process_time() - started < ENOUGH_SECONDS


@pytest.mark.rule("MNT-3")
def test_a_recursive_schema_bears_deep_arguments() -> None:
    lists = JsonSchemaInput(
        {
            "type": "object",
            "properties": {"list": {"$ref": "#/$defs/list"}},
            "$defs": {"list": {"type": ["array", "integer"], "items": {"$ref": "#/$defs/list"}}},
        }
    )
    assert lists.validate({"list": nested(100)}) == {"list": nested(100)}


@pytest.mark.rule("MNT-3")
def test_an_enormous_number_is_judged_and_does_not_break_the_call() -> None:
    model = accepting(share={"multipleOf": 0.1})
    try:
        model.validate({"share": 10**400})
    except InputRejectedError as error:
        assert "10000" not in str(error)  # noqa: PT017 - either outcome is right; any other exception is not
