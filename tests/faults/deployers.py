"""A process that makes deployers out of itself and kills each one at another place.

    python -m tests.faults.deployers stages FOLDER    kill at the first, second, … boundary of its stages
    python -m tests.faults.deployers files FOLDER     kill at the first, second, … change of a file
    python -m tests.faults.deployers stages FOLDER URL    the first on a Redis, where each deployer has a namespace, or
                                                          on an object store, where each one has a prefix
    python -m tests.faults.deployers puts FOLDER URL      kill after the first, second, … object that decides something

Every deployer is a real process, forked from this one so that it starts in a millisecond, and dies by SIGKILL. What
it leaves is looked at here, and then deployed to again. A line of JSON is printed for each death.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import obstore
from obstore.store import ObjectStore, S3Store

from indexer.adapters.directory_store import DirectoryStore
from indexer.adapters.opening import open_store
from indexer.adapters.usual_index import open_artefact
from indexer.adapters.vector_cache import VectorFile
from indexer.canaries import Canary
from indexer.catalog_file import Catalog
from indexer.deploy import deploy
from indexer.deployed import DeployResult
from indexer.ports import ArtefactStore
from indexer.progress import Progress, silent
from selector.rehearsal import SelectorRehearsal
from tests.indexer.healths import health_of
from tests.indexer.samples import EMBEDDER, catalog, tool

OLD = catalog(
    reader=[tool(f"read_{number}", f"Reads thing {number}.") for number in range(12)],
    keeper=[tool("keep", "Keeps a thing.")],
    gone=[tool("go", "Goes away.")],
    deploy="old",
)
NEW = catalog(
    reader=[tool(f"read_{number}", f"Reads thing {number + number % 2}.") for number in range(40)],
    keeper=[tool("keep", "Keeps a thing.")],
    writer=[tool("write", "Writes a thing.")],
    deploy="new",
)
CANARIES = (Canary(line=1, surface="writer", query="writes a thing", tool="write", first=1),)
DEADLINE_S = 120
"""After which a process that hangs is ended by the kernel."""
CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "sqlite3.connect"})
"""What Python tells its auditors when a file is moved, made or removed; `open` is looked at more closely."""


def store_in(folder: Path) -> ArtefactStore:
    """The store of one deployer: in its folder, or in a namespace on the server that the folder names."""
    server = folder / "server"
    if not server.exists():
        return DirectoryStore(folder / "store")
    url = server.read_text()
    return open_store(f"{url}/{folder.name}" if url.startswith("s3:") else f"{url}?namespace={folder.name}")


def deployed(folder: Path, wanted: Catalog, progress: Progress = silent) -> DeployResult:
    """A deploy with everything that belongs to one."""
    with closing(VectorFile(folder / "cache.sqlite3")) as cache, ThreadPoolExecutor(1) as executor:
        return deploy(
            wanted,
            embedder=EMBEDDER,
            store=store_in(folder),
            now=lambda: datetime.now(UTC),
            cache=cache,
            canaries=CANARIES if "writer" in wanted.surfaces else (),
            rehearse=SelectorRehearsal(open_artefact=open_artefact, embedder=EMBEDDER, executor=executor),
            progress=progress,
        )


def in_a_process(work: Callable[[], object]) -> int:
    """Does something in a process of its own; how that ended, as `subprocess` says it."""
    child = os.fork()
    if child == 0:
        code = 1
        signal.alarm(DEADLINE_S)
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def dying_at_progress(at: int, folder: Path) -> None:
    """A deploy that is killed at the n-th boundary of its stages; where one ends the next begins, so that is one."""
    boundaries, last = count(1), ""

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal last
        begins, last = last not in ("", stage), stage
        if not begins and next(boundaries) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    deployed(folder, NEW, progress)


def dying_at_change(at: int, folder: Path) -> None:
    """A deploy that is killed the n-th time that it changes a file of its own."""
    touched = count(1)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        changing = event in CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if changing and str(folder) in str(arguments[0]) and next(touched) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    deployed(folder, NEW)


def dying_at_put(at: int, folder: Path) -> None:
    """A deploy that is killed after the n-th ledger it has put, or first or middle file of a version."""
    deciding, real, done = ("ledger.json", "manifest.json", "vectors.npy"), obstore.put, count(1)

    def put(store: ObjectStore, path: str, *data: Any, **how: Any) -> object:
        answer = real(store, path, *data, **how)
        if path.endswith(deciding) and next(done) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    obstore.put = put  # type: ignore[assignment]  # of this process alone
    deployed(folder, NEW)


def with_old(template: Path, folder: Path) -> None:
    """Makes the store of one deployer serve the old release; one of objects by copying, which costs a third."""
    url = (folder / "server").read_text()
    if not url.startswith("s3:"):
        deployed(folder, OLD)
        return
    bucket = S3Store.from_url(url, client_options={"allow_http": True})
    if not bucket.list(template.name).collect():
        deployed(template, OLD)
    for found in bucket.list(template.name):
        for one in found:
            bucket.copy(one["path"], one["path"].replace(template.name, folder.name, 1))


def seen(folder: Path) -> Mapping[str, Any]:
    """What the store of one deployer serves."""
    return health_seen(store_in(folder))


def health_seen(store: ArtefactStore) -> Mapping[str, Any]:
    """What a store serves."""
    health = health_of(store, "app", all_releases=True)
    active = health.ledger.active if health.ledger is not None else None
    return {
        "sound": health.sound,
        "deploy": active.deploy if active else None,
        "surfaces": sorted(active.surfaces) if active else [],
    }


def looked_at(folder: Path) -> Mapping[str, Any]:
    """The same from a process of its own: what talks to a server has threads, which no fork survives."""
    kept = folder / "seen.json"
    in_a_process(lambda: kept.write_text(json.dumps(seen(folder))))
    found: Mapping[str, Any] = json.loads(kept.read_text())
    return found


def main(kind: str, home: Path, url: str | None = None) -> None:
    """Kills deployers until one gets through."""
    dying = {"stages": dying_at_progress, "files": dying_at_change, "puts": dying_at_put}[kind]
    template = home / "template"
    template.mkdir()
    in_a_process(lambda: deployed(template, OLD))
    shutil.copytree(template, home / "warm")
    deployed(home / "warm", NEW)  # so that no deployer imports anything
    if url is not None:
        open_store(url)  # nor the library of the server's kind
        (template / "server").write_text(url)
    for at in count(1):
        folder = home / str(at)
        shutil.copytree(template, folder)
        if url is not None:
            in_a_process(partial(with_old, template, folder))
        ended = in_a_process(partial(dying, at, folder))
        left = looked_at(folder)
        again = in_a_process(partial(deployed, folder, NEW))
        print(
            json.dumps({"at": at, "ended": ended, "left": left, "again": again, "after": looked_at(folder)}), flush=True
        )
        shutil.rmtree(folder)
        if ended != -signal.SIGKILL:
            return


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
