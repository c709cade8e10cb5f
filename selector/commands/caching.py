"""`--cache`, `--cache-size` and `--cache-key-file`: whether rankings are remembered, where, and under whose keys."""

from __future__ import annotations

import argparse
import os
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from indexer.adapters.opening import PASSWORD_VARIABLE, names_redis
from selector.adapters.memory_cache import MemoryRankingCache
from selector.adapters.regular_file import read_regular
from selector.commands.memory import size
from selector.layered_cache import LayeredRankingCache
from selector.ports import RankingCache
from selector.rankings import LEAST_SECRET, MOST_SECRET
from surface.adapters.command_line import WrongUseError, say

if TYPE_CHECKING:
    from selector.adapters.redis_cache import Client

_SIZE: Final = 16_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCache:
    """What the options ask for."""

    cache: RankingCache | None
    key: bytes | None
    close: Callable[[], Awaitable[None]]
    """Called in the event loop that used the cache, once it serves no more."""


def add_cache(parser: argparse._ActionsContainer) -> None:
    """The options; `chosen_cache` reads them."""
    parser.add_argument(
        "--cache",
        default="memory",
        metavar="WHERE",
        help="remember rankings in memory, nowhere (none), or in Redis too, for all replicas (redis://host:6379/0, "
        f"redis+cluster://…; a password may stand in ${PASSWORD_VARIABLE}). No query is kept anywhere "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--cache-size", type=size, default=_SIZE, metavar="BYTES", help="of the cache in memory (default: 16MB)"
    )
    parser.add_argument(
        "--cache-key-file",
        type=Path,
        metavar="FILE",
        help=f"{LEAST_SECRET} to {MOST_SECRET} random bytes that key the cache; replicas that share a cache need the "
        "same (default: drawn at each start)",
    )


def chosen_cache(arguments: argparse.Namespace) -> ChosenCache:
    """The cache that the options name; raises WrongUseError that names the option and the fix."""
    if arguments.cache == "none":
        return ChosenCache(cache=None, key=None, close=_nothing)
    key = _secret(arguments.cache_key_file)
    near = MemoryRankingCache(max_bytes=arguments.cache_size)
    if arguments.cache == "memory":
        return ChosenCache(cache=near, key=key, close=_nothing)
    if not names_redis(arguments.cache):
        raise WrongUseError("--cache: needs memory, none, redis://host:6379/0 or redis+cluster://host:6379")
    if arguments.cache_key_file is None:
        say("--cache-key-file: none given, so no other replica will find what this one keeps")
    connect, namespace = _redis(arguments.cache)
    from selector.adapters.redis_cache import RedisRankingCache  # noqa: PLC0415 - needs an extra

    far = RedisRankingCache(connect=connect, namespace=namespace)
    return ChosenCache(cache=LayeredRankingCache(near=near, far=far), key=key, close=far.close)


def _redis(url: str) -> tuple[Callable[[], Client], str]:
    try:
        from redis.asyncio import Redis  # noqa: PLC0415 - needs an extra
        from redis.asyncio.cluster import RedisCluster  # noqa: PLC0415

        from indexer.adapters.redis_link import read_redis_url  # noqa: PLC0415
    except ImportError:
        raise WrongUseError("--cache: Redis needs an extra; pip install 'toolsurface[redis]'") from None
    try:
        place = read_redis_url(url, password=os.environ.get(PASSWORD_VARIABLE))
    except ValueError as error:
        raise WrongUseError(f"--cache: {error}") from None
    options: dict[str, Any] = {
        "username": place.user,
        "password": place.password,
        "socket_connect_timeout": 1.0,
        "socket_timeout": 1.0,
        "client_name": "toolsurface",
    }
    if place.tls:
        options |= {"ssl": True, **dict(place.tls_files)}

    def connect() -> Client:
        if place.cluster:
            return RedisCluster(host=place.host, port=place.port, **options)
        return Redis(host=place.host, port=place.port, db=place.database, **options)

    return connect, place.namespace


def _secret(file: Path | None) -> bytes:
    if file is None:
        return secrets.token_bytes(32)
    try:
        secret = read_regular(file, ceiling=MOST_SECRET)
    except OSError as error:
        raise WrongUseError(f"--cache-key-file: {file}: {error.strerror or 'cannot be read'}") from error
    if not LEAST_SECRET <= len(secret) <= MOST_SECRET:
        raise WrongUseError(
            f"--cache-key-file: {file}: needs {LEAST_SECRET} to {MOST_SECRET} bytes; "
            "head -c 32 /dev/urandom > FILE makes them"
        )
    return secret


async def _nothing() -> None:
    """Memory needs no closing."""
