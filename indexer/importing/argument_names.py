"""Names of arguments that a provider does not carry: said always, made into others only where that was asked for.

Anthropic's API, also behind others, takes properties of 1-64 of `A-Za-z0-9_.-` at the top of an input schema, and
refuses the whole request, with every other tool in it, for one that is called otherwise (`$top`, `filter[name]`). What
is further down may be called anything.

Rules kept here:

1. Only an argument whose way back is written down gets another name: those of an OpenAPI operation, whose annotations
   say which parameter each of them is. What a server or an application reads is for its author to rename.
2. A name that every provider carries stays. In another one other characters become `_`; what is then cut, empty or not
   one argument's alone gets eight digits of a digest of the old name. So the new names do not depend on any order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from indexer.importing.candidate import Candidate
from indexer.importing.renaming import Renamed
from surface.canonical import digest
from surface.catalog_rules import shown
from surface.identity import is_key
from surface.provider_inputs import EVERY_PROVIDER

_LONGEST = 64
_DIGITS = 8
_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")


def rename_arguments(tool: Candidate) -> tuple[Candidate, list[Renamed]]:
    """The tool with other names for its arguments that need them and may have them; and which ones those are."""
    ways = (tool.annotations or {}).get("arguments")
    wrong = EVERY_PROVIDER.refused_names(tool.input_schema)
    if tool.fixed or not wrong or not isinstance(ways, dict) or not ways.keys() >= set(wrong):
        return tool, []
    new = _names(wrong, others=tool.input_schema["properties"].keys() - set(wrong))
    schema = tool.input_schema | {"properties": _renamed(tool.input_schema["properties"], new)}
    if "required" in schema:
        schema["required"] = [new.get(name, name) for name in schema["required"]]
    annotations = (tool.annotations or {}) | {"arguments": _renamed(ways, new)}
    told = [Renamed(where=f"{tool.where}: argument {shown(old)}", old=old, new=name) for old, name in new.items()]
    return replace(tool, input_schema=schema, annotations=annotations), told


def _names(wrong: Iterable[str], *, others: Iterable[str]) -> dict[str, str]:
    mended = {old: _OTHER.sub("_", old).strip("_") for old in wrong}
    taken = Counter([*mended.values(), *others])
    return {old: name if is_key(name) and taken[name] == 1 else _with_digest(name, old) for old, name in mended.items()}


def _with_digest(name: str, old: str) -> str:
    return f"{name[: _LONGEST - _DIGITS - 1]}_{digest(old)[:_DIGITS]}"


def _renamed(named: Mapping[str, Any], new: Mapping[str, str]) -> dict[str, Any]:
    return {new.get(name, name): value for name, value in named.items()}
