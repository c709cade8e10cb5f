"""The queries of an evaluation: their form, what is left of them after filters, and a sample of them.

One JSON object a line: `id` (each once), `query`, `relevant` (names, at least one), optionally `match: "any"` (the
names are interchangeable), `fold` and `split`; other fields are ignored.

Not done here: reading files. No error quotes a query or an id: whoever sees it has the file and is told the line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from selector.errors import EvaluationError
from surface.lexical import words

_SHOWN: Final = 3
"""How many of several like faults an error names."""


class JudgedQuery(BaseModel):
    """One query with the tools it wants."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Annotated[str, Field(min_length=1)]
    query: Annotated[str, Field(min_length=1)]
    relevant: Annotated[tuple[str, ...], Field(min_length=1)]
    match: Literal["any", "all"] = "all"
    fold: str | None = None
    split: str | None = None

    @property
    def hard(self) -> bool:
        """Whether it shares no word with the name of any tool it wants, by the words of the lexical rule."""
        return not set(words(self.query)).intersection(word for name in self.relevant for word in words(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRelevant:
    """How much of a set asks for tools that the catalog does not hold: no ranker can find those."""

    queries: int
    """Queries that want at least one such tool."""
    names: int
    """Distinct names of such tools."""


def parse_queries(lines: Iterable[str | bytes], *, source: str) -> list[JudgedQuery]:
    """The queries of the lines, blank ones skipped.

    Raises EvaluationError naming `source`, the line and the field; an id that stands twice is one error for the file.
    """
    queries: list[JudgedQuery] = []
    first_lines: dict[str, int] = {}
    repeated: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            query = JudgedQuery.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"]) or "line"
            # Not chained: the cause quotes its input.
            raise EvaluationError(f"{source}, line {number}: {field}: {first['msg']}") from None
        if first_lines.setdefault(query.id, number) != number:
            repeated.append(f"{number} (as in {first_lines[query.id]})")
        queries.append(query)
    if repeated:
        listed = ", ".join(repeated[:_SHOWN]) + (" …" if len(repeated) > _SHOWN else "")
        raise EvaluationError(
            f"{source}: id: {len(repeated)} line(s) repeat the id of an earlier one, so no query could be told from "
            f"the other; give each its own: line {listed}"
        )
    return queries


def unknown_relevant(queries: Iterable[JudgedQuery], names: Collection[str]) -> UnknownRelevant:
    """What the queries want and the catalog of these names does not hold."""
    missing = [set(query.relevant).difference(names) for query in queries]
    return UnknownRelevant(queries=sum(map(bool, missing)), names=len(set().union(*missing)))


def serveable(queries: Iterable[JudgedQuery], names: Collection[str]) -> int:
    """How many of the queries want a tool that the catalog of these names holds."""
    return sum(not set(query.relevant).isdisjoint(names) for query in queries)


def choose(
    queries: Sequence[JudgedQuery],
    *,
    source: str = "--queries",
    folds: Collection[str] = (),
    split: str | None = None,
    sample: int | None = None,
) -> list[JudgedQuery]:
    """The queries of any of the folds and of a split, in their own order; `sample` of them, always the same.

    No folds means all of them. Raises EvaluationError where none is left, naming what there is to choose from.
    """
    if not queries:
        raise EvaluationError(f"{source}: the file holds no query")
    left = [query for query in queries if not folds or query.fold in folds]
    if not left:
        raise EvaluationError(f"--fold: no query of {source} left; {_values(query.fold for query in queries)}")
    kept = [query for query in left if split in (None, query.split)]
    if not kept:
        raise EvaluationError(f"--split: no query of {source} left; {_values(query.split for query in left)}")
    if sample is None or sample >= len(kept):
        return kept
    chosen = {query.id for query in sorted(kept, key=lambda query: _draw(query.id))[:sample]}
    return [query for query in kept if query.id in chosen][:sample]


def _draw(identity: str) -> str:
    """A place in line that depends on nothing but the id: the same queries for every ranker, on every machine."""
    return sha256(f"sample:{identity}".encode()).hexdigest()


def _values(values: Iterable[str | None]) -> str:
    found = sorted({value for value in values if value is not None})
    return f"they have {', '.join(found[:20])}" if found else "none of them has that field; leave the option out"
