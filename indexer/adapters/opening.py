"""Opens a store by what `--store` names.

    DIR                                              a directory; file:///… says the same
    redis://[user:password@]host[:port][/db]         Redis or Valkey; rediss:// over TLS
    redis+cluster://[user:password@]host[:port]      a cluster of either; rediss+cluster:// over TLS
    s3://bucket/prefix  gs://…  az://…               an object store

A password may stand in the variable `PASSWORD_VARIABLE` instead, where no list of processes shows it; for object
stores everything secret does, in the provider's own variables. The libraries of a kind are imported when a store of
that kind is opened, so each needs only its own extra.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from indexer.adapters.directory_store import DirectoryStore
from indexer.errors import StoreError
from indexer.ports import ArtefactStore, VectorStore

PASSWORD_VARIABLE: Final = "TOOLSURFACE_STORE_PASSWORD"  # noqa: S105 - the name of a variable, not its content
_REDIS: Final = ("redis", "rediss", "redis+cluster", "rediss+cluster")
_OBJECTS: Final = ("s3", "gs", "az")
_PLAIN: Final = re.compile(r"(\./|\.\./|/(?!/)).*|[^:@;]*", re.DOTALL)
"""What is a directory; anything else may be a URL with something missing, which must not become one and so stand in
messages, password and all."""


def open_store(
    location: str, *, there: bool = False, followed: bool = False, environ: Mapping[str, str] = os.environ
) -> ArtefactStore:
    """The store at a location; a server is not connected before it is used.

    `followed`: for who only reads it, again and again, and so waits for no server of it more than once.
    Raises `StoreError`, with one sentence that holds no password, where the location cannot be one, the library for
    such a store is not installed, or `there` asks for a directory that exists and none does.
    """
    before, colon, _ = location.partition("://")
    scheme = before if colon and before in ("file", *_REDIS, *_OBJECTS) else None
    if location in ("", "-") or (scheme is None and not _PLAIN.fullmatch(location)):
        known = ", ".join(f"{one}://" for one in (*_REDIS, *_OBJECTS))
        raise StoreError(
            f"--store: needs one of {known} or a directory; ./ before its name where that is - or has : @ or ;"
        )
    try:
        if scheme in _REDIS:
            return _redis(location, password=environ.get(PASSWORD_VARIABLE), followed=followed)
        if scheme in _OBJECTS:
            allow_http = environ.get("AWS_ALLOW_HTTP", "").lower() == "true"
            return _objects(location, allow_http=allow_http, followed=followed)
        path = _path(location) if scheme == "file" else Path(location)
    except ValueError as error:
        raise StoreError(f"--store: {error}") from None
    except ModuleNotFoundError as error:
        extra = "redis" if scheme in _REDIS else "object-store"
        raise StoreError(
            f"--store: {scheme}:// needs {error.name}, which the extra brings: pip install 'toolsurface[{extra}]'"
        ) from None
    if "\0" in str(path):
        raise StoreError("--store: the name of a directory holds no zero byte; mend the path")
    if there:
        try:
            is_there = path.is_dir()
        except OSError as error:
            raise StoreError(f"--store: {path}: {error.strerror}; mend the path, or the rights on it") from None
        if not is_there:
            raise StoreError(f"--store: {path} is no directory; deploy makes it, or mend the path")
    return DirectoryStore(path)


def open_vectors(location: str, *, environ: Mapping[str, str] = os.environ) -> VectorStore:
    """The place of vectors outside replicas, a Redis ≥ 8 or a cluster of them; not connected before it is used.

    Raises `StoreError`, with one sentence that holds no password.
    """
    if not names_redis(location):
        raise StoreError(f"--vectors: needs one of {', '.join(f'{one}://' for one in _REDIS)}")
    try:
        from indexer.adapters import redis_link, redis_vectors  # noqa: PLC0415 - see the head of this file

        place = redis_link.read_redis_url(location, password=environ.get(PASSWORD_VARIABLE))
        return redis_vectors.RedisVectors(place)
    except ValueError as error:
        raise StoreError(f"--vectors: {error}") from None
    except ModuleNotFoundError as error:
        raise StoreError(
            f"--vectors: needs {error.name}, which the extra brings: pip install 'toolsurface[redis]'"
        ) from None


def names_redis(location: str) -> bool:
    """Whether a location is a URL of a Redis or Valkey; `redis_link.read_redis_url` reads it."""
    scheme, there, _ = location.partition("://")
    return bool(there) and scheme in _REDIS


def _path(location: str) -> Path:
    parts = urlsplit(location)
    if parts.netloc or parts.query or parts.fragment or not parts.path.startswith("/"):
        raise ValueError("file:// needs three slashes and a whole path, ? and # escaped, or say the path alone")
    return Path(unquote(parts.path))


def _redis(url: str, *, password: str | None, followed: bool) -> ArtefactStore:
    from indexer.adapters import redis_link, redis_store  # noqa: PLC0415 - see the head of this file

    place = redis_link.read_redis_url(url, password=password)
    return redis_store.followed_redis_store(place) if followed else redis_store.redis_store(place)


def _objects(url: str, *, allow_http: bool, followed: bool) -> ArtefactStore:
    from indexer.adapters import object_store  # noqa: PLC0415 - see the head of this file

    opened = object_store.followed_object_store if followed else object_store.object_store
    return opened(object_store.read_object_url(url), allow_http=allow_http)
