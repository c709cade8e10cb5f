"""Names that no catalog may hold, and names that two tools have, made into others: only where it was asked for.

Rules kept here:

1. A name that is valid and one tool's alone stays. What an application exported stays always.
2. A new name is 1-64 of `A-Za-z0-9_-`, which every provider can carry.
3. Other characters become `_`; a name that two tools have gets its service in front; what is still not one tool's
   alone, or was cut, gets eight digits of a digest of what the tool is.
4. The new names follow from the set of tools, whatever their order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from indexer.importing.candidate import Candidate
from surface.canonical import digest
from surface.identity import is_key, is_tool_name

_LONGEST = 64
_DIGITS = 8
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_OTHER_IN_KEY = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """One tool that got another name, or one argument of it."""

    where: str
    old: str
    new: str


def rename(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Renamed]]:
    """The tools of one surface in their order, renamed where they must be; and which ones those are."""
    tools = [one if one.fixed else replace(one, service=_mended_service(one.service)) for one in candidates]
    names = [one.name if one.fixed or is_tool_name(one.name) else _mended(one.name, one) for one in tools]
    names = _parted(tools, names, lambda name, one: _mended(f"{one.service}_{name}", one) if one.service else name)
    names = _parted(tools, names, _with_digest, spare_unchanged=True)
    changed = [
        Renamed(where=one.where, old=one.name, new=name)
        for one, name in zip(tools, names, strict=True)
        if name != one.name
    ]
    return [replace(one, name=name) for one, name in zip(tools, names, strict=True)], changed


def _parted(
    tools: Sequence[Candidate],
    names: Sequence[str],
    change: Callable[[str, Candidate], str],
    *,
    spare_unchanged: bool = False,
) -> list[str]:
    """The names, with those changed that several tools have; a lone owner of the original name may be spared."""
    counts = Counter(names)
    owners = Counter(name for one, name in zip(tools, names, strict=True) if one.name == name)
    return [
        name
        if one.fixed or counts[name] == 1 or (spare_unchanged and one.name == name and owners[name] == 1)
        else change(name, one)
        for one, name in zip(tools, names, strict=True)
    ]


def _mended(name: str, tool: Candidate) -> str:
    mended = _OTHER.sub("_", name).strip("_")
    return mended if len(mended) <= _LONGEST else _with_digest(mended, tool)


def _with_digest(name: str, tool: Candidate) -> str:
    try:
        told = digest([tool.service, tool.name, tool.description, tool.input_schema])
    except (TypeError, ValueError, RecursionError):
        return name  # what cannot be digested is refused by the catalog rules
    return f"{_OTHER.sub('_', name)[: _LONGEST - _DIGITS - 1]}_{told[:_DIGITS]}"


def _mended_service(service: str | None) -> str | None:
    if service is None or is_key(service):
        return service
    mended = _OTHER_IN_KEY.sub("_", service).strip("_")[:64]
    return mended or None
