"""Rates in a Redis or Valkey that the replicas share; needs the extra ``redis``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from limits.aio.storage import RedisClusterStorage, RedisStorage
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from selector.adapters.rates import SharedStorage

_ANSWER_SECONDS: Final = 0.1
"""A request waits for this; where it is not enough, the replica counts for itself (`rates.py`)."""


def shared_rates(address: str, *, cluster: bool, tls: bool, namespace: str, login: Mapping[str, Any]) -> SharedStorage:
    """The storage of one server (`address`: ``host:port/database``) or of a cluster (``host:port``).

    `login`: redis-py's arguments for user, password and certificates. Nothing is connected before it is used.
    """
    options: dict[str, Any] = {
        "implementation": "redispy",
        "key_prefix": f"{namespace}:rate",
        "socket_timeout": _ANSWER_SECONDS,
        "socket_connect_timeout": _ANSWER_SECONDS,
        "retry": Retry(NoBackoff(), 0),
        **login,
    }
    storage: RedisStorage | RedisClusterStorage
    if cluster:
        storage = RedisClusterStorage(f"async+redis+cluster://{address}", ssl=tls, **options)
    else:
        storage = RedisStorage(f"async+redis{'s' if tls else ''}://{address}", **options)
    client = storage.bridge.get_connection()  # type: ignore[attr-defined]  # the bridge to redis-py has it
    return SharedStorage(storage=storage, close=client.aclose)
