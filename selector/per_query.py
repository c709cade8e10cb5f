"""What an evaluation leaves behind: one JSON object a line for each set, ranker and query; ids and numbers only.

    {"set", "ranker", "id", "metrics": {"recall@1": …, "complete@5": …}, "hard", "answered", "degraded", "ms"}

A later run is compared with it query by query, so the file is how two versions of a catalog, a model or this program
are told apart. It holds no query: whoever wants the text finds it by its id.

Not done here: reading and writing files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from selector.errors import EvaluationError
from selector.evaluation import Quality, numbers_of, quality_of
from selector.evaluation_run import Evaluation

EarlierRun: TypeAlias = Mapping[tuple[str, str], Mapping[str, Quality]]
"""By set and ranker: what each query scored, by its id."""


class _Line(BaseModel):
    """One line, as far as a comparison reads it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    set: str
    ranker: str
    id: str
    metrics: dict[str, Annotated[float, Field(ge=0.0, le=1.0)]]


def per_query_lines(name: str, ranker: str, evaluation: Evaluation) -> Iterator[bytes]:
    """The lines of one set and ranker, in the set's order."""
    for reply in evaluation.replies:
        line: dict[str, Any] = {
            "set": name,
            "ranker": ranker,
            "id": reply.id,
            "metrics": numbers_of(reply.quality),
            "hard": reply.hard,
            "answered": reply.answered,
            "degraded": reply.degraded,
            "ms": round(reply.ms, 3),
        }
        yield json.dumps(line, ensure_ascii=False).encode() + b"\n"


def read_per_query(data: bytes, *, source: str) -> EarlierRun:
    """What an earlier run left behind; EvaluationError names `source`, the line and the field."""
    runs: dict[tuple[str, str], dict[str, Quality]] = {}
    for number, text in enumerate(data.split(b"\n"), start=1):
        if not text.strip():
            continue
        try:
            line = _Line.model_validate_json(text)
            quality = quality_of(line.metrics)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"]) or "line"
            raise EvaluationError(
                f"{source}, line {number}: {field}: {first['msg']}; needs a file that --per-query wrote"
            ) from None
        except KeyError as error:
            raise EvaluationError(
                f"{source}, line {number}: metrics: {error.args[0]} is missing; evaluate again with --per-query"
            ) from None
        runs.setdefault((line.set, line.ranker), {})[line.id] = quality
    if not runs:
        raise EvaluationError(f"{source}: holds no line; needs a file that --per-query wrote")
    return runs
