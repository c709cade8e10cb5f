"""What the dialects share: fields of dictionaries or SDK objects, argument strings, texts of results and parts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from surface.canonical import canonical_json
from surface.content import Json, Part, ResourceLink, Text
from surface.errors import TranscriptError
from surface.transcript import UNPARSABLE


def field(value: Any, name: str) -> Any:
    """A field of a dictionary or of one of the SDK's objects; None where there is none."""
    if isinstance(value, dict):  # nearly always, and much faster to ask than Mapping
        return value.get(name)
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def arguments_of(text: Any) -> Any:
    """The JSON value of an argument string (an empty one is no arguments), or `UNPARSABLE`."""
    if not isinstance(text, str):
        return UNPARSABLE
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_finite) if text.strip() else {}
    except (ValueError, RecursionError):
        return UNPARSABLE


def _finite(text: str) -> float:
    """A JSON number; Python reads NaN, Infinity and 1e999 as numbers too, and no later check may meet those."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    return number


def only_text(content: Any, kind: str) -> str | None:
    """The text of a content that holds exactly one text (a part of type `kind`) and nothing else."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence) and not isinstance(content, bytes) and len(content) == 1:
        text = field(content[0], "text") if field(content[0], "type") == kind else None
        return text if isinstance(text, str) else None
    return None


def refuse_anthropic(content: Any, where: str) -> None:
    """Raises TranscriptError for blocks of Anthropic's: read as OpenAI's, a call would silently be none."""
    if isinstance(content, list) and any(field(block, "type") in ("tool_use", "tool_result") for block in content):
        raise TranscriptError(f"{where}: holds tool_use or tool_result blocks; is this an Anthropic message?")


def text_of(part: Part) -> str:
    """The text that stands for a textual part; a resource link is the JSON of its fields."""
    match part:
        case Text():
            return part.text
        case Json():
            return canonical_json(part.value)
        case ResourceLink():
            return canonical_json(
                {"type": "resource_link", "uri": part.uri, "name": part.name, "media_type": part.media_type}
            )
        case _:
            raise TypeError(f"a {part.kind} part has no text; a mount refuses tools that declare it")
