"""The ranking service over HTTP, as a `Ranker`.

Every failure is a `RankerUnavailable` with one of the codes in `CODES`, so that the search can fall back (SRC-8):

    timeout           no whole answer within the timeout
    deadline          the service, or a gateway before it, gave up first (504)
    unreachable       no connection, or it broke
    overloaded        503: the service is up and asks for patience
    rate_limited      429: this key asks more than it may
    unauthorised      401 or 403: no key, or one that the service does not take
    server_error      any other 5xx
    unknown_surface   the service does not hold this application's surface, or this key may not ask it
    index_unusable    the service holds the surface, and no index of it that it could open
    rejected          the service, or its protocol, does not take this request
    malformed_reply   the answer is not a `RankReply`, is too large, or answers another question
    breaker_open      the service failed repeatedly; it is not asked again before the cool-down has passed

Rules kept here:

1. One timeout over everything, and each request carries what is left of it, so that the service drops work that nobody
   waits for any more.
2. One more try, inside that timeout: where a connection broke before an answer (a replica that ended), or where a 503
   says after how long and that fits. After a 503 it waits up to `_SPREAD` longer, by chance, so that the clients of one
   overloaded replica do not all come back at once. Ranking changes nothing, so asking twice does no harm.
3. The key goes to the host of `base_url` and nowhere else: no redirect is followed.
4. Threads and event loops may share a client: each loop has connections of its own.

Not done here: checking names against a catalog, which is the search's; trio, which the search does not run on either.
No error holds a query, an address, a key or a body.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final, Self
from urllib.parse import quote

import httpx2
from pydantic import ValidationError

from surface.adapters.breaker import Breaker
from surface.adapters.loop_clients import LoopClients
from surface.adapters.selector_answers import read_content, reply_of, retry_after
from surface.adapters.trace_context import trace_headers
from surface.errors import ConfigurationError, RankerUnavailable
from surface.protocol import MAX_DEADLINE_MS, RankBody, RankReply
from surface.ranking import RankRequest

CODES: Final = frozenset(
    "timeout deadline unreachable overloaded rate_limited unauthorised server_error unknown_surface index_unusable"
    " rejected malformed_reply breaker_open".split()
)
"""Every code a `RankerUnavailable` from here can have."""

# The service answered and is well; what was asked, by whom or how often is at fault, and others may be fine.
_ANSWERED: Final = frozenset({"unknown_surface", "index_unusable", "rejected", "unauthorised", "rate_limited"})
_SPREAD: Final = 0.1
"""Seconds; never more than half of what is left of the timeout after the pause that was asked for."""
_BROKE: Final = (httpx2.NetworkError, httpx2.RemoteProtocolError)
_LIMITS: Final = httpx2.Limits(max_connections=1_000, max_keepalive_connections=20)
"""Waiting for a place among our own connections must not read as the service's failure."""


class SelectorClient:
    """Asks a ranking service. Share one client among all runs of a process.

    async with SelectorClient("http://selector:8080", api_key=key) as ranker: ...
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 1.0,
        client: httpx2.AsyncClient | None = None,
        breaker_failures: int = 5,
        breaker_cool_down: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`base_url` may have a path; `timeout` and `breaker_cool_down` are seconds, `api_key` may be a signed token;
        `chance` gives numbers from 0 up to 1, for rule 2.

        Keep `timeout` below the deadline of the search: a call that its deadline cancels is no evidence against the
        service, so it never opens the breaker. A `client` given here (for TLS, proxies, headers) stays the caller's
        to close, and belongs to one event loop. Raises ConfigurationError naming the argument.
        """
        url = _base(base_url)
        if not 0 < timeout < math.inf:
            raise ConfigurationError("timeout: needs a positive number of seconds")
        if breaker_failures < 1:
            raise ConfigurationError("breaker_failures: needs at least 1")
        if not breaker_cool_down > 0:
            raise ConfigurationError("breaker_cool_down: needs a positive number of seconds")
        self._base_url = url
        self._headers = _headers(api_key)
        self._timeout = timeout
        self._given = client
        self._chance = chance
        self._clients = LoopClients(_client)
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
        """Closes the connections this client opened, those of other loops too while they run; twice does no harm."""
        await self._clients.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _ask(self, request: RankRequest) -> RankReply:
        body = _body(request)
        url = (
            f"{self._base_url}/v1/applications/{_segment(request.application)}"
            f"/surfaces/{_segment(request.surface)}/rank"
        )
        until = asyncio.get_running_loop().time() + self._timeout
        try:
            client = self._given or self._clients.here()
            # One limit over everything: the client's own timeouts bound each read, and a peer that sends a byte now
            # and then would never meet them.
            async with asyncio.timeout_at(until):
                status, content = await self._sent(client, url, body, until)
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
        return reply_of(status, content, request)

    async def _sent(self, client: httpx2.AsyncClient, url: str, body: bytes, until: float) -> tuple[int, bytes]:
        """Status and body of the answer, of the second try where rule 2 has one."""
        try:
            status, content, pause = await self._sent_once(client, url, body, until)
        except _BROKE:
            return (await self._sent_once(client, url, body, until))[:2]
        left = until - asyncio.get_running_loop().time()
        if pause is None or pause >= left:
            return status, content
        await asyncio.sleep(pause + self._chance() * min(_SPREAD, (left - pause) / 2))
        return (await self._sent_once(client, url, body, until))[:2]

    async def _sent_once(
        self, client: httpx2.AsyncClient, url: str, body: bytes, until: float
    ) -> tuple[int, bytes, float | None]:
        left = until - asyncio.get_running_loop().time()
        async with client.stream(
            "POST",
            url,
            content=body,
            headers={**self._headers, **trace_headers(), "x-request-deadline-ms": str(_milliseconds(left))},
            timeout=self._timeout,
            follow_redirects=False,
        ) as response:
            return response.status_code, await read_content(response), retry_after(response)


def _milliseconds(left: float) -> int:
    return min(max(1, math.floor(left * 1_000)), MAX_DEADLINE_MS)


def _client() -> httpx2.AsyncClient:
    # A ranker needs no cookies; kept, one hostile answer's would weigh on every later request, to refusal.
    no_cookies = CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))
    return httpx2.AsyncClient(follow_redirects=False, cookies=no_cookies, limits=_LIMITS)


def _headers(api_key: str | None) -> dict[str, str]:
    headers = {"content-type": "application/json", "accept": "application/json"}
    if api_key is None:
        return headers
    if not api_key or not api_key.isascii() or not api_key.isprintable() or " " in api_key:
        raise ConfigurationError("api_key: needs the key as `toolsurface key new` prints it, or a signed token")
    return {**headers, "authorization": f"Bearer {api_key}"}


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
