"""OpenAPI documents: an operation is a tool, its parameters and its body are one input schema."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from indexer.catalog_file import CatalogTool
from surface.errors import CatalogError
from tests.indexer.importing.samples import body, imported, openapi, operation, parameter, refusals, source, taken


def only(document: Any, **options: Any) -> CatalogTool:
    (tool,) = taken(document, **options).values()
    return tool


def accepts(tool: CatalogTool, arguments: Any) -> bool:
    jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    return jsonschema.Draft202012Validator(tool.input_schema).is_valid(arguments)


def test_parameters_of_every_place_and_the_fields_of_a_body_are_one_object() -> None:
    item = {
        "parameters": [parameter("shop", "path", required=True), parameter("limit", description="Of all.")],
        "post": operation(
            parameters=[
                parameter("limit", schema={"type": "integer"}, description="How many."),
                parameter("X-Trace", "header"),
                parameter("session", "cookie", required=True),
                parameter("Authorization", "header"),
            ],
            **body({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}),
        ),
    }
    tool = only(openapi({"/{shop}/orders": item}))
    assert list(tool.input_schema["properties"]) == ["shop", "limit", "X-Trace", "session", "title"]
    assert tool.input_schema["required"] == ["shop", "session", "title"]
    assert tool.input_schema["properties"]["limit"] == {"type": "integer", "description": "How many."}
    assert accepts(tool, {"shop": "a", "session": "s", "title": "t", "limit": 3})
    assert not accepts(tool, {"shop": "a", "session": "s", "title": "t", "other": 3})
    assert tool.annotations == {
        "method": "POST",
        "path": "/{shop}/orders",
        "content_type": "application/json",
        "arguments": {
            "shop": {"in": "path", "name": "shop"},
            "limit": {"in": "query", "name": "limit"},
            "X-Trace": {"in": "header", "name": "X-Trace"},
            "session": {"in": "cookie", "name": "session"},
            "title": {"in": "body", "name": "title"},
        },
    }


def test_a_name_in_several_places_says_its_place_in_each_of_them() -> None:
    tool = only(
        openapi(
            {
                "/{id}": {
                    "put": operation(
                        parameters=[parameter("id", "path"), parameter("id"), parameter("body")],
                        **body({"type": "object", "properties": {"id": {"type": "integer"}, "x": {}}}),
                    )
                }
            }
        )
    )
    assert list(tool.input_schema["properties"]) == ["id_in_path", "id_in_query", "body", "id_in_body", "x"]
    assert tool.annotations is not None
    assert tool.annotations["arguments"]["id_in_body"] == {"in": "body", "name": "id"}


def test_names_that_still_meet_refuse_the_operation() -> None:
    named = [parameter("id", "path"), parameter("id"), parameter("id_in_path", "header")]
    assert refusals(openapi({"/{id}": {"get": operation(parameters=named)}})) == [
        "tools.json: GET /{id}: two arguments would be called id_in_path; rename a parameter"
    ]


@pytest.mark.parametrize(
    ("schema", "required"),
    [
        ({"type": "array", "items": {"type": "string"}}, True),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, False),  # comes or goes as a whole
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}}, True),
        ({"type": "object", "properties": {"a": {}}, "minProperties": 1}, True),
        ({"type": "object", "properties": {"a": {}}, "required": ["b"]}, True),
        ({"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "null"}]}, True),
        ({}, True),
    ],
)
def test_a_body_that_is_no_plain_object_is_one_argument(schema: Any, required: bool) -> None:  # noqa: FBT001
    tool = only(openapi({"/": {"post": operation(**body(schema, required=required))}}))
    assert tool.input_schema["properties"] == {"body": schema}
    assert tool.input_schema.get("required", []) == (["body"] if required else [])
    assert tool.annotations is not None
    assert tool.annotations["arguments"] == {"body": {"in": "body"}}


def test_json_is_taken_before_forms_and_what_is_neither_is_text() -> None:
    whole = {"type": "object", "properties": {"a": {}}}
    content = {"text/csv": {}, "multipart/form-data": {"schema": {}}, "application/vnd.api+json": {"schema": whole}}
    both = operation(requestBody={"content": content})
    assert list(only(openapi({"/": {"post": both}})).input_schema["properties"]) == ["a"]
    csv = only(openapi({"/": {"post": operation(requestBody={"content": {"text/csv": {"schema": {}}}})}}))
    assert csv.input_schema["properties"] == {"body": {"type": "string", "contentMediaType": "text/csv"}}


def test_references_are_followed_and_a_recursive_schema_stays_finite() -> None:
    schemas = {
        "Order": {"type": "object", "properties": {"root": {"$ref": "#/components/schemas/Node"}}},
        "Node": {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}},
        },
        "Unused": {"type": "string"},
    }
    document = openapi(
        {"/": {"$ref": "#/components/pathItems/P"}},
        components={
            "schemas": schemas,
            "pathItems": {"P": {"post": operation(requestBody={"$ref": "#/components/requestBodies/B"})}},
            "requestBodies": {
                "B": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}}
            },
        },
    )
    tool = only(document)
    assert list(tool.input_schema["$defs"]) == ["Node"]
    assert accepts(tool, {"root": {"children": [{"children": []}]}})
    assert not accepts(tool, {"root": {"children": [{"children": [7]}]}})


def test_definitions_of_one_name_in_two_places_stay_two() -> None:
    document = openapi(
        {
            "/": {
                "get": operation(
                    parameters=[
                        parameter("a", schema={"$ref": "#/components/schemas/Id"}),
                        parameter("b", schema={"$ref": "#/x-shared/Id"}),
                        parameter("c", schema={"$ref": "#/components/schemas/~1odd%20name~0"}),
                    ]
                )
            }
        },
        schemas={"Id": {"type": "integer"}, "/odd name~": {"type": "boolean"}},
    ) | {"x-shared": {"Id": {"type": "string"}}}
    tool = only(document)
    assert tool.input_schema["$defs"]["Id"] == {"type": "integer"}
    assert tool.input_schema["$defs"]["Id_2"] == {"type": "string"}
    assert accepts(tool, {"a": 1, "b": "x", "c": True})
    assert not accepts(tool, {"a": "x"}) and not accepts(tool, {"c": 1})  # noqa: PT018


def test_a_bomb_of_references_costs_what_it_weighs() -> None:
    levels = 40
    schemas: dict[str, Any] = {
        f"L{n}": {"type": "object", "properties": {p: {"$ref": f"#/components/schemas/L{n + 1}"} for p in "abcdefgh"}}
        for n in range(levels)
    } | {f"L{levels}": {"type": "string"}}
    tool = only(openapi({"/": {"post": operation(**body({"$ref": "#/components/schemas/L0"}))}}, schemas=schemas))
    assert len(tool.input_schema["$defs"]) == levels


def test_a_tool_whose_schema_weighs_too_much_is_refused_alone() -> None:
    schemas = {f"S{n}": {"description": "x" * 1000, "$ref": f"#/components/schemas/S{n + 1}"} for n in range(2000)}
    schemas["S2000"] = {}
    heavy = operation(parameters=[parameter("a", schema={"$ref": "#/components/schemas/S0"})])
    read = imported(openapi({"/": {"get": heavy, "post": operation("light")}}, schemas=schemas))
    assert read.taken == 1
    assert [str(fault) for fault in read.refused] == [
        "tools.json: GET /: the input schema weighs more than 1048576 bytes"
    ]


CIRCLE = {"A": {"$ref": "#/components/parameters/B"}, "B": {"$ref": "#/components/parameters/A"}}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"parameters": [parameter("a", schema={"$ref": "#/components/schemas/None"})]}, "is not in the file"),
        ({"parameters": [parameter("a", schema={"$ref": "other.yaml#/A"})]}, "leads out of the file"),
        ({"parameters": [parameter("a", schema={"$ref": "https://example.com/a.json"})]}, "leads out of the file"),
        ({"parameters": [{"$ref": "#/components/parameters/A"}]}, "in a circle"),
        ({"parameters": [parameter("a", schema={"type": "no type"})]}, "is no valid JSON Schema"),
        ({"parameters": [parameter("a", schema={"$schema": "https://example.com/own"})]}, "names no draft"),
        ({"parameters": [parameter("a", schema={"pattern": "("})]}, "is no valid JSON Schema"),
        ({"parameters": [parameter("a", "matrix")]}, "in: must be one of"),
        ({"parameters": [{"in": "query"}]}, "name: must be text"),
        ({"parameters": {}}, "parameters: must be a list"),
        ({"requestBody": {"content": {}}}, "requestBody: must be"),
        ({"operationId": 7}, "name: must be text"),
        ({"operationId": "a b"}, "the name must match"),
        ({"description": ["x"]}, "description: must be text"),
    ],
)
def test_what_is_wrong_with_one_operation_refuses_that_one(given: dict[str, Any], told: str) -> None:
    document = openapi(
        {"/a": {"get": operation() | given}, "/b": {"get": operation("other")}},
        components={"parameters": CIRCLE, "schemas": {}},
    )
    read = imported(document)
    assert [tool.name for tool in read.catalog.surfaces["clerk"].tools] == ["other"]
    (fault,) = read.refused
    assert fault.where.startswith("tools.json: GET /a")
    assert told in fault.problem


def test_a_dialect_of_the_whole_document_is_told_for_each_operation() -> None:
    paths = {"/a": {"get": operation("a")}, "/b": {"get": operation("b")}}
    told = refusals(openapi(paths, jsonSchemaDialect="https://example.com/own"))
    assert [one.partition(": $schema names no draft")[0] for one in told] == [
        "tools.json: GET /a",
        "tools.json: GET /b",
    ]
    assert len(taken(openapi(paths, jsonSchemaDialect="https://spec.openapis.org/oas/3.1/dialect/base"))) == 2


def test_the_schemas_of_3_0_mean_the_same_in_draft_2020_12() -> None:
    schema = {
        "type": "object",
        "required": ["n"],
        "properties": {
            "n": {"type": "integer", "minimum": 0, "exclusiveMinimum": True, "example": 5},
            "s": {"type": "string", "nullable": True, "enum": ["a"], "xml": {"name": "s"}, "x-order": 1},
            "o": {"allOf": [{"$ref": "#/components/schemas/O"}], "nullable": True},
            "p": {"$ref": "#/components/schemas/O", "nullable": True},
        },
    }
    document = openapi(
        {"/": {"post": operation(**body(schema))}}, openapi="3.0.3", schemas={"O": {"type": "object", "properties": {}}}
    )
    tool = only(document)
    assert tool.input_schema["properties"]["n"] == {"type": "integer", "exclusiveMinimum": 0, "examples": [5]}
    assert tool.input_schema["properties"]["s"] == {"type": ["string", "null"], "enum": ["a", None]}
    assert accepts(tool, {"n": 1, "s": None, "o": None})
    assert not accepts(tool, {"n": 0})
    assert not accepts(tool, {"n": 1, "p": None})  # beside a reference 3.0 reads nothing


def test_properties_that_only_answers_carry_are_left_out() -> None:
    item = {"type": "object", "required": ["id", "x"], "properties": {"id": {"readOnly": True}, "x": {}}}
    schema = {"type": "object", "properties": {"made": {"readOnly": True}, "items": {"type": "array", "items": item}}}
    tool = only(openapi({"/": {"post": operation(**body(schema))}}))
    assert tool.input_schema["properties"] == {
        "items": {"type": "array", "items": {"type": "object", "required": ["x"], "properties": {"x": {}}}}
    }


def test_an_operation_without_an_id_is_named_by_method_and_path() -> None:
    unnamed = {"summary": "Lists."}
    paths = {"/users/{user-id}/orders": {"get": unnamed}, "/": {"get": unnamed}}
    assert list(taken(openapi(paths))) == ["get", "get_users_user-id_orders"]


@pytest.mark.parametrize(
    ("summary", "description", "told"),
    [
        ("Lists.", "All of them.", "Lists.\n\nAll of them."),
        ("Lists", "Lists all of them.", "Lists all of them."),
        ("Lists.", None, "Lists."),
        (None, "All.", "All."),
        (None, None, ""),
    ],
)
def test_the_description_is_the_summary_and_the_description(summary: Any, description: Any, told: str) -> None:
    given = {key: value for key, value in (("summary", summary), ("description", description)) if value is not None}
    assert only(openapi({"/": {"get": {"operationId": "a", **given}}})).description == told


def test_the_service_is_what_the_file_was_called_else_the_first_tag() -> None:
    document = openapi({"/": {"get": operation(tags=["User accounts", "b"])}})
    assert only(document).service == "User_accounts"
    assert only(source(document, service="crm")).service == "crm"
    for tags in ([], ["…"], "text", [7]):
        assert only(openapi({"/": {"get": operation(tags=tags)}})).service is None


def test_the_method_says_what_may_be_repeated() -> None:
    item = {method: operation(method) for method in ("get", "put", "post", "delete")}
    tools = taken(openapi({"/": item | {"x-internal": True, "servers": []}, "x-other": 1}))
    flags = {name: sorted((tool.annotations or {}).keys() - {"method", "path"}) for name, tool in tools.items()}
    assert flags == {"get": ["idempotent", "read_only"], "put": ["idempotent"], "delete": ["idempotent"], "post": []}


def test_yaml_and_json_give_the_same_catalog() -> None:
    written = b"""
openapi: 3.0.3
info: {title: t, version: '1'}
paths:
  /on/{id}:
    get:
      operationId: read
      parameters:
        - {name: id, in: path, required: true, schema: {type: string, enum: [on, no, 2024-01-01]}}
      responses: {200: {description: ok}}
"""
    tool = only(source(written, "api.yaml"))
    assert tool.input_schema["properties"]["id"]["enum"] == ["on", "no", "2024-01-01"]


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"swagger": "2.0", "paths": {}}, "is Swagger 2.0; convert"),
        ({"openapi": 3.1, "paths": {}}, "openapi: needs a version 3.0, 3.1 or 3.2"),
        ({"openapi": "4.0.0"}, "openapi: needs a version"),
        ({"openapi": "3.1.0", "paths": []}, "paths: must be an object"),
    ],
)
def test_what_is_no_openapi_3_document_ends_the_import(document: Any, told: str) -> None:
    with pytest.raises(CatalogError, match=told):
        imported(document)


def test_a_description_without_paths_says_why_nothing_is_taken() -> None:
    for document in ({"openapi": "3.1.0", "webhooks": {}}, {"openapi": "3.0.3", "components": {}}):
        (told,) = refusals(document)
        assert "has no paths, so no operation to take" in str(told)
