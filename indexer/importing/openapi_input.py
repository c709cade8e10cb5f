"""The parameters and the body of one operation → one input schema, and the way back from its arguments to a request.

Rules kept here:

1. Arguments are the parameters by their own names, then the fields of a body that is a plain object; any other body is
   the one argument `body`. Fields of an optional body that has required ones stay together, for they come or go
   together.
2. A name that stands in two places (an `id` in the path and in the query) is `id_in_path` and `id_in_query`, both.
3. The operation's own parameter replaces the one of its path with the same name and place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from indexer.importing.openapi_schema import Definitions, Schema, look_up, resolved
from indexer.importing.schema_walk import SchemaError
from surface.catalog_rules import shown

PLACES = ("path", "query", "header", "cookie")
_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})
"""OpenAPI: a header parameter of these names is to be ignored."""
_PLAIN_OBJECT = frozenset(
    "type properties required title description additionalProperties example examples xml externalDocs".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What an operation takes."""

    schema: Schema
    arguments: dict[str, dict[str, str]]
    """By argument: `in` (path, query, header, cookie, body) and `name`; no name means the whole body."""
    content_type: str | None
    """Of the body, where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    place: str
    name: str | None
    """None for the whole body."""
    schema: Any
    required: bool
    description: str | None = None


def input_of(operation: dict[str, Any], item: dict[str, Any], definitions: Definitions) -> Input:
    """The input of one operation of a path item. Raises `SchemaError`."""
    fields = [*_parameters(operation, item, definitions.document)]
    content_type, body = _body(operation, definitions.document)
    fields.extend(body)
    names = _names(fields)
    properties: dict[str, Any] = {}
    reached: dict[str, None] = {}
    for name, one in zip(names, fields, strict=True):
        schema, reaches = definitions.converted(one.schema)
        properties[name] = _described(schema, one.description)
        reached |= dict.fromkeys(reaches)
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [name for name, one in zip(names, fields, strict=True) if one.required]
    if required:
        schema["required"] = required
    if reached:
        schema["$defs"] = definitions.closure(reached)
    arguments = {
        name: {"in": one.place} | ({"name": one.name} if one.name is not None else {})
        for name, one in zip(names, fields, strict=True)
    }
    return Input(schema=schema, arguments=arguments, content_type=content_type)


def _parameters(operation: dict[str, Any], item: dict[str, Any], document: Any) -> list[_Field]:
    found: dict[tuple[str, str], _Field] = {}
    for holder in (item, operation):
        listed = holder.get("parameters", [])
        if not isinstance(listed, list):
            raise SchemaError("parameters: must be a list")
        for at, value in enumerate(listed):
            one = _parameter(resolved(document, value), at)
            if one is not None and one.name is not None:
                found[one.place, one.name] = one
    return sorted(found.values(), key=lambda one: PLACES.index(one.place))


def _parameter(value: Any, at: int) -> _Field | None:
    if not isinstance(value, dict):
        raise SchemaError(f"parameters[{at}]: must be an object")
    name, place = value.get("name"), value.get("in")
    if not isinstance(name, str) or not name:
        raise SchemaError(f"parameters[{at}]: name: must be text")
    if place not in PLACES:
        raise SchemaError(f"parameter {shown(name)}: in: must be one of {', '.join(PLACES)}")
    if place == "header" and name.lower() in _IGNORED_HEADERS:
        return None
    schema = value.get("schema")
    if schema is None and isinstance(value.get("content"), dict):
        media = next(iter(value["content"].values()), None)
        schema = media.get("schema") if isinstance(media, dict) else None
    described = value.get("description")
    return _Field(
        place=place,
        name=name,
        schema={} if schema is None else schema,
        required=place == "path" or value.get("required") is True,
        description=described if isinstance(described, str) and described else None,
    )


def _body(operation: dict[str, Any], document: Any) -> tuple[str | None, list[_Field]]:
    body = resolved(document, operation.get("requestBody"))
    if body is None:
        return None, []
    if not isinstance(body, dict) or not isinstance(body.get("content"), dict) or not body["content"]:
        raise SchemaError("requestBody: must be an object with a content of at least one type")
    content: dict[str, Any] = body["content"]
    content_type = min(content, key=_preference)
    media = content[content_type]
    required = body.get("required") is True
    if _preference(content_type) == _OTHER:
        whole = {"type": "string", "contentMediaType": content_type}
        return content_type, [_Field(place="body", name=None, schema=whole, required=required)]
    schema = media.get("schema", {}) if isinstance(media, dict) else {}
    fields = list(_fields(schema, required=required, document=document))
    return content_type, fields or [_Field(place="body", name=None, schema=schema, required=required)]


_OTHER = 3


def _preference(content_type: str) -> int:
    """JSON before forms before anything else; among equals the first that the author wrote."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in ("application/json", "*/*", "application/*"):
        return 0
    if kind.endswith("+json"):
        return 1
    return 2 if kind in ("application/x-www-form-urlencoded", "multipart/form-data") else _OTHER


def _fields(schema: Any, *, required: bool, document: Any) -> Iterator[_Field]:
    """The fields of a body that is nothing but an object with these fields; none for any other body."""
    target = look_up(document, schema["$ref"]) if isinstance(schema, dict) and "$ref" in schema else schema
    if not isinstance(target, dict) or not isinstance(target.get("properties"), dict):
        return
    needed = target.get("required", [])
    if (
        target.get("type") != "object"
        or not _PLAIN_OBJECT.issuperset(key for key in target if not key.startswith("x-"))
        or target.get("additionalProperties", False) is not False
        or not isinstance(needed, list)
        or not all(isinstance(name, str) and name in target["properties"] for name in needed)
        or (needed and not required)
    ):
        return
    for name, one in target["properties"].items():
        if not (isinstance(one, dict) and one.get("readOnly") is True):
            yield _Field(place="body", name=name, schema=one, required=name in needed)


def _names(fields: list[_Field]) -> list[str]:
    plain = [one.name if one.name is not None else "body" for one in fields]
    counts = Counter(plain)
    names = [name if counts[name] == 1 else f"{name}_in_{one.place}" for name, one in zip(plain, fields, strict=True)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise SchemaError(f"two arguments would be called {shown(twice[0])}; rename a parameter")
    return names


def _described(schema: Any, description: str | None) -> Any:
    """A parameter's own description stands beside its schema, and before that of the schema itself."""
    if description is None or not isinstance(schema, dict):
        return schema
    return schema | {"description": description}
