"""What goes over the wire between a surface and a ranking service, and its version.

    POST /v1/applications/{application}/surfaces/{surface}/rank          RankBody → RankReply
    POST /v1/applications/{application}/surfaces/{surface}/rank-batch    RankBatchBody → RankBatchReply

Failures are RFC 9457 problem documents.
Nothing here depends on the scale of a score: scores are for people and evidence.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, StringConstraints
from pydantic_core import PydanticCustomError

PROTOCOL_VERSION: Literal[1] = 1
MAX_LIMIT = 100
"""The most names one request may ask for."""
MAX_BATCH = 32
"""The most queries that one request may hold."""
MAX_DEADLINE_MS = 600_000
"""The longest time that a request may say its asker waits, in ``X-Request-Deadline-Ms``."""
MAX_QUERY_CHARACTERS = 16_384
"""The longest query on the wire; a surface's own ceiling, in bytes, is lower."""

Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
DIGEST_PATTERN = r"^[0-9a-f]{32}$"
Digest = Annotated[str, StringConstraints(pattern=DIGEST_PATTERN)]
Code = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,64}$")]
"""A reason in one word, safe in logs and labels."""


class Wire(BaseModel):
    """The manners of every wire model: immutable, and no field that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _whole(value: object) -> object:
    """JSON knows one kind of number, so 5.0 is whole; ``true`` and ``"5"``, which Python would take, are no numbers."""
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value) is not int:
        raise PydanticCustomError("whole_number", "needs a whole number")
    return value


Version = Annotated[Literal[1], BeforeValidator(_whole)]
Query = Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUERY_CHARACTERS)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), BeforeValidator(_whole)]


class RankBody(Wire):
    """What a surface asks."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"version": 1, "query": "which invoices are unpaid", "limit": 5}]}
    )

    version: Version = PROTOCOL_VERSION
    query: Query
    limit: Limit
    catalog_digest: Digest | None = None
    """The catalog the asking surface holds; the service answers from that version while it keeps it."""


class RankBatchBody(Wire):
    """Several queries of one surface. They are answered together or, with one problem document, not at all."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"version": 1, "queries": ["which invoices are unpaid", "where is the parcel"], "limit": 5}]
        }
    )

    version: Version = PROTOCOL_VERSION
    # Without FailFast a body of sixty thousand wrong queries has as many errors, and takes a third of a second.
    queries: Annotated[tuple[Query, ...], Field(min_length=1, max_length=MAX_BATCH), FailFast()]
    limit: Limit
    """Of each query."""
    catalog_digest: Digest | None = None


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
    # What a service promises; a ranker of one's own may say more, and the search takes what it needs.
    ranked: Annotated[tuple[RankedName, ...], Field(json_schema_extra={"maxItems": MAX_LIMIT})] = ()
    abstained: bool = False
    """The ranker holds that nothing in this catalog fits."""
    degraded: Code | None = None
    """Why the ranking is weaker than usual, where it is."""


class RankBatchReply(Wire):
    """What a ranker answers to several queries."""

    version: Literal[1] = PROTOCOL_VERSION
    replies: Annotated[tuple[RankReply, ...], Field(min_length=1, max_length=MAX_BATCH)]
    """One for each query, in order."""
