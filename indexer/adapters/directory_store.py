"""A store in a directory: no server, one file system, any number of readers.

    <store>/applications/<application>/active.json                     the active release: the pointer
                                      /versions/<surface>/<version>/    manifest.json and the artefact's files
                                      /staging/                         half-written; never read
                                      /lock                             held by whoever writes

Rules kept here:

1. Readers take no lock. What they can name is whole: it was written in `staging`, synced, and renamed into place.
2. Writers of one application take turns under its lock, which the kernel gives back when a process dies. So whatever
   lies in `staging` while the lock is held was left by a dead process, and is swept away.
3. Nothing from outside becomes a path before it was matched: keys are encoded, versions are hexadecimal digits.

The file system must have rename and flock (any local one on Linux or macOS; not Windows). Surface keys that differ
in case only need one that tells case apart; where it does not, loading refuses the mix-up.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from indexer.artefact import MAX_MANIFEST_BYTES, Artefact, read_manifest
from indexer.errors import ActivationConflictError, ArtefactError, StoreError
from indexer.release import MAX_RELEASE_BYTES, Release, read_release
from surface.identity import is_key

_MANIFEST = "manifest.json"
_POINTER = "active.json"
_VERSION = re.compile(r"[0-9a-f]{32}")
_RETRY_S = 0.02


class DirectoryStore:
    """Implements `indexer.ports.ArtefactStore`; threads and processes may share the directory."""

    __slots__ = ("_lock_wait_s", "_root")

    def __init__(self, path: Path | str, *, lock_wait_s: float = 60.0) -> None:
        """`path` is made on the first publish. `lock_wait_s`: how long a writer waits for another one, in seconds."""
        self._root = Path(path)
        self._lock_wait_s = lock_wait_s

    def publish(self, artefact: Artefact) -> None:
        """Keeps an index version, all of it or nothing; one that is there and sound is left alone.

        Raises `ArtefactError` where the artefact is damaged already, `StoreError` where it cannot be written.
        """
        artefact.verify()
        manifest = artefact.manifest
        target = self._version(manifest.application, manifest.surface, artefact.version)
        with _readable_errors(target), self._writing(manifest.application) as staging:
            if self._is_sound(manifest.application, manifest.surface, artefact.version):
                return
            fresh = staging / "fresh"
            fresh.mkdir()
            for name, data in artefact.files.items():
                _write(fresh / name, data)
            _write(fresh / _MANIFEST, manifest.to_bytes())
            _sync_folder(fresh)
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                target.rename(staging / "damaged")
            fresh.rename(target)
            for folder in (target.parent, target.parent.parent):
                _sync_folder(folder)

    def load(self, application: str, surface: str, version: str) -> Artefact:
        """An index version, every byte verified.

        Raises `StoreError` where it is not there or cannot be read, `ArtefactError` where it is damaged.
        """
        folder = self._version(application, surface, version)
        with _readable_errors(folder):
            written = _read(folder / _MANIFEST, ceiling=MAX_MANIFEST_BYTES)
            if written is None:
                raise StoreError(f"{folder}: version {version} of surface {surface} is not in the store")
            manifest = read_manifest(written)
            found = (manifest.application, manifest.surface, manifest.version)
            if found != (application, surface, version):
                raise ArtefactError(f"{folder}: holds another version than its place says; deploy again")
            files: dict[str, bytes] = {}
            for name, entry in manifest.files.items():
                data = _read(folder / name, ceiling=entry.size)
                if data is None:
                    raise ArtefactError(f"{folder}: {name} is missing; deploy again")
                files[name] = data
        artefact = Artefact(manifest=manifest, files=files)
        artefact.verify()
        return artefact

    def activate(self, release: Release, *, expected: str | None) -> None:
        """Compare-and-swap of the pointer; raises `ActivationConflictError`, `StoreError`."""
        pointer = self._application(release.application) / _POINTER
        with _readable_errors(pointer), self._writing(release.application) as staging:
            for surface, released in release.surfaces.items():
                folder = self._version(release.application, surface, released.version)
                if not (folder / _MANIFEST).is_file():
                    raise StoreError(f"{folder}: is not there; publish the version before it is activated")
            active = self.active(release.application)
            found = active.id if active is not None else None
            if found != expected:
                raise ActivationConflictError(application=release.application, expected=expected, found=found)
            _write(staging / _POINTER, release.to_bytes())
            (staging / _POINTER).replace(pointer)
            _sync_folder(pointer.parent)

    def active(self, application: str) -> Release | None:
        """The release that is active now; raises `StoreError`, `ArtefactError`."""
        pointer = self._application(application) / _POINTER
        with _readable_errors(pointer):
            data = _read(pointer, ceiling=MAX_RELEASE_BYTES)
        if data is None:
            return None
        try:
            release = read_release(data)
        except ArtefactError as error:
            raise ArtefactError(f"{pointer}: {error}; remove the file and deploy again") from None
        if release.application != application:
            raise ArtefactError(f"{pointer}: is the release of another application; remove it and deploy again")
        return release

    def applications(self) -> tuple[str, ...]:
        """Every application that has an active release, sorted; raises `StoreError`."""
        folder = self._root / "applications"
        with _readable_errors(folder):
            if not folder.is_dir():
                return ()
            found = (_decoded(entry.name) for entry in folder.iterdir() if (entry / _POINTER).is_file())
            return tuple(sorted(name for name in found if name is not None))

    @contextmanager
    def _writing(self, application: str) -> Iterator[Path]:
        """The application's lock, and an empty staging folder that goes away with it."""
        home = self._application(application)
        home.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._wait_for(descriptor, home)
            staging = home / "staging"
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir()
            try:
                yield staging
            finally:
                shutil.rmtree(staging, ignore_errors=True)
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
            self.load(application, surface, version)
        except (StoreError, ArtefactError):
            return False
        return True

    def _application(self, application: str) -> Path:
        return self._root / "applications" / _encoded("application", application)

    def _version(self, application: str, surface: str, version: str) -> Path:
        if _VERSION.fullmatch(version) is None:
            raise StoreError("version: needs 32 hexadecimal digits")
        return self._application(application) / "versions" / _encoded("surface", surface) / version


def _encoded(field: str, key: str) -> str:
    """A key as a folder name: `.` and `..` are keys too, and dot files are easily overlooked."""
    if not is_key(key):
        raise StoreError(f"{field}: needs 1-64 characters of A-Z a-z 0-9 _ . -")
    return "%2E" + key[1:] if key.startswith(".") else key


def _decoded(folder: str) -> str | None:
    key = "." + folder.removeprefix("%2E") if folder.startswith("%2E") else folder
    return key if is_key(key) else None


def _read(path: Path, *, ceiling: int) -> bytes | None:
    """A regular file's bytes, at most one more than the ceiling; None where there is no such file."""
    try:
        # Not blocking: a pipe in the place of a file must not hold a reader up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ArtefactError(f"{path}: is not a regular file; deploy again")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(ceiling + 1)
    finally:
        os.close(descriptor)


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _readable_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = error.filename or path
        problem = error.strerror or type(error).__name__
        raise StoreError(f"{place}: {problem}; see that the folder is there, writable and not full") from error
