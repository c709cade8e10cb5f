"""The queries of an evaluation: their form, what is left of them after filters, and a sample of them.

One JSON object a line: `id`, `query`, `relevant` (names, at least one), optionally `match: "any"` (the names are
interchangeable), `fold` and `split`; other fields are ignored.

Not done here: reading files. No error quotes a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from selector.errors import EvaluationError


class JudgedQuery(BaseModel):
    """One query with the tools it wants."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Annotated[str, Field(min_length=1)]
    query: Annotated[str, Field(min_length=1)]
    relevant: Annotated[tuple[str, ...], Field(min_length=1)]
    match: Literal["any", "all"] = "all"
    fold: str | None = None
    split: str | None = None


def parse_queries(lines: Iterable[str | bytes], *, source: str) -> list[JudgedQuery]:
    """The queries of the lines, blank ones skipped; EvaluationError names `source`, the line and the field."""
    queries: list[JudgedQuery] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            queries.append(JudgedQuery.model_validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"]) or "line"
            # Not chained: the cause quotes its input.
            raise EvaluationError(f"{source}, line {number}: {field}: {first['msg']}") from None
    return queries


def choose(
    queries: Sequence[JudgedQuery], *, fold: str | None = None, split: str | None = None, sample: int | None = None
) -> list[JudgedQuery]:
    """The queries of a fold and a split, in their own order; `sample` of them, always the same, where it is given.

    Raises EvaluationError where none is left, naming what there is to choose from.
    """
    if not queries:
        raise EvaluationError("--queries: the file holds no query")
    left = [query for query in queries if fold in (None, query.fold)]
    if not left:
        raise EvaluationError(f"--fold: no query left; the queries have {_values(query.fold for query in queries)}")
    kept = [query for query in left if split in (None, query.split)]
    if not kept:
        raise EvaluationError(f"--split: no query left; the queries have {_values(query.split for query in left)}")
    if sample is None or sample >= len(kept):
        return kept
    chosen = {query.id for query in sorted(kept, key=lambda query: _draw(query.id))[:sample]}
    return [query for query in kept if query.id in chosen][:sample]


def _draw(identity: str) -> str:
    """A place in line that depends on nothing but the id: the same queries for every ranker, on every machine."""
    return sha256(f"sample:{identity}".encode()).hexdigest()


def _values(values: Iterable[str | None]) -> str:
    found = sorted({value for value in values if value is not None})
    return ", ".join(found[:20]) if found else "none of that field"
