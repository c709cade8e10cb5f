"""A store in a directory: no server, one file system, any number of readers.

    <store>/applications/<application>/ledger.json                     what is active, was active, and is kept
                                      /versions/<surface>/<version>/    manifest.json and the artefact's files
                                      /staging/                         half-written or half-deleted; never read
                                      /lock                             held by whoever writes

Rules kept here:

1. Readers take no lock. What they can name is whole: it was written in `staging`, synced, and renamed into place. A
   damaged version is put right in its place, file by file, so that nobody finds nothing there meanwhile.
2. Writers of one application take turns under its lock, which the kernel gives back when a process dies. So whatever
   lies in `staging` while the lock is held was left by a dead process, and is swept away.
3. A version is in place before the ledger names it, and the ledger forgets it before it leaves its place.
4. Nothing from outside becomes a path before it was matched: keys are encoded, versions are hexadecimal digits.

The file system must have rename and flock (any local one on Linux or macOS; not Windows). Surface keys that differ
in case only need one that tells case apart; where it does not, loading refuses the mix-up.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from indexer.adapters.directory_files import (
    is_passing,
    make_folder,
    put_right,
    read,
    refuse_dangling,
    remove,
    sync_folder,
    told_as_store_errors,
    write,
)
from indexer.artefact import MANIFEST, MAX_MANIFEST_BYTES, Artefact, read_artefact
from indexer.errors import MENDED, ArtefactError, NotPublishedError, StoreError
from indexer.folder_name import folder_of, key_of
from indexer.ledger import Activation, Ledger, Pruning, empty_ledger
from indexer.release import Release
from indexer.sealed_ledger import MAX_LEDGER_BYTES, ActiveReleases, LastLedger, sealed

_LEDGER = "ledger.json"
_VERSION = re.compile(r"[0-9a-f]{32}")
_RETRY_S = 0.02
_LOOK_S = 0.2
_TRIES = 5
"""How often a version may be pruned and published again under a reader before it gives up."""


class DirectoryStore:
    """Implements `indexer.ports.ArtefactStore`; threads and processes may share the directory."""

    __slots__ = ("_active", "_last", "_lock_wait_s", "_root")

    def __init__(self, path: Path | str, *, lock_wait_s: float = 60.0) -> None:
        """`path` is made on the first publish. `lock_wait_s`: how long a writer waits for another one, in seconds."""
        self._root = Path(path)
        self._lock_wait_s = lock_wait_s
        self._active = ActiveReleases()
        self._last = LastLedger()

    def applications(self) -> tuple[str, ...]:
        """Every application that has an active release or an unreadable ledger, sorted; raises `StoreError`."""
        return tuple(name for name in self._homes() if self._is_served(name))

    def without_ledger(self) -> tuple[str, ...]:
        """Every application that has versions here and no ledger, sorted; raises `StoreError`."""
        return tuple(name for name in self._homes() if self._lacks_ledger(self._home(name)))

    def ledger(self, application: str) -> Ledger:
        """Everything about an application at this moment; raises `StoreError`, `ArtefactError`."""
        data = self._ledger_bytes(application)
        return empty_ledger(application) if data is None else self._parsed(data, application)

    def active(self, application: str) -> Release | None:
        """The release that is active now; raises `StoreError`, `ArtefactError`. It parses no bytes twice."""
        data = self._ledger_bytes(application)
        return None if data is None else self._active.of(application, data, self._parsed)

    def prepare(self, application: str, *, size: int) -> None:
        """Raises `StoreError` where the folder cannot be written or has not as much room."""
        home = self._home(application)
        with told_as_store_errors(home), self._writing(application) as staging:
            write(staging / "probe", b"probe")
            free = shutil.disk_usage(staging).free
        if free < size:
            raise StoreError(f"{home}: {size:,} bytes are needed and {free:,} are free; prune, or make room")

    def publish(self, artefact: Artefact, *, at: datetime) -> None:
        """Keeps an index version, all of it or nothing; one that is there and sound is left alone.

        Raises `ArtefactError` where the artefact is damaged already, `StoreError` where it cannot be written.
        """
        artefact.verify()
        manifest = artefact.manifest
        target = self._version(manifest.application, manifest.surface, artefact.version)
        with told_as_store_errors(target), self._writing(manifest.application) as staging:
            ledger = self.ledger(manifest.application).published(manifest, at=at)
            if not self._is_sound(manifest.application, manifest.surface, artefact.version):
                fresh = staging / "fresh"
                fresh.mkdir()
                for name, data in artefact.files.items():
                    write(fresh / name, data)
                write(fresh / MANIFEST, manifest.to_bytes())
                sync_folder(fresh)
                make_folder(target.parent)
                if not put_right(target, fresh):
                    if os.path.lexists(target):
                        target.rename(staging / "damaged")
                    fresh.rename(target)
                    sync_folder(target.parent)
            self._replace(ledger, staging)

    def load(self, application: str, surface: str, version: str) -> Artefact:
        """An index version, every byte verified.

        Raises `StoreError` where it is not there or cannot be read, `ArtefactError` where it is damaged.
        """
        folder = self._version(application, surface, version)
        for _ in range(_TRIES):
            before = _identity(folder)
            try:
                return self._loaded(folder, application, surface, version)
            except ArtefactError:
                if self.ledger(application).version(surface, version) is None:
                    break
                if _identity(folder) == before:
                    raise
        raise StoreError(f"{folder}: version {version} of surface {surface} was pruned or replaced while it was read")

    def activate(
        self,
        release: Release,
        *,
        expected: str | None,
        at: datetime,
        history: Sequence[Activation] | None = None,
    ) -> None:
        """Compare-and-swap of the ledger; raises `ActivationConflictError`, `NotPublishedError`, `StoreError`."""
        home = self._home(release.application)
        if release.id == expected:
            with told_as_store_errors(home):
                self._activated(release, expected=expected, at=at, history=history)
            return  # it is active, and to say so needs no right to write
        with told_as_store_errors(home), self._writing(release.application) as staging:
            self._replace(self._activated(release, expected=expected, at=at, history=history), staging)

    def prune(self, application: str, *, keep: int, unused_since: datetime) -> Pruning:
        """Deletes what `Ledger.pruned` takes away, and what no ledger names; raises `StoreError`, `ArtefactError`."""
        home = self._home(application)
        with told_as_store_errors(home):
            if not home.exists():
                return empty_ledger(application).pruned(keep=keep, unused_since=unused_since)
        with told_as_store_errors(home), self._writing(application) as staging:
            pruning = self.ledger(application).pruned(keep=keep, unused_since=unused_since)
            self._replace(pruning.ledger, staging)
            kept = {self._version(application, one.surface, one.version) for one in pruning.ledger.versions}
            for number, folder in enumerate(home.glob("versions/*/*")):
                if folder not in kept and _VERSION.fullmatch(folder.name):
                    folder.rename(staging / f"pruned-{number}")
            return pruning

    def wait_for_change(self, timeout_s: float) -> None:
        """Returns soon after a ledger was replaced, at the latest after `timeout_s` seconds."""
        deadline = time.monotonic() + timeout_s
        before = self._glance()
        while self._glance() == before and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))

    def _ledger_bytes(self, application: str) -> bytes | None:
        path = self._home(application) / _LEDGER
        with told_as_store_errors(path):
            return read(path, ceiling=MAX_LEDGER_BYTES, remedy="deploy again")

    def _parsed(self, data: bytes, application: str) -> Ledger:
        where = str(self._home(application) / _LEDGER)
        return self._last.of(data, application=application, where=where, remedy="remove the file")

    def _activated(self, release: Release, **how: Any) -> Ledger:
        ledger = self.ledger(release.application).activated(release, **how)
        missing = [
            (surface, released.version)
            for surface, released in sorted(release.surfaces.items())
            if not (self._version(release.application, surface, released.version) / MANIFEST).is_file()
        ]
        if missing:  # somebody removed it by hand
            raise NotPublishedError(application=release.application, missing=missing)
        return ledger

    def _glance(self) -> frozenset[tuple[str, int, int]]:
        """Which ledger files there are, without reading them; nothing where they cannot be seen."""
        try:
            seen = [(path, path.stat()) for path in self._root.glob(f"applications/*/{_LEDGER}")]
        except OSError:
            return frozenset()
        return frozenset((str(path), found.st_ino, found.st_mtime_ns) for path, found in seen)

    def _loaded(self, folder: Path, application: str, surface: str, version: str) -> Artefact:
        with told_as_store_errors(folder):
            written = read(folder / MANIFEST, ceiling=MAX_MANIFEST_BYTES, remedy=MENDED)
            if written is None:
                raise StoreError(f"{folder}: version {version} of surface {surface} is not in the store; {MENDED}")
            return read_artefact(
                written,
                lambda name, ceiling: read(folder / name, ceiling=ceiling, remedy=MENDED),
                application=application,
                surface=surface,
                version=version,
                where=str(folder),
            )

    def _replace(self, ledger: Ledger, staging: Path) -> None:
        path = self._home(ledger.application) / _LEDGER
        data = sealed(ledger)
        if len(data) > MAX_LEDGER_BYTES:
            raise StoreError(f"{path}: would be larger than {MAX_LEDGER_BYTES:,} bytes; prune the application first")
        write(staging / _LEDGER, data)
        (staging / _LEDGER).replace(path)
        self._last.wrote(ledger, data)
        sync_folder(path.parent)

    @contextmanager
    def _writing(self, application: str) -> Iterator[Path]:
        """The application's lock, and an empty staging folder that goes away with it."""
        home = self._home(application)
        make_folder(home)
        descriptor = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._wait_for(descriptor, home)
            staging = home / "staging"
            remove(staging)
            staging.mkdir()
            try:
                yield staging
            finally:
                remove(staging)
        finally:
            os.close(descriptor)  # and with it the lock

    def _wait_for(self, descriptor: int, home: Path) -> None:
        deadline = time.monotonic() + self._lock_wait_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise StoreError(
                        f"{home}: another process has been writing for {self._lock_wait_s:g} s; wait for it, or end it"
                    ) from None
                time.sleep(_RETRY_S)
            else:
                return

    def _is_sound(self, application: str, surface: str, version: str) -> bool:
        try:
            self._loaded(self._version(application, surface, version), application, surface, version)
        except ArtefactError:
            return False
        except StoreError as error:
            if is_passing(error):
                raise
            return False
        return True

    def _is_served(self, application: str) -> bool:
        try:
            return self.active(application) is not None
        except (StoreError, ArtefactError):
            return True  # whoever asks for it is told what is wrong

    def _lacks_ledger(self, home: Path) -> bool:
        with told_as_store_errors(home):
            return not os.path.lexists(home / _LEDGER) and any(home.glob("versions/*/*"))

    def _homes(self) -> list[str]:
        folder = self._root / "applications"
        with told_as_store_errors(folder):
            try:
                names = [entry.name for entry in folder.iterdir()]
            except FileNotFoundError:
                refuse_dangling(folder, remedy="deploy again")
                return []
        return sorted(name for name in map(key_of, names) if name is not None)

    def _home(self, application: str) -> Path:
        return self._root / "applications" / folder_of("application", application)

    def _version(self, application: str, surface: str, version: str) -> Path:
        if _VERSION.fullmatch(version) is None:
            raise StoreError("version: needs 32 hexadecimal digits")
        return self._home(application) / "versions" / folder_of("surface", surface) / version


def _identity(folder: Path) -> frozenset[tuple[str, int]] | None:
    """Which folder stands there now, with which files; None for none."""
    try:
        with os.scandir(folder) as found:
            return frozenset({(".", folder.lstat().st_ino), *((one.name, one.inode()) for one in found)})
    except OSError:
        return None
