"""What a model sees of a tool's output: content parts, and the presenters that make them (MNT-6).

A part is provider-neutral; a dialect turns it into its own form or refuses the kind when it mounts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from surface.canonical import canonical_json, sendable


class PartKind(StrEnum):
    """The kinds of content a presenter may declare."""

    TEXT = "text"
    JSON = "json"
    IMAGE = "image"
    AUDIO = "audio"
    FILE = "file"
    RESOURCE_LINK = "resource_link"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Plain text."""

    text: str
    kind = PartKind.TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Json:
    """A JSON value."""

    value: Any
    kind = PartKind.JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image, as bytes with their media type."""

    data: bytes
    media_type: str
    kind = PartKind.IMAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio:
    """A sound, as bytes with their media type."""

    data: bytes
    media_type: str
    kind = PartKind.AUDIO


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file, as bytes with a name and their media type."""

    data: bytes
    media_type: str
    name: str
    kind = PartKind.FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLink:
    """A reference to something the model may ask for."""

    uri: str
    name: str
    media_type: str | None = None
    kind = PartKind.RESOURCE_LINK


Part = Text | Json | Image | Audio | File | ResourceLink


def checked(part: Part) -> Part:
    """The part, fit to be sent: raises TypeError or ValueError where a field holds what it does not declare.

    Text keeps its place with a question mark for each lone surrogate, as file names may hold them.
    """
    match part:
        case Text():
            return Text(text=sendable(_string(part.text)))
        case Json():
            return Json(value=json.loads(sendable(canonical_json(part.value))))
        case ResourceLink():
            texts = [part.uri, part.name, *([] if part.media_type is None else [part.media_type])]
        case File():
            texts = [part.media_type, part.name]
        case Image() | Audio():
            texts = [part.media_type]
        case _:
            raise TypeError(f"a presenter makes parts, not {type(part).__name__}")
    for text in texts:
        _string(text).encode("utf-8")
    if not isinstance(part, ResourceLink) and not isinstance(part.data, bytes):
        raise TypeError(f"the data of a {part.kind} part must be bytes")
    return part


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text of a part must be a string")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Presenter:
    """Turns a tool's output into content parts."""

    kinds: frozenset[PartKind]
    """Every kind it may make; a part of another kind is an INTERNAL failure of the call."""
    present: Callable[[Any], Iterable[Part]]
    """Takes the output as the lifecycle left it."""
