"""What goes over the wire between a surface and a ranking service, and its version.

    POST /v1/applications/{application}/surfaces/{surface}/rank

The request body is a `RankBody`, a good answer is a `RankReply`; failures are RFC 9457 problem documents.
Nothing here depends on the scale of a score: scores are for people and evidence.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

PROTOCOL_VERSION: Literal[1] = 1
MAX_LIMIT = 100
"""The most names one request may ask for."""
MAX_QUERY_CHARACTERS = 16_384
"""The longest query on the wire; a surface's own ceiling, in bytes, is lower."""

Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Code = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,64}$")]
"""A reason in one word, safe in logs and labels."""


class Wire(BaseModel):
    """The manners of every wire model: immutable, and no field that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _whole(value: object) -> object:
    # To a literal, true and 1.0 are 1.
    if type(value) is not int:
        raise ValueError(f"needs the number {PROTOCOL_VERSION}")
    return value


class RankBody(Wire):
    """What a surface asks."""

    version: Annotated[Literal[1], BeforeValidator(_whole)] = PROTOCOL_VERSION
    query: Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUERY_CHARACTERS)]
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_LIMIT)]
    catalog_digest: Digest | None = None
    """The catalog the asking surface holds; the service answers from that version while it keeps it."""


class RankedName(Wire):
    """One name with its score; larger is better, the scale is the ranker's own."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    score: Annotated[float, Field(allow_inf_nan=False)]


class RankReply(Wire):
    """What a ranker answers, best first."""

    version: Literal[1] = PROTOCOL_VERSION
    surface: Key
    index_version: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,128}$")]
    catalog_digest: Digest
    """The catalog this ranking was made on."""
    ranked: tuple[RankedName, ...] = ()
    abstained: bool = False
    """The ranker holds that nothing in this catalog fits."""
    degraded: Code | None = None
    """Why the ranking is weaker than usual, where it is."""
