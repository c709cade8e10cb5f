"""Vectors outside the replicas: one Vector Set for each index version, in Redis ≥ 8, one server or a cluster.

    <namespace>:{<application>/<surface>/<version>}:vectors   element r = row r of the version, as float32
    <namespace>:{<application>/<surface>/<version>}:turn      whose turn it is to upload
    <namespace>:{<application>/<surface>/<version>}:wanted    who last wanted it to be there
    <namespace>:{<application>}:vectors                       which versions there are

Rules kept here:

1. One version is one key, so it is on one server of a cluster: nothing is merged, and a cluster spreads versions.
2. Every vector is compared, at full precision (TRUTH, NOQUANT): the same rows as FAISS (`docs/decisions/0017`).
3. An upload goes on where another one stopped, and ends only when the server counts every row and gives some of them
   back as they went in; on a primary with a replica, only when one has them too.
4. Every answer says how many rows the set had. One that lost some, or was removed, is no answer but an error.
5. A search does not wait: a second for an answer, and none while the server does not answer (`quick_link.py`).
6. Vectors are added without CAS, which would look for neighbours beside the server's main thread: Redis 8.2 cannot load
   an append-only file again that holds such a command, neither its own nor a replica's.
7. A prune takes nothing from under an upload: whoever wants a version says so before it counts, and a prune removes
   only what nobody has wanted since before it asked which versions are kept. What it has removed, the next upload
   writes again.

Not done here: verifying an artefact (`indexer.index` does, before it gives its vectors away).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import numpy as np
import redis
from numpy.typing import NDArray
from redis import exceptions as refusals

from indexer.adapters.quick_link import QuickLink
from indexer.adapters.redis_link import RedisLink, RedisPlace, RedisWaits
from indexer.artefact import IndexManifest
from indexer.errors import MENDED, ArtefactError, StoreError, StoreUnavailableError
from indexer.nearest import Hits, nearest
from indexer.progress import Progress, silent

SEARCH_WAITS: Final = RedisWaits(connect_s=0.5, answer_s=1.0, tries=0)
"""A search is answered by words instead; who uploads has more patience."""
_LOT: Final = 64
_AT_ONCE: Final = 8
"""Vectors that a server is given together: it looks for the neighbours of each before it does anything else."""
_TURN_MS: Final = 15_000
_LOOK_S: Final = 0.1
_SAMPLES: Final = 8
_UNIT: Final = 1e-3
_SAME: Final = 1e-4
_UNLESS_WANTED: Final = """
if (redis.call('GET', KEYS[2]) or '') ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2])
return 1
"""
_ONLY_MINE: Final = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class RedisVectors:
    """The vector sets of a place; connects on first use, and threads may share it."""

    def __init__(self, place: RedisPlace, *, waits: RedisWaits = RedisWaits()) -> None:  # noqa: B008 - frozen
        """`waits` are those of uploads and removals."""
        self._patient = RedisLink(place, waits=waits)
        self._quick = QuickLink(RedisLink(place, waits=SEARCH_WAITS))

    @property
    def name(self) -> str:
        """The place without user and password."""
        return self._patient.place.name

    def index_of(self, manifest: IndexManifest, vectors: NDArray[np.float32]) -> RedisVectorIndex:
        """The index of a verified version, uploaded where it is not complete there; it does not hold `vectors`.

        Raises what `upload` raises.
        """
        self.upload(manifest, vectors)
        return RedisVectorIndex(self._quick, self._key(manifest), tools=manifest.tools, dimension=manifest.dimension)

    def prepare(self, application: str) -> None:
        """Raises `StoreError` where the server does not answer or knows no vector sets; of a cluster one is asked."""
        key = f"{self._patient.place.namespace}:{{{application}}}:none"
        with self._patient.node(key) as node:
            _asked(self.name, node, "VCARD", key)

    def upload(self, manifest: IndexManifest, vectors: NDArray[np.float32], *, progress: Progress = silent) -> None:
        """Returns when every row is there; `vectors` are unit vectors, shape (tools, dimension), already verified.

        Where all are there, no vector is written. Raises `StoreError` where the server cannot hold vector sets or
        cannot be reached (then the next upload goes on), `ArtefactError` where a vector has another length than 1.
        """
        lengths = np.einsum("ij,ij->i", vectors, vectors)
        if not bool(np.all(np.abs(lengths - 1.0) <= _UNIT)):
            raise ArtefactError(
                f"surface {manifest.surface}: version {manifest.version} has a vector whose length is not 1, which a "
                "vector set would change; build it with a model that normalises"
            )
        if not manifest.tools:
            return
        key = self._key(manifest)
        self._enlist(manifest)
        with self._patient.node(key) as node:
            node.set(_wanted(key), secrets.token_hex(8))
        if self._sound(key, vectors):
            return
        with self._turn(key) as extend:
            if self._sound(key, vectors):  # another uploader was faster
                return
            missing = np.setdiff1d(np.arange(manifest.tools), self._present(key), assume_unique=True)
            for at in range(0, len(missing), _LOT):
                progress("uploading", manifest.tools - len(missing) + at, manifest.tools)
                self._add(key, vectors, missing[at : at + _LOT])
                extend()
            self._settle(key)
            if not self._sound(key, vectors):
                raise StoreUnavailableError(
                    f"{self.name}: lost some vectors of surface {manifest.surface} while they were uploaded; try again"
                )
            self._enlist(manifest)  # a prune may have removed the name before any vector was there
            progress("uploading", manifest.tools, manifest.tools)

    def prune(
        self, application: str, *, kept: Callable[[], Collection[tuple[str, str]]]
    ) -> tuple[tuple[str, str], ...]:
        """Removes the vectors of every version (surface, version) that is not kept, and answers with them.

        `kept` is asked once, after the first look at what is there; see `indexer.ports.VectorStore`.
        """
        with self._patient.client() as client:
            members: set[bytes] = client.smembers(self._list(application))  # type: ignore[assignment]
        named = [member.decode("ascii", "replace") for member in sorted(members)]
        keys = {name: f"{self._patient.place.namespace}:{{{application}/{name}}}:vectors" for name in named}
        wanted: dict[str, bytes] = {}
        for name, key in keys.items():
            with self._patient.node(key) as node:
                wanted[name] = node.get(_wanted(key)) or b""  # type: ignore[assignment]  # not awaitable here
        stays = {f"{surface}/{version}" for surface, version in kept()}
        gone = [
            name for name in named if name not in stays and self._removed(application, name, keys[name], wanted[name])
        ]
        return tuple((surface, version) for surface, _, version in (name.partition("/") for name in gone))

    def _removed(self, application: str, name: str, key: str, wanted: bytes) -> bool:
        """Removes a version, but where somebody has wanted it since; whether it did."""
        with self._patient.node(key) as node:
            if not node.eval(_UNLESS_WANTED, 2, key, _wanted(key), wanted):
                return False
        with self._patient.client() as client:
            client.srem(self._list(application), name)
            if client.exists(key):  # somebody has begun to upload it again
                client.sadd(self._list(application), name)
        return True

    def _enlist(self, manifest: IndexManifest) -> None:
        with self._patient.client() as client:
            client.sadd(self._list(manifest.application), f"{manifest.surface}/{manifest.version}")

    def _key(self, manifest: IndexManifest) -> str:
        version = f"{manifest.application}/{manifest.surface}/{manifest.version}"
        return f"{self._patient.place.namespace}:{{{version}}}:vectors"

    def _list(self, application: str) -> str:
        return f"{self._patient.place.namespace}:{{{application}}}:vectors"

    def _sound(self, key: str, vectors: NDArray[np.float32]) -> bool:
        """Whether every row is there, as it should be. What holds something else is removed."""
        tools, dimension = vectors.shape
        samples = np.unique(np.linspace(0, tools - 1, _SAMPLES, dtype=np.int64))
        with self._patient.node(key) as node:
            count = int(_asked(self.name, node, "VCARD", key))
            if not count:
                return False
            facts = _asked(self.name, node, "VINFO", key)
            held = [_asked(self.name, node, "VEMB", key, int(row)) for row in samples]
            right = (facts[b"quant-type"], facts[b"vector-dim"]) == (b"f32", dimension) and all(
                one is None or np.allclose(one, vectors[row], atol=_SAME)
                for row, one in zip(samples, held, strict=True)
            )
            if not right or count > tools:
                node.unlink(key)
                return False
            return bool(count == tools)

    def _present(self, key: str) -> NDArray[np.int64]:
        with self._patient.node(key) as node:
            count = int(_asked(self.name, node, "VCARD", key))
            # Asked for more than there are, it gives each of them once.
            rows = _asked(self.name, node, "VRANDMEMBER", key, count + 1) if count else ()
            return np.fromiter(map(int, rows), dtype=np.int64, count=len(rows))

    def _add(self, key: str, vectors: NDArray[np.float32], rows: NDArray[np.int64]) -> None:
        with self._patient.node(key) as node:
            for at in range(0, len(rows), _AT_ONCE):
                with node.pipeline(transaction=False) as pipeline:
                    for row in rows[at : at + _AT_ONCE]:
                        data = np.ascontiguousarray(vectors[row], dtype="<f4").tobytes()
                        pipeline.execute_command("VADD", key, "FP32", data, int(row), "NOQUANT")  # type: ignore[no-untyped-call]
                    pipeline.execute()

    def _settle(self, key: str) -> None:
        wait_s = self._patient.waits.replica_s
        with self._patient.node(key) as node:
            if not int(node.info("replication").get("connected_slaves", 0)):
                return
            with node.pipeline(transaction=False) as pipeline:
                pipeline.pexpire(_turn_of(key), _TURN_MS)  # WAIT is about what its own connection wrote, and all before
                pipeline.execute_command("WAIT", 1, round(wait_s * 1000))  # type: ignore[no-untyped-call]
                replicas = pipeline.execute()[-1]
        if not replicas:
            raise StoreUnavailableError(f"{self.name}: no replica has the vectors within {wait_s:g} s; try again")

    @contextmanager
    def _turn(self, key: str) -> Iterator[Callable[[], None]]:
        """One uploader of a version at a time; what it yields is called now and then, or the turn ends."""
        mine, turn = secrets.token_hex(8), _turn_of(key)
        while True:
            with self._patient.node(turn) as node:
                if node.set(turn, mine, nx=True, px=_TURN_MS):
                    break
            time.sleep(_LOOK_S)

        def extend() -> None:
            with self._patient.node(turn) as node:
                node.set(turn, mine, px=_TURN_MS)

        try:
            yield extend
        finally:
            with suppress(StoreError), self._patient.node(turn) as node:  # it ends by itself
                node.eval(_ONLY_MINE, 1, turn, mine)


class RedisVectorIndex:
    """Implements `indexer.ports.VectorIndex` without holding a vector; threads may share it."""

    __slots__ = ("_dimension", "_key", "_link", "_tools")

    def __init__(self, link: QuickLink, key: str, *, tools: int, dimension: int) -> None:
        self._link = link
        self._key = key
        self._tools = tools
        self._dimension = dimension

    def search(self, queries: NDArray[np.float32], k: int) -> Hits:
        """The best k rows for each query, best first, equal scores in row order: scores and rows, (n, min(k, tools)).

        Raises ValueError as every vector index does, `StoreError` where the server does not answer in time, or the
        set is not whole.
        """
        return nearest(queries, k, tools=self._tools, dimension=self._dimension, found=self._found)

    def _found(self, queries: NDArray[np.float32], k: int) -> list[Hits]:
        count, answers = self._link.ask(self._key, lambda node: self._asked(node, queries, k))
        if count != self._tools:
            raise StoreError(f"{self._link.name}: holds {count} of {self._tools} vectors of a version; {MENDED}")
        lengths = np.linalg.norm(queries, axis=1)
        return [_hits(answer, k, length=float(length)) for answer, length in zip(answers, lengths, strict=True)]

    def _asked(self, node: redis.Redis, queries: NDArray[np.float32], k: int) -> tuple[int, list[dict[bytes, float]]]:
        with node.pipeline(transaction=False) as pipeline:
            pipeline.execute_command("VCARD", self._key)  # type: ignore[no-untyped-call]
            for query in queries:
                data = query.astype("<f4", copy=False).tobytes()
                pipeline.execute_command("VSIM", self._key, "FP32", data, "WITHSCORES", "COUNT", k, "TRUTH")  # type: ignore[no-untyped-call]
            count, *answers = pipeline.execute()
        return int(count), answers


def _hits(answer: dict[bytes, float], k: int, *, length: float) -> Hits:
    rows = np.fromiter(map(int, answer), dtype=np.int64, count=len(answer))
    similar = np.fromiter(answer.values(), dtype=np.float64, count=len(answer))
    if len(rows) != k:
        raise StoreError(f"a vector set answered {len(rows)} of {k} rows")
    # A similarity is (cosine + 1) / 2, whatever the length of the query.
    return (length * (2.0 * similar - 1.0)).astype(np.float32), rows


def _turn_of(key: str) -> str:
    return key.removesuffix("vectors") + "turn"


def _wanted(key: str) -> str:
    return key.removesuffix("vectors") + "wanted"


def _asked(name: str, node: redis.Redis, *command: Any) -> Any:
    try:
        return node.execute_command(*command)  # type: ignore[no-untyped-call]
    except refusals.ResponseError as error:
        if not str(error).lower().startswith("unknown command"):
            raise
        raise StoreError(
            f"{name}: knows no vector sets; they need Redis 8 or newer (Valkey has none), or leave out --vectors"
        ) from None
