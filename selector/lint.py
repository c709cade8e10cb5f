"""What the text of a catalog says about how well its tools can be found: findings, each about a few tools. Pure.

    no_description           a tool without a word of description
    repeats_name             a description without a word that the name does not say already
    shared_description       several tools with the same description
    undocumented_parameters  outer parameters without a description
    similar_names            names that differ by one character, or only by case

Nothing here is a rule of a catalog: every tool named may be served as it is. No finding holds a description.

Not done here: what needs vectors (`lint_likeness.py`) or a ranker (`lint_shadows.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from typing import Any, Final

from indexer.catalog_file import CatalogTool
from indexer.document import outer_properties
from surface.lexical import words


class Code(StrEnum):
    """The kinds of findings, in the order of reports."""

    NO_DESCRIPTION = "no_description"
    REPEATS_NAME = "repeats_name"
    SHARED_DESCRIPTION = "shared_description"
    UNDOCUMENTED_PARAMETERS = "undocumented_parameters"
    SIMILAR_NAMES = "similar_names"
    INDISTINGUISHABLE = "indistinguishable"
    SHADOWED = "shadowed"
    ALWAYS_BEHIND = "always_behind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is worth mending."""

    code: Code
    tools: tuple[str, ...]
    """The tools it is about, sorted; for `shadowed` and `always_behind` the one that is not found."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """Names and numbers; which ones depends on the code."""


_LONGEST_NAME: Final = 128
"""The longest name that a catalog may hold; longer ones, as a foreign tool set may have, are not compared."""

_SAYS_NOTHING: Final = frozenset(
    "api call description endpoint function method none null operation placeholder run tbd todo tool use used using"
    " utility".split()
)
"""Words that a description may hold and still say nothing of what the tool does."""


def lint_texts(tools: Sequence[CatalogTool]) -> Iterator[Finding]:
    """The findings of every check of this module, by code and then by name."""
    ordered = sorted(tools, key=lambda tool: tool.name)
    yield from _without_description(ordered)
    yield from _repeating_their_name(ordered)
    yield from _sharing_a_description(ordered)
    yield from _with_undocumented_parameters(ordered)
    yield from _with_similar_names([tool.name for tool in ordered])


def groups(names: Iterable[str], pairs: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The names that pairs connect, directly or through others: each group sorted, groups by their first name."""
    leader = {name: name for name in names}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    for first, second in pairs:
        low, high = sorted((find(first), find(second)))
        leader[high] = low
    members: dict[str, list[str]] = {}
    for name in sorted(leader):
        members.setdefault(find(name), []).append(name)
    return [tuple(group) for group in members.values() if len(group) > 1]


def _without_description(tools: Sequence[CatalogTool]) -> Iterator[Finding]:
    for tool in tools:
        if not _says_a_word(tool.description):
            yield Finding(code=Code.NO_DESCRIPTION, tools=(tool.name,))


def _repeating_their_name(tools: Sequence[CatalogTool]) -> Iterator[Finding]:
    for tool in tools:
        said = set(words(tool.description)) - _SAYS_NOTHING
        if _says_a_word(tool.description) and said <= set(words(tool.name)):
            yield Finding(code=Code.REPEATS_NAME, tools=(tool.name,))


def _sharing_a_description(tools: Sequence[CatalogTool]) -> Iterator[Finding]:
    sharing: dict[str, list[str]] = {}
    for tool in tools:
        if _says_a_word(tool.description):
            sharing.setdefault(" ".join(tool.description.casefold().split()), []).append(tool.name)
    for names in sharing.values():
        if len(names) > 1:
            yield Finding(code=Code.SHARED_DESCRIPTION, tools=tuple(names))


def _with_undocumented_parameters(tools: Sequence[CatalogTool]) -> Iterator[Finding]:
    for tool in tools:
        properties = outer_properties(tool.input_schema)
        bare = [name for name, schema in properties.items() if not _documented(schema, tool.input_schema)]
        if bare:
            yield Finding(
                code=Code.UNDOCUMENTED_PARAMETERS,
                tools=(tool.name,),
                detail={"parameters": bare, "of": len(properties)},
            )


def _documented(schema: Any, root: Mapping[str, Any]) -> bool:
    """Whether a parameter says what it is: itself, or the definition that it is."""
    if not isinstance(schema, Mapping):
        return False
    definitions, reference = root.get("$defs"), schema.get("$ref")
    named = reference.removeprefix("#/$defs/") if isinstance(reference, str) else None
    target = definitions.get(named) if isinstance(definitions, Mapping) else None
    described = [each.get("description") for each in (schema, target) if isinstance(each, Mapping)]
    return any(isinstance(text, str) and _says_a_word(text) for text in described)


def _with_similar_names(names: Sequence[str]) -> Iterator[Finding]:
    spelled: dict[str, list[str]] = {}
    for name in names:
        if len(name) <= _LONGEST_NAME:
            spelled.setdefault(name.casefold(), []).append(name)
    pairs = [(same[0], other) for same in spelled.values() for other in same[1:]]
    # Names of one length after the other, so that what each is without one character need not all be held at once.
    for _, folded_names in groupby(sorted(spelled, key=len), key=len):
        replaced: dict[tuple[int, str], str] = {}
        for folded in folded_names:
            first = spelled[folded][0]
            for at in range(len(folded)):
                shorter = folded[:at] + folded[at + 1 :]
                # One character more than another name, or another one in the same place.
                if shorter in spelled:
                    pairs.append((first, spelled[shorter][0]))
                other = replaced.setdefault((at, shorter), first)
                if other != first:
                    pairs.append((other, first))
    for group in groups(names, pairs):
        yield Finding(code=Code.SIMILAR_NAMES, tools=group)


def _says_a_word(text: str) -> bool:
    return any(character.isalnum() for character in text)
