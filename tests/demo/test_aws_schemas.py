"""The input schemas of the demo: valid, complete, and as wide as the model they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from demo.aws_operations import AwsOperation
from demo.aws_schemas import InputSchemas
from surface.canonical import canonical_bytes, canonical_json
from tests.demo.schema_pieces import example, shell, subschemas

Catalog = Mapping[str, AwsOperation]


def schema_of(catalog: Catalog, name: str) -> dict[str, Any]:
    return dict(catalog[name].input_schema)


def accepts(schema: Mapping[str, Any], arguments: Any) -> bool:
    return bool(Draft202012Validator(schema).is_valid(arguments))


def test_every_schema_is_valid_json_schema(catalog: Catalog) -> None:
    # A schema is valid if each of its parts is, and the parts repeat: the whole ones would take a quarter of a minute.
    shells = {
        canonical_json(shell(part)): part
        for operation in catalog.values()
        for part in subschemas(operation.input_schema)
    }
    meta_schema = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    assert [text for text in shells if not meta_schema.is_valid(json.loads(text))] == []


@pytest.mark.parametrize("name", ["ec2_run_instances", "dynamodb_put_item", "s3_list_buckets", "ssm_get_inventory"])
def test_whole_schemas_are_valid_json_schema(catalog: Catalog, name: str) -> None:
    Draft202012Validator.check_schema(schema_of(catalog, name))


def test_every_schema_describes_an_object_with_nothing_else_in_it(catalog: Catalog) -> None:
    for operation in catalog.values():
        assert operation.input_schema["type"] == "object", operation.name
        assert operation.input_schema["additionalProperties"] is False, operation.name


def test_every_reference_leads_to_a_definition_and_every_definition_is_needed(catalog: Catalog) -> None:
    for operation in catalog.values():
        parts = list(subschemas(operation.input_schema))
        references = {part["$ref"] for part in parts if "$ref" in part}
        definitions = {f"#/$defs/{name}" for name in operation.input_schema.get("$defs", {})}
        assert references == definitions, operation.name


def test_every_required_property_exists(catalog: Catalog) -> None:
    for operation in catalog.values():
        for part in subschemas(operation.input_schema):
            assert set(part.get("required", ())) <= set(part.get("properties", ())), operation.name


def test_an_operation_without_input_takes_an_empty_object() -> None:
    schema = InputSchemas({}).input_schema(None)
    assert accepts(schema, {})
    assert not accepts(schema, {"a": 1})


def test_a_recursive_value_is_accepted_at_any_depth_and_checked_there(catalog: Catalog) -> None:
    schema = schema_of(catalog, "dynamodb_put_item")
    deep: dict[str, Any] = {"S": "leaf"}
    for _ in range(20):
        deep = {"L": [{"M": {"again": deep}}]}
    assert accepts(schema, {"TableName": "pets", "Item": {"id": deep}})
    wrong = json.loads(json.dumps(deep).replace('{"S": "leaf"}', '{"S": 7}'))
    assert not accepts(schema, {"TableName": "pets", "Item": {"id": wrong}})


def test_only_recursive_structures_are_definitions(catalog: Catalog) -> None:
    defined = {name for operation in catalog.values() for name in operation.input_schema.get("$defs", {})}
    assert defined == {"AttributeValue", "InventoryAggregator", "NodeAggregator", "OpsAggregator"}


def test_descriptions_stand_on_the_first_two_levels_and_are_short(catalog: Catalog) -> None:
    properties = schema_of(catalog, "ec2_run_instances")["properties"]
    mapping = properties["BlockDeviceMappings"]["items"]["properties"]
    assert properties["BlockDeviceMappings"]["description"]
    assert mapping["DeviceName"]["description"]
    assert "description" not in mapping["Ebs"]["properties"]["VolumeSize"]
    lengths = [len(part.get("description", "")) for each in catalog.values() for part in subschemas(each.input_schema)]
    assert max(lengths) <= 160


def test_no_schema_is_too_big_to_show_to_a_model(catalog: Catalog) -> None:
    sizes = {name: len(canonical_bytes(operation.input_schema)) for name, operation in catalog.items()}
    assert max(sizes.values()) < 20_000
    assert sorted(sizes.values())[len(sizes) // 2] < 1_000


def test_an_idempotency_token_is_never_required(catalog: Catalog) -> None:
    schema = schema_of(catalog, "ec2_create_network_insights_path")
    assert "ClientToken" in schema["properties"]
    assert "ClientToken" not in schema["required"]


def test_the_least_arguments_are_accepted(catalog: Catalog) -> None:
    for operation in list(catalog.values())[::10]:
        least = example(operation.input_schema)
        errors = Draft202012Validator(operation.input_schema).iter_errors(least)
        assert [error for error in errors if error.validator != "pattern"] == [], operation.name


def written(**shape: Any) -> dict[str, Any]:
    """The schema of one member that has this shape."""
    shapes = {"In": {"type": "structure", "members": {"x": {"shape": "X"}}}, "Text": {"type": "string"}, "X": shape}
    schema: dict[str, Any] = InputSchemas(shapes).input_schema("In")["properties"]["x"]
    return schema


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ({"type": "string", "min": 1, "max": 8}, {"type": "string", "minLength": 1, "maxLength": 8}),
        ({"type": "string", "min": 0, "max": 2**31 - 1}, {"type": "string"}),
        ({"type": "string", "pattern": "[a-z]+"}, {"type": "string", "pattern": "[a-z]+"}),
        ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "string", "enum": [str(n) for n in range(51)]}, {"type": "string", "examples": ["0", "1", "2"]}),
        ({"type": "integer", "min": 0, "max": 9}, {"type": "integer", "minimum": 0, "maximum": 9}),
        ({"type": "long"}, {"type": "integer"}),
        ({"type": "double"}, {"type": "number"}),
        ({"type": "float"}, {"type": "number"}),
        ({"type": "boolean"}, {"type": "boolean"}),
        ({"type": "timestamp"}, {"type": "string", "format": "date-time"}),
        ({"type": "blob", "max": 10}, {"type": "string", "contentEncoding": "base64"}),
        (
            {"type": "list", "member": {"shape": "Text"}, "min": 1},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ),
        (
            {"type": "map", "key": {"shape": "Text"}, "value": {"shape": "Text"}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        ({"type": "structure", "members": {}, "document": True}, {}),
        (
            {"type": "structure", "members": {"a": {"shape": "Text"}}, "union": True},
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": False,
            },
        ),
        (
            {
                "type": "structure",
                "required": ["new"],
                "members": {"new": {"shape": "Text"}, "old": {"shape": "Text", "deprecated": True}},
            },
            {
                "type": "object",
                "properties": {"new": {"type": "string"}},
                "required": ["new"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_each_kind_of_shape_has_its_schema(shape: dict[str, Any], expected: dict[str, Any]) -> None:
    assert written(**shape) == expected


def test_a_map_with_enumerated_keys_names_them() -> None:
    shapes = {
        "In": {"type": "structure", "members": {"x": {"shape": "X"}}},
        "X": {"type": "map", "key": {"shape": "Key"}, "value": {"shape": "Text"}},
        "Key": {"type": "string", "enum": ["a"]},
        "Text": {"type": "string"},
    }
    assert InputSchemas(shapes).input_schema("In")["properties"]["x"]["propertyNames"] == {"enum": ["a"]}
