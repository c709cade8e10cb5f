"""A service projected from a FastAPI application: which operations become tools, and what a model reads of them."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from fastapi import (
    APIRouter,
    Body,
    FastAPI,
    Request,
)
from jsonschema import Draft202012Validator

from surface import (
    CatalogError,
    ConfigurationError,
    Lifecycle,
    Service,
    Tool,
    build_tool_manifest,
)
from surface.adapters.fastapi_service import service_from_fastapi
from tests.surface.web_applications import Order, answering, shop


def the_tool(service: Service, name: str) -> Tool:
    (found,) = [each for each in service.tools if each.name == name]
    return found


def schema_of(service: Service, name: str) -> dict[str, Any]:
    return dict(the_tool(service, name).input.json_schema)


SHOP = service_from_fastapi(shop, name="shop")


def test_every_operation_becomes_a_contract_tool_of_the_service() -> None:
    names = [entry.name for entry in build_tool_manifest([SHOP])]
    assert names == [
        "shop_change_order",
        "shop_delete_order",
        "shop_export_items",
        "shop_get_item",
        "shop_list_items",
        "shop_place_order",
        "shop_replace_order",
    ]
    assert {made.service for made in SHOP.operations()} == {"shop"}
    assert the_tool(SHOP, "export_items").description == "Everything, for the backup."
    assert the_tool(SHOP, "place_order").description == "Places an order."


def test_the_operations_of_included_routers_are_taken_with_their_prefix_and_their_dependencies() -> None:
    inner, outer, app = APIRouter(prefix="/inner"), APIRouter(prefix="/outer"), FastAPI()

    @inner.get("/{name}")
    def greet(name: str) -> str:
        return f"Hello {name}"

    outer.include_router(inner)
    app.include_router(outer, prefix="/v1")
    service = service_from_fastapi(app, name="api")
    assert [each.name for each in service.tools] == ["greet"]


def test_methods_say_which_operations_only_read_and_which_may_run_again() -> None:
    flags = {each.name: (each.read_only, each.idempotent) for each in SHOP.tools}
    assert flags == {
        "get_item": (True, True),
        "export_items": (True, True),
        "list_items": (True, True),
        "replace_order": (False, True),
        "delete_order": (False, True),
        "place_order": (False, False),
        "change_order": (False, False),
    }


@pytest.mark.rule("CAT-7")
def test_schemas_are_valid_hold_every_definition_they_refer_to_and_no_other() -> None:
    def references(node: Any) -> set[str]:
        if isinstance(node, dict):
            own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
            mapped = set((node.get("discriminator") or {}).get("mapping", {}).values())
            return own.union(mapped, *(references(each) for each in node.values()))
        return set().union(*(references(each) for each in node)) if isinstance(node, list) else set()

    for each in SHOP.tools:
        schema = dict(each.input.json_schema)
        Draft202012Validator.check_schema(schema)
        assert references(schema) == {f"#/$defs/{name}" for name in schema.get("$defs", {})}, each.name
    assert set(schema_of(SHOP, "place_order")["$defs"]) == {"Order-Input", "Line-Input", "Card", "Cash"}


def test_generated_titles_are_left_out_and_a_field_called_title_is_not() -> None:
    schema = schema_of(SHOP, "place_order")
    assert schema["$defs"]["Order-Input"]["properties"]["title"] == {"type": "string"}
    assert "title" not in schema["$defs"]["Order-Input"]


def test_parameters_keep_names_descriptions_defaults_and_constraints() -> None:
    assert schema_of(SHOP, "list_items") == {
        "type": "object",
        "properties": {
            "tag": {"type": "array", "items": {"type": "string"}, "description": "Any of these."},
            "max-items": {"type": "integer", "minimum": 1, "default": 10},
            "exact": {"type": "boolean", "default": False},
        },
        "additionalProperties": False,
    }
    assert schema_of(SHOP, "replace_order")["required"] == ["number", "body"]


def test_an_operation_that_another_route_hides_is_left_out() -> None:
    app = FastAPI()

    @app.get("/items/{item_id}")
    def get_item(item_id: str) -> str:
        return item_id

    @app.get("/items/export")
    def export_items() -> str:
        return "everything"

    assert [each.name for each in service_from_fastapi(app, name="shop").tools] == ["get_item"]


def test_operations_that_take_anything_but_json_or_are_not_in_the_schema_are_left_out() -> None:
    app = FastAPI()

    @app.post("/upload")
    def upload(data: Annotated[bytes, Body(media_type="application/octet-stream")]) -> int:
        return len(data)

    @app.post("/form", openapi_extra={"requestBody": {"content": {"multipart/form-data": {"schema": {}}}}})
    async def form(request: Request) -> None: ...

    @app.post("/urlencoded")
    def urlencoded(data: Annotated[str, Body(media_type="application/x-www-form-urlencoded")]) -> None: ...

    @app.get("/internal", include_in_schema=False)
    def internal() -> None: ...

    @app.get("/kept")
    def kept() -> None: ...

    assert [each.name for each in service_from_fastapi(app, name="api").tools] == ["kept"]
    with pytest.raises(ConfigurationError, match=r"service api: .*look at `only`"):
        service_from_fastapi(app, name="api", only=["upload"])


@pytest.mark.rule("CAT-2")
def test_two_endpoints_of_one_name_are_reported_by_the_catalog() -> None:
    app = FastAPI()
    app.get("/a")(same_name)
    app.get("/b")(same_name)
    with pytest.raises(CatalogError, match="api_same_name: 2 tools have this name"):
        build_tool_manifest([service_from_fastapi(app, name="api")])


def same_name() -> None: ...


def test_an_operation_id_names_its_tool() -> None:
    app = FastAPI()
    app.get("/a", operation_id="list_a")(same_name)
    app.get("/b", operation_id="list_b")(same_name)
    assert [each.name for each in service_from_fastapi(app, name="api", only=["list_b"]).tools] == ["list_b"]


def test_a_parameter_called_body_beside_a_body_is_refused_by_name() -> None:
    app = FastAPI()

    @app.post("/mail")
    def send(order: Order, body: str) -> None: ...

    with pytest.raises(ConfigurationError, match="send: a parameter named body"):
        service_from_fastapi(app, name="api")


def test_the_application_s_own_document_is_as_it_was() -> None:
    app = FastAPI()
    app.get("/a")(same_name)
    service_from_fastapi(app, name="api")
    assert set(app.openapi()["paths"]) == {"/a"}

    @app.get("/later")
    def later() -> None: ...

    assert "/later" in app.openapi()["paths"]


def test_scope_and_lifecycle_are_the_service_s() -> None:
    lifecycle = Lifecycle()
    service = service_from_fastapi(shop, name="shop", scope="orders", lifecycle=lifecycle)
    assert {(made.scope, made.lifecycle) for made in service.operations()} == {("orders", lifecycle)}


def test_a_name_the_model_could_not_call_is_reported_by_the_catalog() -> None:
    app = FastAPI()
    app.get("/a", name="not a name")(same_name)
    with pytest.raises(CatalogError, match="not a name"):
        build_tool_manifest([service_from_fastapi(app, name="api")])


ANSWERING = service_from_fastapi(answering, name="api")


def test_header_and_cookie_parameters_are_no_arguments() -> None:
    assert schema_of(ANSWERING, "needs_header")["properties"] == {}
    assert schema_of(ANSWERING, "whoami")["properties"] == {}
