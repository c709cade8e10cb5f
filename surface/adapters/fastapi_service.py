"""A service projected from an existing FastAPI application (extra ``fastapi``).

    shop = service_from_fastapi(app, name="shop", headers=lambda call: {"Authorization": call.context.token})

Every operation becomes a contract tool ``<service>_<endpoint function>``; calls go to the application in process over
ASGI, so its own authentication, validation, dependencies and errors apply. Path and query parameters keep their names
and a JSON body is the argument ``body``. Header and cookie parameters are the application's business: `headers` gives
them per call, and the call's idempotency key travels as ``Idempotency-Key``.

Not done here: the application's lifespan is not run (it is the host's), and operations that take anything but JSON
are left out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2
from fastapi import FastAPI
from fastapi.routing import APIRoute

from surface.adapters.json_schema import JsonSchemaInput
from surface.call import CallContext, settle
from surface.errors import ConfigurationError, ToolError
from surface.hooks import Lifecycle
from surface.input_model import InputRejectedError, Violation
from surface.tool import Service, Tool

Headers = Callable[[CallContext], Mapping[str, str] | Awaitable[Mapping[str, str]]]

_READING = ("get", "head")
_REPEATABLE = ("get", "head", "put", "delete")  # RFC 9110, section 9.2.2
_REFERENCE = "#/components/schemas/"
_HOST = "http://application"
_DATA = ("enum", "const", "default", "example", "examples")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    """One operation as the OpenAPI document of the application describes it."""

    action: str
    method: str
    path: str
    described: Mapping[str, Any]

    @property
    def parameters(self) -> list[Mapping[str, Any]]:
        return [item for item in self.described.get("parameters", ()) if item["in"] in ("path", "query")]

    @property
    def body(self) -> Mapping[str, Any] | None:
        """The schema of the JSON body, where the operation takes one."""
        content = self.described.get("requestBody", {}).get("content", {})
        schema: Mapping[str, Any] | None = content.get("application/json", {}).get("schema")
        return schema

    @property
    def takes_json_only(self) -> bool:
        return "requestBody" not in self.described or self.body is not None


def service_from_fastapi(
    app: FastAPI,
    *,
    name: str,
    only: Container[str] | None = None,
    headers: Headers | None = None,
    scope: str | None = None,
    lifecycle: Lifecycle | None = None,
) -> Service:
    """The operations of an application as a service.

    `only` names the endpoint functions to take (None: all that are in the schema). Raises ConfigurationError where
    nothing is left to take.
    """
    document = app.openapi()
    definitions = document.get("components", {}).get("schemas", {})
    client = httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app, raise_app_exceptions=False), base_url=_HOST, follow_redirects=False
    )
    tools = [
        _tool(operation, definitions, client, headers)
        for operation in _operations(app, document)
        if operation.takes_json_only and (only is None or operation.action in only)
    ]
    if not tools:
        raise ConfigurationError(f"service {name}: the application has no operation to take; look at `only`")
    return Service(name=name, tools=tools, scope=scope, lifecycle=lifecycle)


def _operations(app: FastAPI, document: Mapping[str, Any]) -> Iterator[_Operation]:
    for route in app.routes:
        if not isinstance(route, APIRoute) or not route.include_in_schema:
            continue
        for method in sorted(route.methods or ()):
            described = document["paths"].get(route.path_format, {}).get(method.lower())
            if described is not None:
                yield _Operation(
                    action=route.operation_id or route.name,
                    method=method.lower(),
                    path=route.path_format,
                    described=described,
                )


def _tool(
    operation: _Operation, definitions: Mapping[str, Any], client: httpx2.AsyncClient, headers: Headers | None
) -> Tool:
    async def handler(arguments: Mapping[str, Any], call: CallContext) -> Any:
        given = {} if headers is None else await settle(headers(call))
        response = await client.request(
            operation.method.upper(),
            _path(operation, arguments),
            params={
                item["name"]: arguments[item["name"]]
                for item in operation.parameters
                if item["in"] == "query" and arguments.get(item["name"]) is not None
            },
            json=arguments.get("body") if operation.body is not None else None,
            headers={"Idempotency-Key": call.idempotency_key, **given},
        )
        return _read(response)

    described = operation.described
    return Tool(
        name=operation.action,
        description=described.get("description") or described.get("summary") or operation.action,
        input=JsonSchemaInput(_input_schema(operation, definitions)),
        handler=handler,
        read_only=operation.method in _READING,
        idempotent=operation.method in _REPEATABLE,
    )


def _path(operation: _Operation, arguments: Mapping[str, Any]) -> str:
    """The path of a call; a value that could reach another route is refused before the application sees it."""
    path = operation.path
    for item in operation.parameters:
        if item["in"] == "path":
            value = str(arguments[item["name"]])
            if not value or "/" in value or value in (".", ".."):
                raise InputRejectedError([Violation(path=item["name"], problem="must be one path segment, no slash")])
            path = path.replace("{" + item["name"] + "}", quote(value, safe=""))
    return path


def _read(response: httpx2.Response) -> Any:
    """The answer's JSON or text; an application's own refusal becomes a ToolError with its own words."""
    if response.status_code >= 500:
        raise RuntimeError(f"the application answered {response.status_code}")
    is_json = response.headers.get("content-type", "").partition(";")[0].strip().endswith("json")
    value = response.json() if is_json and response.content else response.text
    if response.status_code >= 400:
        detail = value.get("detail") if isinstance(value, Mapping) else None
        raise ToolError(
            f"HTTP_{response.status_code}",
            detail if isinstance(detail, str) else f"The application refused the call ({response.status_code}).",
        )
    return value


def _input_schema(operation: _Operation, definitions: Mapping[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for item in operation.parameters:
        properties[item["name"]] = _localised(item["schema"]) | (
            {"description": item["description"]} if item.get("description") else {}
        )
        if item.get("required"):
            required.append(item["name"])
    if operation.body is not None:
        properties["body"] = _localised(operation.body)
        if operation.described["requestBody"].get("required"):
            required.append("body")
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    reachable = _reachable(schema, definitions)
    return schema | ({"$defs": reachable} if reachable else {})


def _localised(schema: Any) -> Any:
    """A schema whose references point to its own ``$defs``, without the generated titles."""
    if isinstance(schema, list):
        return [_localised(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    local: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            local[key] = {name: _localised(each) for name, each in value.items()}
        elif key == "$ref":
            local[key] = "#/$defs/" + value.removeprefix(_REFERENCE)
        elif key in _DATA:
            local[key] = value
        elif key != "title":
            local[key] = _localised(value)
    return local


def _reachable(schema: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The definitions that a schema refers to, and those that they refer to."""
    found: dict[str, Any] = {}
    queue = [schema]
    for node in queue:
        if isinstance(node, Mapping):
            name = str(node.get("$ref")).removeprefix("#/$defs/")
            if name in definitions and name not in found:
                found[name] = _localised(definitions[name])
                queue.append(found[name])
            queue.extend(node.values())
        elif isinstance(node, list):
            queue.extend(node)
    return found
