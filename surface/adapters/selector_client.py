"""The ranking service over HTTP, as a `Ranker`.

Every failure is a `RankerUnavailable` with one of the codes in `CODES`, so that the search can fall back (SRC-8):

    timeout           no whole answer within the timeout
    unreachable       no connection, or it broke
    overloaded        429 or 503: the service is up and asks for patience
    server_error      any other 5xx
    unknown_surface   the service does not hold this application's surface
    index_unusable    the service holds the surface, and no index of it that it could open
    rejected          the service, or its protocol, does not take this request
    malformed_reply   the answer is not a `RankReply`, is too large, or answers another question
    breaker_open      the service failed repeatedly; it is not asked again before the cool-down has passed

Not done here: retrying (a model waits for this answer; the fallback is better than a second wait), and checking
names against a catalog, which is the search's. No error holds a query, an address or a body.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final, Self
from urllib.parse import quote

import httpx2
from pydantic import ValidationError

from surface.errors import ConfigurationError, RankerUnavailable
from surface.protocol import RankBody, RankReply
from surface.ranking import RankRequest

CODES: Final = frozenset(
    "timeout unreachable overloaded server_error unknown_surface index_unusable rejected malformed_reply"
    " breaker_open".split()
)
"""Every code a `RankerUnavailable` from here can have."""

MAX_REPLY_BYTES: Final = 262_144
"""An answer of 100 names of 1,024 characters fits in half of this; no more than this is ever read."""

# The service answered and is well; what it was asked for is at fault, and other surfaces of it may be fine.
_ANSWERED = frozenset({"unknown_surface", "index_unusable", "rejected"})
# Problem codes that are passed on; any proxy on the way can answer with the same statuses.
_PASSED_ON = frozenset({(404, "unknown_surface"), (503, "index_unusable")})


class Breaker:
    """Counts consecutive failures; once there are `failures` of them it refuses for `cool_down` seconds, then lets
    one call try. The clock is an argument, in seconds, and must never go back.
    """

    def __init__(self, *, failures: int, cool_down: float, clock: Callable[[], float]) -> None:
        self._allowed = failures
        self._cool_down = cool_down
        self._clock = clock
        self._failed = 0
        self._shut_until = 0.0

    def admits(self) -> bool:
        """Whether a call may be made now; after a cool-down, true for one call in each further cool-down."""
        if self._failed < self._allowed:
            return True
        now = self._clock()
        if now < self._shut_until:
            return False
        # This call is the trial. Whatever becomes of it, cancelled included, the next trial comes a cool-down later.
        self._shut_until = now + self._cool_down
        return True

    def succeeded(self) -> None:
        """The service answered."""
        self._failed = 0

    def failed(self) -> None:
        """The service did not answer, or answered nonsense."""
        self._failed += 1
        if self._failed >= self._allowed:
            self._shut_until = self._clock() + self._cool_down


_LIMITS: Final = httpx2.Limits(max_connections=1_000, max_keepalive_connections=20)
"""Waiting for a place among our own connections must not read as the service's failure."""


class SelectorClient:
    """Asks a ranking service. One connection pool; share one client among all runs of a process.

    async with SelectorClient("http://selector:8080") as ranker: ...
    """

    def __init__(
        self,
        base_url: str,
        *,
        timeout: float = 1.0,
        client: httpx2.AsyncClient | None = None,
        breaker_failures: int = 5,
        breaker_cool_down: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`base_url` may have a path; `timeout` and `breaker_cool_down` are seconds.

        Keep `timeout` below the deadline of the search: a call that its deadline cancels is no evidence against the
        service, so it never opens the breaker. A `client` given here (for TLS, proxies, headers) stays the caller's
        to close. Raises ConfigurationError naming the argument.
        """
        url = _base(base_url)
        if not 0 < timeout < float("inf"):
            raise ConfigurationError("timeout: needs a positive number of seconds")
        if breaker_failures < 1:
            raise ConfigurationError("breaker_failures: needs at least 1")
        if not breaker_cool_down > 0:
            raise ConfigurationError("breaker_cool_down: needs a positive number of seconds")
        self._base_url = url
        self._timeout = timeout
        self._owned = client is None
        # A ranker needs no cookies; kept, one hostile answer's would weigh on every later request, to refusal.
        no_cookies = CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))
        self._client = (
            httpx2.AsyncClient(follow_redirects=False, cookies=no_cookies, limits=_LIMITS) if client is None else client
        )
        self._breaker = Breaker(failures=breaker_failures, cool_down=breaker_cool_down, clock=clock)

    @property
    def id(self) -> str:
        """``selector``: the same ranker, wherever it runs."""
        return "selector"

    async def rank(self, request: RankRequest) -> RankReply:
        """The service's answer to this very request; RankerUnavailable with one of `CODES` otherwise."""
        if not self._breaker.admits():
            raise RankerUnavailable("breaker_open")
        try:
            reply = await self._ask(request)
        except RankerUnavailable as unavailable:
            if unavailable.code in _ANSWERED:
                self._breaker.succeeded()
            else:
                self._breaker.failed()
            raise
        self._breaker.succeeded()
        return reply

    async def aclose(self) -> None:
        """Closes the connections this client opened; twice does no harm."""
        if self._owned:
            await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _ask(self, request: RankRequest) -> RankReply:
        body = _body(request)
        try:
            # One limit over everything: the client's own timeouts bound each read, and a peer that sends a byte now
            # and then would never meet them.
            async with (
                asyncio.timeout(self._timeout),
                self._client.stream(
                    "POST",
                    f"{self._base_url}/v1/applications/{_segment(request.application)}"
                    f"/surfaces/{_segment(request.surface)}/rank",
                    content=body,
                    headers={"content-type": "application/json", "accept": "application/json"},
                    timeout=self._timeout,
                    follow_redirects=False,
                ) as response,
            ):
                content = await _read(response)
        # None is chained: a foreign error may quote the request.
        except (TimeoutError, httpx2.TimeoutException):
            raise RankerUnavailable("timeout") from None
        except (httpx2.DecodingError, httpx2.RemoteProtocolError):
            raise RankerUnavailable("malformed_reply") from None
        except (httpx2.HTTPError, httpx2.StreamError, OSError, RuntimeError):
            # RuntimeError: the client was closed.
            raise RankerUnavailable("unreachable") from None
        except (httpx2.InvalidURL, UnicodeError):
            raise RankerUnavailable("rejected") from None
        return _reply(response.status_code, content, request)


def _base(url: str) -> str:
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError, UnicodeError):
        raise ConfigurationError("base_url: not a URL; needs one such as http://selector:8080") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise ConfigurationError("base_url: needs http:// or https:// and a host, such as http://selector:8080")
    if parsed.query or parsed.fragment:
        raise ConfigurationError("base_url: takes no query and no fragment; end it with the path")
    return str(parsed).rstrip("/")


def _segment(key: str) -> str:
    """A key as one segment of a path; a key of dots alone would otherwise walk up."""
    return quote(key, safe="").replace(".", "%2E") if not key.strip(".") else quote(key, safe="")


def _body(request: RankRequest) -> bytes:
    # A lone surrogate has no UTF-8; a question mark in its place loses nothing that ranking reads.
    query = request.query.encode("utf-8", "replace").decode("utf-8")
    try:
        body = RankBody(query=query, limit=request.limit, catalog_digest=request.catalog_digest)
    except ValidationError:
        raise RankerUnavailable("rejected") from None
    return body.model_dump_json().encode("utf-8")


async def _read(response: httpx2.Response) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MAX_REPLY_BYTES:
            raise RankerUnavailable("malformed_reply")
    return bytes(content)


def _reply(status: int, content: bytes, request: RankRequest) -> RankReply:
    if status != 200:
        raise RankerUnavailable(_code(status, content))
    try:
        reply = RankReply.model_validate_json(content)
    except ValidationError:
        raise RankerUnavailable("malformed_reply") from None
    if reply.surface != request.surface or len(reply.ranked) > request.limit:
        raise RankerUnavailable("malformed_reply")
    return reply


def _code(status: int, content: bytes) -> str:
    code = _problem_code(content)
    if (status, code) in _PASSED_ON:
        return str(code)
    if status in {429, 503}:
        return "overloaded"
    return "server_error" if status >= 500 else "rejected"


def _problem_code(content: bytes) -> str | None:
    """The `code` of a problem document, where this is one."""
    try:
        problem = json.loads(content)
    except (ValueError, RecursionError):
        return None
    code = problem.get("code") if isinstance(problem, dict) else None
    return code if isinstance(code, str) else None
