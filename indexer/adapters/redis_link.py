"""A connection to Redis or Valkey, one server or a cluster, and what its refusals mean.

    redis://[user:password@]host[:port][/db][?namespace=N]     one server
    redis+cluster://[user:password@]host[:port][?namespace=N]  a cluster, found from any of its nodes
    rediss://…, rediss+cluster://…                             the same over TLS; certificates are verified

Rules kept here:

1. A password is never shown: messages name scheme, host and port, and quote nothing of a URL that is refused, as any
   part of it may be what follows an unescaped `#`, `/`, `?` or `@` in a password.
2. Every error of the client is one `StoreError`; where trying again may help, it is a `StoreUnavailableError`.
3. Nothing waits for ever: see `RedisWaits`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import redis
from redis import exceptions as refusals
from redis.backoff import ExponentialWithJitterBackoff
from redis.cluster import RedisCluster
from redis.retry import Retry

from indexer.errors import StoreError, StoreUnavailableError, kind_of

T = TypeVar("T")
Client: TypeAlias = "redis.Redis | RedisCluster"
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?")
_TLS_FILES: Final = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_MEANINGS: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[StoreError], str], ...]] = (
    (
        (
            refusals.AuthenticationError,
            refusals.AuthorizationError,
            refusals.AuthenticationWrongNumberOfArgsError,
        ),
        StoreError,
        "refuses the user or the password; mend the URL, or the variable that holds the password",
    ),
    (refusals.NoPermissionError, StoreError, "the user lacks a right ({shown}); grant it"),
    (refusals.OutOfMemoryError, StoreError, "its memory is full; prune, or raise maxmemory"),
    (
        refusals.ReadOnlyError,
        StoreUnavailableError,
        "is a replica just now; name the primary, or wait for the failover",
    ),
)
_PASSING: Final = (
    refusals.ConnectionError,
    refusals.TimeoutError,
    refusals.ClusterError,
    refusals.AskError,
    refusals.TryAgainError,
    refusals.RedisClusterException,
    OSError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisPlace:
    """What a URL says."""

    tls: bool
    cluster: bool
    host: str
    port: int
    database: int
    namespace: str
    """What every key begins with, so that several stores may share a server."""
    user: str | None
    password: str | None
    tls_files: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The place without user and password."""
        scheme = f"redis{'s' if self.tls else ''}{'+cluster' if self.cluster else ''}"
        return f"{scheme}://{self.address}" + (f"/{self.database}" if self.database else "")

    @property
    def address(self) -> str:
        """``host:port``."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisWaits:
    """How long a client waits."""

    connect_s: float = 5.0
    answer_s: float = 10.0
    tries: int = 3
    """More tries, after the first one, where a connection was refused or lost; in a cluster also without an answer."""
    replica_s: float = 5.0
    """For a replica to confirm what was written; less than `answer_s`."""


def read_redis_url(url: str, *, password: str | None = None) -> RedisPlace:
    """What the URL says; raises ValueError that names the part, and quotes nothing.

    `password` is used where the URL has none.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or 6379
    except ValueError:
        raise ValueError("a port or an address that cannot be; needs redis://host:6379/0") from None
    cluster = parts.scheme.endswith("+cluster")
    host = parts.hostname or ""
    if not _HOST.fullmatch(host) or parts.fragment or "@" in parts.path + parts.query:
        raise ValueError("needs redis://[user:password@]host[:port][/db]; escape # / ? @ in a password as %23 %2F …")
    database = parts.path.strip("/")
    if not re.fullmatch(r"[0-9]{0,6}", database) or (cluster and database not in ("", "0")):
        raise ValueError("after the host only the number of a database may follow, and none in a cluster")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if not set(query) <= {"namespace", *_TLS_FILES}:
        raise ValueError(
            f"after ? only namespace, {', '.join(_TLS_FILES)} may follow; escape # / ? @ in a password as %23 %2F …"
        )
    namespace = query.get("namespace", "toolsurface")
    if re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", namespace) is None:
        raise ValueError("?namespace: needs 1-64 characters of A-Z a-z 0-9 _ . -")
    tls = parts.scheme.startswith("rediss")
    if not tls and len(query.keys() - {"namespace"}) > 0:
        raise ValueError("certificates are for rediss:// and rediss+cluster://")
    return RedisPlace(
        tls=tls,
        cluster=cluster,
        host=host,
        port=port,
        database=int(database or 0),
        namespace=namespace,
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else password,
        tls_files=tuple((name, query[name]) for name in _TLS_FILES if name in query),
    )


class RedisLink:
    """Connects on first use, and again after a loss; threads may share it."""

    def __init__(self, place: RedisPlace, *, waits: RedisWaits = RedisWaits()) -> None:
        self.place = place
        self.waits = waits
        self._opening = Lock()
        self._client: Client | None = None

    @contextmanager
    def client(self) -> Iterator[Client]:
        """The client for any key, its errors told as ours."""
        with self.told():
            yield self._opened()

    def ask(self, _key: str, question: Callable[[Client], T]) -> T:
        """What the client answers, which finds the server of any key; raises `StoreError`."""
        with self.client() as client:
            return question(client)

    @contextmanager
    def node(self, key: str) -> Iterator[redis.Redis]:
        """A client of the one server that holds a key now; where that moves meanwhile, try again."""
        with self.told():
            _, client = self.holder(key)
            try:
                yield client
            except (refusals.ConnectionError, refusals.TimeoutError, refusals.AskError, refusals.ReadOnlyError):
                self.reread()  # MovedError is an AskError
                raise

    def holder(self, key: str) -> tuple[str, redis.Redis]:
        """The name and a client of the server that held a key when the cluster was last asked; inside of `told`."""
        client = self._opened()
        if isinstance(client, redis.Redis):
            return self.place.address, client
        node = client.get_node_from_key(key)  # type: ignore[no-untyped-call]
        return str(node.name), client.get_redis_connection(node)

    @contextmanager
    def primaries(self) -> Iterator[Mapping[str, redis.Redis]]:
        """A client of each server that holds keys now, by its name; where that changes meanwhile, try again."""
        with self.told():
            client = self._opened()
            if isinstance(client, redis.Redis):
                yield {self.place.address: client}
                return
            nodes = client.get_primaries()  # type: ignore[no-untyped-call]
            try:
                yield {str(node.name): client.get_redis_connection(node) for node in nodes}
            except (refusals.ConnectionError, refusals.TimeoutError):
                self.reread()
                raise

    @property
    def is_open(self) -> bool:
        """Whether it has connected once, so that `holder` asks nobody."""
        return self._client is not None

    def reread(self) -> None:
        """Asks a cluster again which server holds what; inside of `told`."""
        client = self._opened()
        if not isinstance(client, redis.Redis):
            client.nodes_manager.initialize()

    def _opened(self) -> Client:
        with self._opening:
            if self._client is None:
                self._client = _connected(self.place, self.waits)
            return self._client

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tells the client's errors inside of it as ours; the client's own is the cause."""
        try:
            yield
        except (refusals.RedisError, refusals.RedisClusterException, OSError) as error:
            raise _as_ours(error, self.place) from error


def _connected(place: RedisPlace, waits: RedisWaits) -> Client:
    options: dict[str, Any] = {
        "username": place.user,
        "password": place.password,
        "socket_connect_timeout": waits.connect_s,
        "socket_timeout": waits.answer_s,
        "health_check_interval": 30,
        "client_name": "toolsurface",
    }
    if place.tls:
        options |= {"ssl": True, **dict(place.tls_files)}
    backoff = ExponentialWithJitterBackoff(base=0.1, cap=1.0)
    if place.cluster:  # of which another server may have the key by the next try
        return RedisCluster(host=place.host, port=place.port, retry=Retry(backoff, waits.tries), **options)
    # Not where nobody answered in time: the client would try again, and each try would try to connect so often.
    retry = Retry(backoff, waits.tries, supported_errors=(refusals.ConnectionError,))
    return redis.Redis(host=place.host, port=place.port, db=place.database, retry=retry, **options)


def _as_ours(error: Exception, place: RedisPlace) -> StoreError:
    for kinds, ours, meaning in _MEANINGS:
        if isinstance(error, kinds):
            return ours(f"{place.name}: {meaning.format(shown=kind_of(error))}")
    if isinstance(error, refusals.AskError) and not place.cluster:
        return StoreError(f"{place.name}: is a node of a cluster; say redis+cluster:// instead of redis://")
    if isinstance(error, refusals.RedisClusterException) and "not enabled" in str(error):
        return StoreError(f"{place.name}: is no cluster; say redis:// instead of redis+cluster://")
    if isinstance(error, refusals.ResponseError) and str(error).startswith("MISCONF"):
        return StoreError(f"{place.name}: cannot save to its own disk and takes no writes; mend that server")
    if isinstance(error, refusals.ResponseError) and str(error).startswith("NOREPLICAS"):
        return StoreUnavailableError(
            f"{place.name}: has fewer replicas than it wants (min-replicas-to-write) and takes no writes; "
            "see how the replicas are, and try again"
        )
    if isinstance(error, _PASSING):
        return StoreUnavailableError(
            f"{place.name}: cannot be reached now ({kind_of(error)}); "
            "see that it runs and that this machine may connect"
        )
    return StoreError(f"{place.name}: refused with {kind_of(error)}")
