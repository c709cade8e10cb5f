"""Tool → what ranking reads of it: the text that is embedded, and the fields that the lexical rule counts.

The text is short on purpose: a small encoder blurs long ones, and embedding time grows with every token. It holds
the words of the name, the beginning of the description up to a sentence, and the names of the outer parameters:
about 60 tokens, whatever a tool's author wrote. `RECIPE` names these rules and changes with them.

Not done here: embedding (`build.py`), counting words (`surface/lexical.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from indexer.catalog_file import CatalogTool
from indexer.collector import collecting_later
from surface.canonical import digest
from surface.lexical import ToolText, tool_text

RECIPE = "name-description-parameters-1"
"""Changes whenever the same tool would give another text; an index records it."""

_NAME_CHARACTERS = 128
_DESCRIPTION_CHARACTERS = 240
_PARAMETER_CHARACTERS = 80
# What a model takes apart sign by sign (Han, kana, Hangul, symbols) costs about as many tokens as four Latin letters.
_DENSE_FROM = "\u2e80"
_DENSE_COST = 4
_MAX_REFERENCES = 8

_JOINT = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SENTENCE_END = re.compile(r"[.!?;:](?=\s)|[\u3002\uff01\uff1f\uff1b]|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One tool as ranking reads it."""

    name: str
    digest: str
    """The digest of the tool (CAT-4)."""
    text: str
    """What is embedded."""
    fields: ToolText
    """What the lexical rule reads."""
    text_digest: str = field(init=False)
    """Equal texts have equal vectors: a vector is carried over and shared by this digest."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text_digest", digest(self.text))


def documents_of(tools: Iterable[CatalogTool]) -> tuple[Document, ...]:
    """The documents of a surface in the order of their names: the row order of its index."""
    with collecting_later():
        return tuple([document_of(tool) for tool in sorted(tools, key=lambda tool: tool.name)])


def document_of(tool: CatalogTool) -> Document:
    """What ranking reads of one tool that has passed the catalog rules. Linear in the size of the tool."""
    return Document(
        name=tool.name,
        digest=tool.digest,
        text=_text(tool),
        fields=tool_text(
            name=tool.name, description=tool.description, input_schema=tool.input_schema, service=tool.service
        ),
    )


def plain_words(identifier: str) -> str:
    """An identifier as a person would say it: ``sendMail_toAll`` is ``send Mail to All``."""
    return " ".join(_JOINT.sub(" ", identifier).split())


def _text(tool: CatalogTool) -> str:
    parts = [
        plain_words(tool.name[:_NAME_CHARACTERS]),
        _beginning(tool.description),
        _parameter_names(tool.input_schema),
    ]
    return "\n".join(part for part in parts if part)


def _beginning(description: str) -> str:
    """The first sentences that fit; where not even half is a whole sentence, the first words."""
    text = description[: 4 * _DESCRIPTION_CHARACTERS].strip()
    fitting = _fitting(text)
    if fitting < len(text):
        cut = text[:fitting]
        ends = [match.end() for match in _SENTENCE_END.finditer(text, fitting // 2, fitting)]
        blank = max(cut.rfind(" "), cut.rfind("\n"))
        text = cut[: ends[-1] if ends else blank if blank > 0 else fitting]
    return " ".join(text.split())


def _fitting(text: str) -> int:
    if text.isascii():
        return min(len(text), _DESCRIPTION_CHARACTERS)
    cost = 0
    for at, character in enumerate(text):
        cost += _DENSE_COST if character >= _DENSE_FROM else 1
        if cost > _DESCRIPTION_CHARACTERS:
            return at
    return len(text)


def _parameter_names(schema: Mapping[str, Any]) -> str:
    text = ""
    for parameter in islice(outer_properties(schema), 40):
        name = plain_words(parameter[:_PARAMETER_CHARACTERS])
        longer = f"{text}, {name}" if text else name
        if len(longer) > _PARAMETER_CHARACTERS:
            break
        text = longer
    return text


def outer_properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of a tool by name, through a few references where the schema is one; none where it has none."""
    for _ in range(_MAX_REFERENCES):
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and properties:
            return properties
        reference, definitions = schema.get("$ref"), schema.get("$defs")
        if not (isinstance(reference, str) and isinstance(definitions, Mapping)):
            break
        target = definitions.get(reference.removeprefix("#/$defs/"))
        if not isinstance(target, Mapping):
            break
        schema = {"$defs": definitions, **target}
    return {}
