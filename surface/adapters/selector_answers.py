"""What an answer of the ranking service means: a `RankReply`, or the code of why there is none."""

from __future__ import annotations

import json
from typing import Final

import httpx2
from pydantic import ValidationError

from surface.errors import RankerUnavailable
from surface.protocol import RankReply
from surface.ranking import RankRequest

MAX_REPLY_BYTES: Final = 262_144
"""An answer of 100 names of 1,024 characters fits in half of this; no more than this is ever read."""

# Problem codes that are passed on; any proxy on the way can answer with the same statuses.
_PASSED_ON: Final = frozenset({(404, "unknown_surface"), (503, "index_unusable")})
_BY_STATUS: Final = {
    401: "unauthorised",
    403: "unauthorised",
    429: "rate_limited",
    503: "overloaded",
    504: "deadline",
}


async def read_content(response: httpx2.Response) -> bytes:
    """The body, as long as it is not too long; RankerUnavailable `malformed_reply` otherwise."""
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MAX_REPLY_BYTES:
            raise RankerUnavailable("malformed_reply")
    return bytes(content)


def reply_of(status: int, content: bytes, request: RankRequest) -> RankReply:
    """The answer to this very request; RankerUnavailable says why it is none."""
    if status != 200:
        raise RankerUnavailable(_code(status, content))
    try:
        reply = RankReply.model_validate_json(content)
    except ValidationError:
        raise RankerUnavailable("malformed_reply") from None
    if reply.surface != request.surface or len(reply.ranked) > request.limit:
        raise RankerUnavailable("malformed_reply")
    return reply


def retry_after(response: httpx2.Response) -> float | None:
    """The seconds after which a service that is overloaded asks to be asked again; None where it does not say."""
    value = response.headers.get("retry-after", "")
    says = response.status_code == 503 and value.isascii() and value.isdigit() and len(value) <= 6
    return float(value) if says else None


def _code(status: int, content: bytes) -> str:
    code = _problem_code(content)
    if (status, code) in _PASSED_ON:
        return str(code)
    return _BY_STATUS.get(status, "server_error" if status >= 500 else "rejected")


def _problem_code(content: bytes) -> str | None:
    """The `code` of a problem document, where this is one."""
    try:
        problem = json.loads(content)
    except (ValueError, RecursionError):
        return None
    code = problem.get("code") if isinstance(problem, dict) else None
    return code if isinstance(code, str) else None
