"""A service projected from an existing FastAPI application (extra ``fastapi``).

    shop = service_from_fastapi(app, name="shop", headers=lambda call: {"Authorization": call.context.token})

Every operation becomes a contract tool ``<service>_<endpoint function>``; calls go to the application in process over
ASGI, so its own authentication, validation, dependencies and errors apply. Path and query parameters keep their names
and a JSON body is the argument ``body``. Header and cookie parameters are the application's business: `headers` gives
them per call (a ``Host`` too, where the application checks it), and the call's idempotency key travels as
``Idempotency-Key``. A call carries nothing over to the next one: cookies that the application sets are forgotten.
The application sees every call come from its own host, so it must not take that for a proof of who calls.

Not done here: the application's lifespan is not run (it is the host's), and operations that take anything but JSON,
or that another route hides, are left out.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2

try:
    from fastapi import FastAPI
    from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("needs an extra: pip install 'toolsurface[fastapi]'", name=error.name) from error
from starlette.routing import Match
from starlette.types import Message, Receive, Scope, Send

from surface.adapters.json_schema import JsonSchemaInput
from surface.call import CallContext, settle
from surface.errors import ConfigurationError, ToolError
from surface.hooks import Lifecycle
from surface.input_model import InputRejectedError, Violation, property_names, shown_path
from surface.tool import Service, Tool

_log = logging.getLogger("toolsurface")

Headers = Callable[[CallContext], Mapping[str, str] | Awaitable[Mapping[str, str]]]

_READING = ("get", "head")
_REPEATABLE = ("get", "head", "put", "delete")  # RFC 9110, section 9.2.2
_REFERENCE = "#/components/schemas/"
_HOST = "https://application"
_DATA = ("enum", "const", "default", "example", "examples")
_TEXTUAL = ("text/", "application/xml", "application/jsonl", "application/x-ndjson", "application/yaml")
_OURS = ("path", "query", "body")
"""Where the parameters stand that a model gives; headers and cookies are the application's business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    """One operation as the OpenAPI document of the application describes it."""

    action: str
    method: str
    path: str
    described: Mapping[str, Any]
    route: RouteContext
    earlier: Sequence[tuple[str, RouteContext]]
    """The routes that the application tries before this one, each with what its paths begin with."""

    def answers(self, path: str) -> bool:
        """Whether the application would send a request for `path` to this operation, and to no other."""
        scope = {
            "type": "http",
            "method": self.method.upper(),
            "path": path,
            "root_path": "",
            "headers": [(b"host", _HOST.removeprefix("https://").encode("ascii"))],
        }
        return self.route.matches(scope)[0] is Match.FULL and not any(
            path.startswith(beginning) and other.matches(scope)[0] is Match.FULL for beginning, other in self.earlier
        )

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

    `only` names the endpoint functions (or operation ids) to take; None: all that are in the schema. Raises
    ConfigurationError where nothing is left to take, or where an argument's name is taken twice.
    """
    document = app.openapi()
    definitions = document.get("components", {}).get("schemas", {})
    transport = httpx2.ASGITransport(app=_Answering(app))
    tools = [
        _tool(operation, definitions, transport, headers)
        for operation in _operations(app, document)
        if operation.takes_json_only and (only is None or operation.action in only)
    ]
    if not tools:
        raise ConfigurationError(f"service {name}: the application has no operation to take; look at `only`")
    return Service(name=name, tools=tools, scope=scope, lifecycle=lifecycle)


class _Answering:
    """The application, as a client sees it: what fails after the answer is complete does not change the answer.

    An exception before that is raised as it is, so `Hooks.on_error` sees it and no half answer passes for a whole one.
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, complete = 0, False

        async def watched(message: Message) -> None:
            nonlocal status, complete
            status = message.get("status", status)
            complete |= message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            if not complete or status >= 500:
                raise
            _log.error("the application raised %s after its answer", type(error).__name__)


def _operations(app: FastAPI, document: Mapping[str, Any]) -> Iterator[_Operation]:
    earlier: list[tuple[str, RouteContext]] = []
    for route in iter_route_contexts(app.routes):
        before = tuple(earlier)
        earlier.append(((route.path_format or "").partition("{")[0].rstrip("/"), route))
        if not isinstance(route.original_route, APIRoute) or not route.include_in_schema:
            continue
        path = str(route.path_format)
        for method in sorted(route.methods or ()):
            described = document["paths"].get(path, {}).get(method.lower())
            if described is None:
                continue
            operation = _Operation(
                action=route.operation_id or str(route.name),
                method=method.lower(),
                path=path,
                described=described,
                route=route,
                earlier=before,
            )
            if "{" in path or operation.answers(path):
                yield operation


def _tool(
    operation: _Operation,
    definitions: Mapping[str, Any],
    transport: httpx2.ASGITransport,
    headers: Headers | None,
) -> Tool:
    schema = _input_schema(operation, definitions)
    declared = property_names(schema)

    async def handler(arguments: Mapping[str, Any], call: CallContext) -> Any:
        given = {} if headers is None else await settle(headers(call))
        request = _request(operation, arguments, httpx2.Headers({"Idempotency-Key": call.idempotency_key, **given}))
        response = await transport.handle_async_request(request)
        await response.aread()
        return _read(response, declared)

    described = operation.described
    return Tool(
        name=operation.action,
        description=described.get("description") or described.get("summary") or operation.action,
        input=JsonSchemaInput(schema),
        handler=handler,
        read_only=operation.method in _READING,
        idempotent=operation.method in _REPEATABLE,
    )


def _request(operation: _Operation, arguments: Mapping[str, Any], headers: httpx2.Headers) -> httpx2.Request:
    path = _path(operation, arguments)
    try:
        request = httpx2.Request(
            operation.method.upper(),
            _HOST + path,
            params={
                item["name"]: arguments[item["name"]]
                for item in operation.parameters
                if item["in"] == "query" and arguments.get(item["name"]) is not None
            },
            json=arguments.get("body") if operation.body is not None else None,
            headers=headers,
        )
    except UnicodeEncodeError:
        raise InputRejectedError([Violation(path="", problem="must be valid Unicode (no lone surrogate)")]) from None
    if "{" in operation.path and not operation.answers(request.url.path):
        names = [item["name"] for item in operation.parameters if item["in"] == "path"]
        raise InputRejectedError(
            [Violation(path=name, problem="has a value that this operation cannot take") for name in names]
        )
    return request


def _path(operation: _Operation, arguments: Mapping[str, Any]) -> str:
    """The path of a call. A value of more than one segment is refused; one that reaches another route is, later."""
    path = operation.path
    for item in operation.parameters:
        if item["in"] == "path":
            value = str(arguments[item["name"]])
            if not value or "/" in value or value in (".", ".."):
                raise InputRejectedError([Violation(path=item["name"], problem="must be one path segment, no slash")])
            try:
                path = path.replace("{" + item["name"] + "}", quote(value, safe=""))
            except UnicodeEncodeError:
                raise InputRejectedError([Violation(path=item["name"], problem="must be valid Unicode")]) from None
    return path


def _read(response: httpx2.Response, declared: frozenset[str]) -> Any:
    """The answer's JSON or text; an application's own refusal becomes a ToolError with its own words."""
    status = response.status_code
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = bool(response.content) and (media_type == "application/json" or media_type.endswith("+json"))
    if status >= 500:
        raise RuntimeError(f"the application answered {status}")
    if status >= 300:
        raise _refusal(status, response.json() if is_json else None, declared)
    if is_json:
        return response.json()
    if response.content and media_type and not media_type.startswith(_TEXTUAL):
        raise ToolError("UNSUPPORTED_CONTENT", f"The application answered with {media_type}: neither JSON nor text.")
    return response.text


def _refusal(status: int, value: Any, declared: frozenset[str]) -> Exception:
    """What a status from 300 to 499 means to the model; never the value that was refused."""
    if status < 400:
        return ToolError(f"HTTP_{status}", "The application answered with a redirect, which is not followed.")
    detail = value.get("detail") if isinstance(value, Mapping) else None
    if status == 422 and isinstance(detail, list):
        # The application's own check of its parameters; a path in it begins with where the parameter stands.
        paths = [item.get("loc") for item in detail if isinstance(item, Mapping)]
        shown = [path[1:] if path[0] in ("path", "query") else path for path in paths if path and path[0] in _OURS]
        if shown:
            problem = "is not valid for the application"
            return InputRejectedError(Violation(path=shown_path(path, declared), problem=problem) for path in shown)
    return ToolError(
        f"HTTP_{status}",
        detail if isinstance(detail, str) else f"The application refused the call ({status}).",
    )


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
        if "body" in properties:
            raise ConfigurationError(f"{operation.action}: a parameter named body stands beside a body; rename it")
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
            local[key] = _local(value)
        elif key == "discriminator" and isinstance(value, Mapping) and "mapping" in value:
            local[key] = {**value, "mapping": {name: _local(each) for name, each in value["mapping"].items()}}
        elif key in _DATA:
            local[key] = value
        elif key != "title":
            local[key] = _localised(value)
    return local


def _local(reference: str) -> str:
    return "#/$defs/" + reference.removeprefix(_REFERENCE)


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
