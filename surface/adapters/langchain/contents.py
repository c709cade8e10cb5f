"""What a LangChain tool answers with, as content parts: an image stays an image where no graph runs the tool either."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.messages import ToolMessage
from pydantic_core import to_jsonable_python

from surface.content import Audio, File, Image, Json, Part, PartKind, Presenter, Text


def _parts(content: Any) -> Iterable[Part]:
    """One part for each block of a message's content; of anything else, its JSON."""
    blocks = [content] if isinstance(content, str) else content
    if isinstance(blocks, list) and all(map(_is_block, blocks)):
        return [_part(block) for block in ToolMessage(blocks, tool_call_id="").content_blocks]
    return [_json(content)]


AS_CONTENT = Presenter(
    kinds=frozenset({PartKind.TEXT, PartKind.JSON, PartKind.IMAGE, PartKind.AUDIO, PartKind.FILE}), present=_parts
)
"""Takes the content of a message: a text, or a list of LangChain's content blocks."""


def _is_block(each: Any) -> bool:
    return isinstance(each, str) or (isinstance(each, dict) and isinstance(each.get("type"), str))


def _part(block: Mapping[str, Any]) -> Part:
    """A standard content block; what no part can hold, such as an address, is JSON."""
    text, media_type, data = block.get("text"), block.get("mime_type"), _bytes(block.get("base64"))
    match block["type"]:
        case "text" if isinstance(text, str):
            return Text(text=text)
        case "image" if data and media_type:
            return Image(data=data, media_type=media_type)
        case "audio" if data and media_type:
            return Audio(data=data, media_type=media_type)
        case "file" if data and media_type:
            return File(data=data, media_type=media_type, name=_name_of(block))
        case _:
            return _json(block.get("value", block))


def _name_of(block: Mapping[str, Any]) -> str:
    extras = block.get("extras")
    names = (block.get("filename"), extras.get("filename") if isinstance(extras, Mapping) else None)
    return next((name for name in names if isinstance(name, str) and name), "file")


def _json(value: Any) -> Json:
    return Json(value=to_jsonable_python(value, inf_nan_mode="null"))


def _bytes(written: Any) -> bytes | None:
    try:
        return base64.b64decode(written, validate=True) if isinstance(written, str) else None
    except binascii.Error:
        return None
