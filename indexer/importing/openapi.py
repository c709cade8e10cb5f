"""OpenAPI 3.0, 3.1 and 3.2 documents: an operation is a tool.

Rules kept here:

1. A tool's name is its operationId; without one it is made of method and path: `get_users_id_orders`.
2. Its description is the summary, then the description. Its service is what the file was called, else its first tag.
3. An operation that cannot be read refuses itself and no other one.

Read by hand: openapi-pydantic refuses a whole document for one wrong field, and jsonref (last release 2023-01) expands
references without a bound.

Not read: webhooks, callbacks, answers, security, files beside this one. Not done here: what an operation takes
(`openapi_input.py`), what its schemas say (`openapi_schema.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from indexer.importing.candidate import Found, found, not_an_object
from indexer.importing.drafts import check_dialect
from indexer.importing.openapi_input import Input, input_of
from indexer.importing.openapi_schema import Definitions, from_3_0, from_3_1, resolved
from indexer.importing.schema_walk import SchemaError
from surface.catalog_rules import shown
from surface.errors import CatalogError, Fault
from surface.identity import is_key

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_READING = frozenset({"get", "head", "options", "trace", "query"})
_REPEATABLE = _READING | {"put", "delete"}  # RFC 9110, section 9.2.2
_BASE_DIALECT = "https://spec.openapis.org/oas/3."
_VERSION = re.compile(r"3\.[012](\.[0-9]+)?(-.*)?")
_JOINT = re.compile(r"[^A-Za-z0-9-]+")
_OTHER_THAN_KEY = re.compile(r"[^A-Za-z0-9_.-]+")


def read_openapi(document: dict[str, Any], *, file: str, service: str | None) -> Iterator[Found]:
    """The operations of a document, in its order. Raises `CatalogError` where it is no OpenAPI 3 document."""
    version = document.get("openapi")
    if not isinstance(version, str) or _VERSION.fullmatch(version) is None:
        told = "is Swagger 2.0" if "swagger" in document else "openapi: needs a version 3.0, 3.1 or 3.2, as text"
        raise CatalogError([Fault(where=file, problem=f"{told}; convert the document to OpenAPI 3 first")])
    if "paths" not in document:
        yield Fault(where=file, problem="has no paths, so no operation to take; components and webhooks are none")
        return
    paths = document["paths"]
    if not isinstance(paths, dict):
        raise CatalogError([Fault(where=file, problem="paths: must be an object")])
    old = version.startswith("3.0")
    definitions = Definitions(document=document, convert=from_3_0 if old else from_3_1)
    dialect = None if old else document.get("jsonSchemaDialect")
    for path, written in paths.items():
        if path.startswith("x-"):
            continue
        where = f"{file}: {shown(path)}"
        try:
            item = resolved(document, written)
        except SchemaError as error:
            yield Fault(where=where, problem=str(error))
            continue
        if not isinstance(item, dict):
            yield not_an_object(where)
            continue
        for method in METHODS:
            if method in item:
                place = f"{file}: {method.upper()} {shown(path)}"
                reader = _Operation(path=path, method=method, item=item, where=place)
                yield reader.tool(definitions, service=service, dialect=dialect)


class _Operation:
    """One method of one path."""

    __slots__ = ("_item", "_method", "_path", "_where")

    def __init__(self, *, path: str, method: str, item: dict[str, Any], where: str) -> None:
        self._path, self._method, self._item, self._where = path, method, item, where

    def tool(self, definitions: Definitions, *, service: str | None, dialect: Any) -> Found:
        operation = self._item[self._method]
        if not isinstance(operation, dict):
            return not_an_object(self._where)
        try:
            if dialect is not None and not str(dialect).startswith(_BASE_DIALECT):
                check_dialect(dialect)
            taken = input_of(operation, self._item, definitions)
        except SchemaError as error:
            return Fault(where=self._where, problem=str(error))
        return found(
            where=self._where,
            name=operation.get("operationId", derived_name(self._method, self._path)),
            description=_description(operation, self._item),
            schema=taken.schema,
            service=service if service is not None else _first_tag(operation),
            annotations=self._annotations(operation, taken),
            convert=_as_it_is,
        )

    def _annotations(self, operation: dict[str, Any], taken: Input) -> dict[str, Any]:
        annotations: dict[str, Any] = {"method": self._method.upper(), "path": self._path}
        if taken.arguments:
            annotations["arguments"] = taken.arguments
        if taken.content_type is not None:
            annotations["content_type"] = taken.content_type
        flags = {
            "read_only": self._method in _READING,
            "idempotent": self._method in _REPEATABLE,
            "deprecated": operation.get("deprecated") is True,
        }
        return annotations | {name: True for name, is_set in flags.items() if is_set}


def derived_name(method: str, path: str) -> str:
    """The name of an operation that has none: the words of its method and path."""
    return "_".join([method, *_JOINT.sub(" ", path).split()])


def _description(operation: dict[str, Any], item: dict[str, Any]) -> Any:
    """Summary and description, the summary once where the description holds it."""
    parts: list[str] = []
    for field in ("summary", "description"):
        value = operation.get(field, item.get(field, ""))
        if not isinstance(value, str):
            return value  # refused as a description that is no text
        parts.append(value.strip())
    summary, description = parts
    return description if summary in description else f"{summary}\n\n{description}".strip()


def _first_tag(operation: dict[str, Any]) -> str | None:
    tags = operation.get("tags")
    if not isinstance(tags, list) or not tags or not isinstance(tags[0], str):
        return None
    key = _OTHER_THAN_KEY.sub("_", tags[0]).strip("_")[:64]
    return key if is_key(key) else None


def _as_it_is(schema: dict[str, Any]) -> dict[str, Any]:
    return schema
