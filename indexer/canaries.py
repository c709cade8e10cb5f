"""Canary queries: what a release must still find before it may become active.

One JSON object a line: `{"query": "unpaid invoices", "tool": "overdue_invoices", "surface": "clerk", "first": 3}`.
`first` is within how many names the tool has to stand (default 5); `surface` may be left out where the catalog has one.

Rules kept here:

1. Reading is total: any bytes give canaries, or one `CanaryFileError` with every fault, by line.
2. A canary of a surface or a tool that the catalog does not have is a fault of the file, found before any work.
3. A canary is known by its line. Its query goes into no message, no result and no log; neither does any other text of
   a line that cannot be used, for it may be the query in the wrong place.

Not done here: ranking. `ports.Rehearsal` asks the ranking that will serve.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from indexer.artefact import Artefact
from indexer.catalog_file import Catalog
from indexer.errors import CanaryFailure, CanaryFileError
from indexer.ports import Rehearsal
from indexer.strict_json import NotJsonError, parse_json
from surface.protocol import MAX_LIMIT, MAX_QUERY_CHARACTERS

MAX_CANARY_BYTES = 8 * 1024 * 1024
MAX_CANARIES = 10_000
DEFAULT_FIRST = 5
_SHOWN_FAULTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """One query and the tool it must find."""

    line: int
    """Where it stands in its file, from 1."""
    surface: str
    query: str
    tool: str
    first: int
    """The tool must be among this many names."""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    query: Annotated[str, StringConstraints(strict=True, min_length=1, max_length=MAX_QUERY_CHARACTERS)]
    tool: Annotated[str, StringConstraints(strict=True, min_length=1, max_length=1024)]
    surface: Annotated[str, StringConstraints(strict=True)] | None = None
    first: Annotated[int, Field(strict=True, ge=1, le=MAX_LIMIT)] = DEFAULT_FIRST


def read_canaries(data: bytes, *, catalog: Catalog) -> tuple[Canary, ...]:
    """The canaries that `data` holds, for the surfaces of this catalog; raises `CanaryFileError`, and nothing else."""
    if len(data) > MAX_CANARY_BYTES:
        raise CanaryFileError(f"canaries: larger than {MAX_CANARY_BYTES} bytes; keep the telling ones")
    names = {key: frozenset(tool.name for tool in surface.tools) for key, surface in catalog.surfaces.items()}
    canaries: list[Canary] = []
    faults: list[str] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        read = _read(line, number=number, names=names)
        if isinstance(read, Canary):
            canaries.append(read)
        else:
            faults.append(f"line {number}: {read}")
    if not canaries and not faults:
        faults.append("the file holds no canary; leave the option out to deploy without")
    if len(canaries) > MAX_CANARIES:
        faults.append(f"more than {MAX_CANARIES} canaries; keep the telling ones")
    if faults:
        more = [f"… and {len(faults) - _SHOWN_FAULTS} more"] if len(faults) > _SHOWN_FAULTS else []
        raise CanaryFileError("\n".join(["canaries:", *(f"  - {each}" for each in [*faults[:_SHOWN_FAULTS], *more])]))
    return tuple(canaries)


def _read(line: bytes, *, number: int, names: Mapping[str, frozenset[str]]) -> Canary | str:
    """A canary, or what is wrong with its line."""
    try:
        read = _Line.model_validate(parse_json(line))
    except NotJsonError:
        return "is not one JSON object that holds each field once"
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        if first["type"] == "extra_forbidden":
            return "holds a field that is none of query, tool, surface, first"
        if first["type"] == "model_type":
            return "is not one JSON object that holds each field once"
        return f"{first['loc'][0]}: {first['msg']}"
    surface = next(iter(names)) if read.surface is None and len(names) == 1 else read.surface
    if surface is None or surface not in names:
        return f"surface: needs one of {', '.join(sorted(names))}"
    if read.tool not in names[surface]:
        return f"tool: is not in the catalog's surface {surface}"
    return Canary(line=number, surface=surface, query=read.query, tool=read.tool, first=read.first)


def failures(artefact: Artefact, canaries: Iterable[Canary], *, rehearse: Rehearsal) -> tuple[CanaryFailure, ...]:
    """The canaries of the artefact's surface that it fails, in the order of their lines."""
    mine = [canary for canary in canaries if canary.surface == artefact.manifest.surface]
    if not mine:
        return ()
    answers = rehearse(artefact, [canary.query for canary in mine], MAX_LIMIT)
    placed = [(canary, _place(canary.tool, names)) for canary, names in zip(mine, answers, strict=True)]
    return tuple(
        CanaryFailure(line=canary.line, surface=canary.surface, tool=canary.tool, first=canary.first, place=place)
        for canary, place in placed
        if place is None or place > canary.first
    )


def _place(tool: str, names: Sequence[str]) -> int | None:
    return names.index(tool) + 1 if tool in names else None
