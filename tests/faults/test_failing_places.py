"""Full disks, folders that cannot be written, damaged files, other models, clocks that jump, deploys at once.

After each of them what is active is the old release or the new one, whole; once the fault is gone a deploy succeeds.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from indexer.adapters.directory_store import DirectoryStore
from indexer.adapters.opening import open_store
from indexer.artefact import Artefact
from indexer.deploy import deploy
from indexer.errors import ActivationConflictError, ArtefactError, NotPublishedError, StoreError
from indexer.ledger import Ledger
from indexer.release import Release
from models.adapters.choice import chosen_embedder
from models.errors import ModelError
from models.hashing import HashingEmbedder
from tests.contracts.artefact_store_contract import damages
from tests.faults.deployers import NEW, OLD, deployed, in_a_process, seen
from tests.faults.test_killed_deployers import NEW as NEW_SEEN
from tests.faults.test_killed_deployers import OLD as OLD_SEEN
from tests.indexer.embedders import Listening
from tests.indexer.samples import EMBEDDER, NOW

NOBODY = 65_534
NEW_MOUNTS, PRIVATE_BELOW = 0x20000, (1 << 18) | 16384
"""CLONE_NEWNS; MS_PRIVATE and MS_REC."""
SMALL_DISK, PAGE = 1024 * 1024, 4096


@pytest.fixture
def folder(memory: Path) -> Path:
    """A folder with a store that serves the old release."""
    deployed(memory, OLD)
    return memory


def store_of(folder: Path) -> DirectoryStore:
    return DirectoryStore(folder / "store", lock_wait_s=5)


@pytest.mark.parametrize("limit", [0, 100, 700, 1_500, 2_600])
def test_a_disk_that_is_full_at_any_size_leaves_the_old_release(folder: Path, limit: int) -> None:
    # The limit on the size of a file stands for the disk: it strikes in the middle of a write, for one process alone.
    def cramped() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        with pytest.raises(StoreError, match="File too large"):
            deployed(folder, NEW)

    assert in_a_process(cramped) == 0
    assert seen(folder) == OLD_SEEN
    deployed(folder, NEW)
    assert seen(folder) == NEW_SEEN


def may_mount(folder: Path) -> bool:
    """Whether this user may give a process a disk of its own."""
    return in_a_process(lambda: mount_small_disk(folder)) == 0


def mount_small_disk(folder: Path) -> None:
    """A disk of 1 MiB in the place of a folder, for this process alone: it is gone with it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_MOUNTS) or libc.mount(b"none", b"/", None, PRIVATE_BELOW, None):
        raise OSError(ctypes.get_errno(), "no mounts of one's own")
    if libc.mount(b"none", str(folder).encode(), b"tmpfs", 0, f"size={SMALL_DISK}".encode()):
        raise OSError(ctypes.get_errno(), "no disk")


def test_a_real_disk_that_is_full_after_any_second_page_leaves_the_old_release(memory: Path) -> None:
    if not may_mount(memory):
        pytest.skip(
            "no right to mount a disk: only the limit on a file's size stands for a full one, in the test above"
        )
    told = memory.with_name(f"{memory.name}-told")

    def filling_up() -> None:
        mount_small_disk(memory)
        template, home, ballast = memory / "template", memory / "home", memory / "ballast"
        template.mkdir()
        deployed(template, OLD)
        failures: list[str] = []
        for pages in count(0, 2):
            shutil.copytree(template, home)
            ballast.write_bytes(bytes(shutil.disk_usage(memory).free - pages * PAGE))
            try:
                deployed(home, NEW)
            except StoreError as error:
                failures.append(str(error))
            else:
                break
            assert seen(home) == OLD_SEEN
            ballast.unlink()
            deployed(home, NEW)
            assert seen(home) == NEW_SEEN
            shutil.rmtree(home)
        assert seen(home) == NEW_SEEN
        told.write_text("\n".join(failures))

    try:
        assert in_a_process(filling_up) == 0
        failures = told.read_text().splitlines()
    finally:
        told.unlink(missing_ok=True)
    assert len(failures) > 10
    # By its own count of bytes, before anything is embedded; and in the middle of a file, as a file takes whole pages.
    assert all("No space left" in one or "bytes are needed" in one for one in failures)
    assert any("No space left" in one for one in failures)


def test_a_folder_that_cannot_be_written_is_found_before_anything_is_embedded(folder: Path) -> None:
    def powerless() -> None:
        if os.geteuid() == 0:  # whom no permission stops
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        embedder = Listening()
        with pytest.raises(StoreError, match="give this user the right"):
            deploy(NEW, embedder=embedder, store=store_of(folder), now=lambda: NOW)
        assert not embedder.batches

    for path in [folder / "store", *(folder / "store").rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    assert in_a_process(powerless) == 0
    assert seen(folder) == OLD_SEEN
    for path in [folder / "store", *(folder / "store").rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    deployed(folder, NEW)
    assert seen(folder) == NEW_SEEN


def test_a_folder_that_cannot_be_searched_is_one_store_error_whatever_is_asked(folder: Path) -> None:
    release = store_of(folder).active("app")
    assert release is not None
    artefact = store_of(folder).load("app", "keeper", release.surfaces["keeper"].version)

    def powerless() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        store = store_of(folder)
        for ask in (
            store.applications,
            store.without_ledger,
            lambda: store.active("app"),
            lambda: store.prepare("app", size=1),
            lambda: store.publish(artefact, at=NOW),
            lambda: store.load("app", "keeper", artefact.version),
            lambda: store.activate(release, expected=release.id, at=NOW),
            lambda: store.activate(release, expected=None, at=NOW),
            lambda: store.prune("app", keep=1, unused_since=NOW),
        ):
            with pytest.raises(StoreError, match="give this user the right"):
                ask()
        with pytest.raises(StoreError, match=r"--store: .*: Permission denied; mend the path, or the rights on it"):
            open_store(str(folder / "store"), there=True)
        with pytest.raises(ModelError, match=r"--model .*: cannot be looked at"):
            chosen_embedder(str(folder / "store"), threads=1)

    folder.chmod(0o600)
    try:
        assert in_a_process(powerless) == 0
    finally:
        folder.chmod(0o700)
    assert seen(folder) == OLD_SEEN


def test_a_damaged_byte_in_any_file_of_the_store_is_found_and_a_deploy_puts_it_right(folder: Path) -> None:
    files = [path for path in sorted((folder / "store").rglob("*")) if path.is_file() and path.name != "lock"]
    assert {path.name for path in files} >= {"ledger.json", "manifest.json", "vectors.npy", "words.json"}
    surface = {path: path for path in files if "reader" in path.parts or path.name == "ledger.json"}
    for path in surface:
        for damaged in damages(path.read_bytes(), places=100):
            path.write_bytes(damaged)
            assert not seen(folder)["sound"], path
        if path.name == "ledger.json":
            with pytest.raises(ArtefactError, match="remove the file and deploy again"):
                deployed(folder, OLD)
            path.unlink()
        assert deployed(folder, OLD).embedded == 0  # the cache has them
        assert seen(folder) == OLD_SEEN


def test_another_model_carries_nothing_over_and_the_old_release_can_be_had_again(folder: Path) -> None:
    store, other = store_of(folder), Listening(HashingEmbedder(dimension=32))
    old = store.active("app")
    assert old is not None
    result = deploy(OLD, embedder=other, store=store, now=lambda: NOW)
    assert (result.carried, result.embedded) == (0, 14)
    assert seen(folder)["sound"]
    store.activate(old, expected=result.release, at=NOW)
    assert seen(folder) == OLD_SEEN


@pytest.mark.parametrize("years", [-50, 50])
def test_a_clock_that_jumps_changes_what_the_history_says_and_nothing_else(folder: Path, years: int) -> None:
    store, moment = store_of(folder), datetime.now(UTC) + timedelta(days=365 * years)
    deploy(NEW, embedder=EMBEDDER, store=store, now=lambda: moment)
    assert seen(folder) == NEW_SEEN
    assert [line.deploy for line in store.ledger("app").activations] == ["old", "new"]
    assert not deploy(OLD, embedder=EMBEDDER, store=store, now=lambda: datetime.now(UTC)).unchanged
    assert seen(folder) == OLD_SEEN


class Interfering(DirectoryStore):
    """A store in which something happens just before an activation."""

    happens: Callable[[], object] = staticmethod(lambda: None)

    def activate(self, release: Release, **how: Any) -> None:
        type(self).happens()
        super().activate(release, **how)


def test_versions_pruned_under_a_deploy_by_a_clock_that_runs_ahead_are_missed_and_published_again(folder: Path) -> None:
    class Pruned(Interfering):
        happens = staticmethod(
            lambda: store_of(folder).prune("app", keep=1, unused_since=datetime.now(UTC) + timedelta(days=1))
        )

    with pytest.raises(NotPublishedError, match="deploy the catalog it came from again"):
        deploy(NEW, embedder=EMBEDDER, store=Pruned(folder / "store"), now=lambda: datetime.now(UTC))
    assert seen(folder) == OLD_SEEN
    deployed(folder, NEW)
    assert seen(folder) == NEW_SEEN


def test_of_two_deploys_at_once_one_wins_and_the_other_says_so(folder: Path) -> None:
    class Overtaken(Interfering):
        happens = staticmethod(lambda: in_a_process(lambda: deployed(folder, NEW)))

    third = NEW.model_copy(update={"deploy": "third"})
    with pytest.raises(ActivationConflictError, match="another deploy or switch was faster"):
        deploy(third, embedder=EMBEDDER, store=Overtaken(folder / "store"), now=lambda: NOW)
    assert seen(folder) == NEW_SEEN
    # A twin of the winner has nothing to complain of.
    shutil.rmtree(folder / "store")
    deployed(folder, OLD)
    deploy(NEW, embedder=EMBEDDER, store=Overtaken(folder / "store"), now=lambda: NOW)
    assert seen(folder) == NEW_SEEN


class Leaving(DirectoryStore):
    """A store that is away from the n-th call on."""

    def __init__(self, path: Path, *, calls: int) -> None:
        super().__init__(path)
        self._left = calls

    def _call(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise StoreError("the store is away")

    def ledger(self, application: str) -> Ledger:
        self._call()
        return super().ledger(application)

    def prepare(self, application: str, *, size: int) -> None:
        self._call()
        super().prepare(application, size=size)

    def publish(self, artefact: Artefact, *, at: datetime) -> None:
        self._call()
        super().publish(artefact, at=at)

    def load(self, application: str, surface: str, version: str) -> Artefact:
        self._call()
        return super().load(application, surface, version)

    def activate(self, release: Release, **how: Any) -> None:
        self._call()
        super().activate(release, **how)


def test_a_store_that_goes_away_at_any_call_leaves_the_old_release(folder: Path) -> None:
    calls, away = 0, True
    while away:
        copy = folder / f"copy-{calls}"
        shutil.copytree(folder / "store", copy / "store")
        try:
            deploy(NEW, embedder=EMBEDDER, store=Leaving(copy / "store", calls=calls), now=lambda: NOW)
        except StoreError as error:
            assert "away" in str(error)  # noqa: PT017 - the loop ends with the deploy that succeeds
            assert seen(copy) == OLD_SEEN
            deployed(copy, NEW)
        else:
            away = False
        assert seen(copy) == NEW_SEEN
        calls += 1
    assert calls > 10
