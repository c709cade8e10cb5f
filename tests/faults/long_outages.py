"""A process under whose deploys the store is away for thirty seconds, or the place of their vectors, with the waits of
production.

    python -m tests.faults.long_outages FOLDER

All outages at once, each in a process with a server of its own, so that they take little longer than one. A line of
JSON is printed for each when its deploy has ended, the store is back, was looked at and was deployed to again.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Literal, NoReturn

from indexer.adapters.opening import open_store, open_vectors
from indexer.adapters.patient_store import WAIT_S
from indexer.deploying import deploy_catalog
from indexer.errors import StoreUnavailableError
from tests.faults.deployers import NEW, OLD, health_seen
from tests.indexer.redis_server import BINARIES, free_port, start
from tests.indexer.s3_server import running_s3, s3_settings
from tests.indexer.samples import EMBEDDER

AWAY_S = 30.0
DEADLINE_S = 200
"""After which a process that hangs ends, and its server with it."""
KEPT = ("--appendonly", "yes", "--appendfsync", "always")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """One store that goes away under one deploy."""

    store: Literal["redis", "s3", "vectors"]
    """The last is a Redis that keeps the vectors, beside a directory for the store."""
    how: Literal["hangs", "dies"]
    at: str
    """The stage at whose beginning it goes."""
    wait_s: float = WAIT_S
    """For how long the deploy waits for it, in seconds."""


OUTAGES = (
    Outage(store="redis", how="hangs", at="reading"),
    Outage(store="redis", how="hangs", at="publishing"),
    Outage(store="redis", how="hangs", at="activating"),
    Outage(store="redis", how="hangs", at="activating", wait_s=0),
    Outage(store="redis", how="dies", at="publishing"),
    Outage(store="redis", how="dies", at="activating"),
    Outage(store="redis", how="dies", at="publishing", wait_s=0),
    Outage(store="vectors", how="hangs", at="reading"),
    Outage(store="vectors", how="hangs", at="uploading"),
    Outage(store="vectors", how="hangs", at="uploading", wait_s=0),
    Outage(store="vectors", how="dies", at="uploading"),
    Outage(store="vectors", how="dies", at="uploading", wait_s=0),
    Outage(store="s3", how="hangs", at="publishing"),
    Outage(store="s3", how="hangs", at="activating"),
)


@dataclass(slots=True, kw_only=True)
class Server:
    """What keeps the store, and how it goes away and comes back."""

    url: str
    leave: Callable[[], object]
    come_back: Callable[[], object]
    away_s: float = 0.0
    _coming: list[Thread] = field(default_factory=list)

    def strike(self) -> None:
        """It is away when this returns, and comes back by itself."""
        self.leave()
        left = time.monotonic()

        def wait() -> None:
            time.sleep(AWAY_S)
            self.away_s = time.monotonic() - left
            self.come_back()

        self._coming.append(Thread(target=wait))
        self._coming[-1].start()

    def wait(self) -> None:
        """Returns when it is back."""
        for coming in self._coming:
            coming.join()


@contextmanager
def serving(outage: Outage, folder: Path) -> Iterator[Server]:
    """The server of one outage."""
    if outage.store == "s3":
        with running_s3("bucket") as s3:
            os.environ.update(s3_settings(s3.url))
            yield Server(
                url="s3://bucket/store",
                leave=partial(s3.process.send_signal, signal.SIGSTOP),
                come_back=partial(s3.process.send_signal, signal.SIGCONT),
            )
        return
    binary, port = BINARIES["redis-8"], free_port()
    redis = [start(binary, folder, *KEPT, port=port)]
    try:
        if outage.how == "hangs":
            leave, come_back = partial(redis[0].stop, signal.SIGSTOP), partial(redis[0].stop, signal.SIGCONT)
            yield Server(url=redis[0].url, leave=leave, come_back=come_back)
        else:

            def again() -> None:
                redis.append(start(binary, folder, *KEPT, port=port))

            yield Server(url=redis[0].url, leave=redis[0].stop, come_back=again)
    finally:
        for one in redis:
            one.stop()


def told(outage: Outage, folder: Path) -> Mapping[str, Any]:
    """One deploy under one outage: how it ended, what it left, and what the next one made of that."""
    with serving(outage, folder) as server:
        said, struck = list[str](), list[str]()

        def progress(stage: str, done: int, total: int) -> None:
            if stage == outage.at and not struck:
                struck.append(stage)
                server.strike()

        elsewhere = outage.store == "vectors"
        store = str(folder / "store") if elsewhere else server.url
        vectors = open_vectors(server.url) if elsewhere else None
        deploy = partial(
            deploy_catalog, store=store, vectors=vectors, embedder=EMBEDDER, cache=folder / "cache.sqlite3"
        )
        deploy(OLD)
        try:
            ended = deploy(NEW, wait_s=outage.wait_s, progress=progress, tell=said.append).deploy
        except StoreUnavailableError:
            ended = None
        server.wait()
        left = health_seen(open_store(store))
        again = deploy(NEW)
        return {
            "outage": asdict(outage),
            "away_s": server.away_s,
            "said": said,
            "ended": ended,
            "left": left,
            "unchanged": again.unchanged,
            "after": health_seen(open_store(store)),
        }


def _too_late(*_: object) -> NoReturn:
    raise TimeoutError


def main(home: Path) -> None:
    """Every outage in a process, all begun before the first is waited for."""
    children: list[int] = []
    for at, outage in enumerate(OUTAGES):
        child = os.fork()
        if child == 0:
            code = 1
            signal.signal(signal.SIGALRM, _too_late)
            signal.alarm(DEADLINE_S)
            try:
                folder = home / str(at)
                folder.mkdir()
                os.write(1, json.dumps(told(outage, folder)).encode() + b"\n")  # whole: others write there too
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
