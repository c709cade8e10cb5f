"""Whatever stands in a directory store that should not: one clear error with what mends it, and nothing is lost."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from indexer.adapters.directory_store import DirectoryStore
from indexer.errors import StoreError
from tests.contracts.artefact_store_contract import loaded
from tests.indexer.samples import NOW, artefact, release

ONE, NEXT = artefact("one"), artefact("next")
HOME = Path("applications", "app")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    store = DirectoryStore(tmp_path / "store")
    store.publish(ONE, at=NOW)
    store.activate(release(ONE), expected=None, at=NOW)
    return tmp_path / "store"


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path may have a hundred bytes
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


ODDITIES: dict[str, Callable[[Path], None]] = {
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "socket": make_socket,
    "link to nothing": lambda path: path.symlink_to("nothing"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("oddity", sorted(ODDITIES))
def test_an_odd_thing_in_the_ledger_s_place_is_not_an_empty_store(root: Path, oddity: str) -> None:
    ledger = root / HOME / "ledger.json"
    ledger.rename(root / "aside")
    ODDITIES[oddity](ledger)
    store = DirectoryStore(root)
    assert store.applications() == ("app",)  # whoever asks for it is told
    for ask in (
        lambda: store.active("app"),
        lambda: store.publish(NEXT, at=NOW),
        lambda: store.activate(release(ONE), expected=None, at=NOW),
        lambda: store.prune("app", keep=1, unused_since=NOW),
    ):
        with pytest.raises(StoreError, match=r"ledger\.json") as told:
            ask()
        assert "the catalog it came from" not in str(told.value)  # any deploy writes a ledger
    shutil.rmtree(ledger) if oddity == "folder" else ledger.unlink()
    (root / "aside").rename(ledger)  # the fix that the error names
    assert store.active("app") == release(ONE)
    assert loaded(store, ONE).files == ONE.files


@pytest.mark.parametrize("oddity", sorted(ODDITIES))
def test_an_odd_thing_in_the_place_of_a_version_is_replaced_when_it_is_published(root: Path, oddity: str) -> None:
    folder = root / HOME / "versions" / "reader" / ONE.version
    shutil.rmtree(folder)
    ODDITIES[oddity](folder)
    store = DirectoryStore(root)
    with pytest.raises(StoreError):
        loaded(store, ONE)
    store.publish(ONE, at=NOW)  # what a deploy of its catalog does
    assert loaded(store, ONE).files == ONE.files


def test_a_volume_that_is_not_mounted_is_no_empty_store(root: Path) -> None:
    (root / "applications").rename(root / "aside")
    (root / "applications").symlink_to("/nowhere/mounted")
    for ask in (DirectoryStore(root).applications, DirectoryStore(root).without_ledger):
        with pytest.raises(StoreError, match="applications: is a link to nothing; move it away and deploy again"):
            ask()


@pytest.mark.parametrize("oddity", ["folder", "link to nothing", "link to a device"])
def test_an_odd_thing_in_the_place_of_a_file_of_a_version_is_mended_by_that_versions_catalog(
    root: Path, oddity: str
) -> None:
    file = root / HOME / "versions" / "reader" / ONE.version / "vectors.npy"
    file.unlink()
    ODDITIES[oddity](file)
    with pytest.raises(StoreError, match=r"; move it away and deploy the catalog it came from again$"):
        loaded(DirectoryStore(root), ONE)


@pytest.mark.parametrize("passing", [errno.EMFILE, errno.EIO])
def test_a_file_that_cannot_be_read_just_now_is_not_taken_for_a_damaged_one(
    root: Path, monkeypatch: pytest.MonkeyPatch, passing: int
) -> None:
    folder, real = root / HOME / "versions" / "reader" / ONE.version, os.open
    before = folder.stat().st_ino

    def failing(path: str | Path, *how: int) -> int:
        if Path(path).name == "vectors.npy":
            monkeypatch.undo()  # once: what it is then is written in its place
            raise OSError(passing, os.strerror(passing), str(path))
        return real(path, *how)

    monkeypatch.setattr(os, "open", failing)
    with pytest.raises(StoreError, match=f"{os.strerror(passing)}; "):
        DirectoryStore(root).publish(ONE, at=NOW)
    assert folder.stat().st_ino == before


def test_a_file_system_without_locks_is_said_to_be_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refusing)
    with pytest.raises(StoreError, match=r"applications/app.*: .*; mount it with locks \(flock\)"):
        DirectoryStore(root).publish(NEXT, at=NOW)


def test_a_link_to_itself_is_called_so(root: Path) -> None:
    (root / HOME / "ledger.json").unlink()
    ODDITIES["link to itself"](root / HOME / "ledger.json")
    with pytest.raises(StoreError, match="a link leads back to itself; move it away"):
        DirectoryStore(root).active("app")


@pytest.mark.parametrize("oddity", sorted(ODDITIES))
def test_an_odd_thing_in_the_staging_folder_s_place_is_swept_away(root: Path, oddity: str) -> None:
    ODDITIES[oddity](root / HOME / "staging")
    store = DirectoryStore(root)
    store.publish(NEXT, at=NOW)
    assert loaded(store, NEXT).files == NEXT.files
    assert not os.path.lexists(root / HOME / "staging")


@pytest.mark.parametrize("place", ["applications", "applications/app", "applications/app/versions/writer"])
@pytest.mark.parametrize("oddity", sorted({*ODDITIES} - {"folder"}))
def test_an_odd_thing_in_the_place_of_a_folder_is_named(tmp_path: Path, place: str, oddity: str) -> None:
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    ODDITIES[oddity](tmp_path / place)
    store = DirectoryStore(tmp_path)
    with pytest.raises(StoreError, match=f"{Path(place).name}.*; "):
        store.publish(artefact(surface="writer"), at=NOW)


@contextmanager
def as_nobody() -> Iterator[None]:
    """As a user without rights: root may write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_this_user_may_only_read_is_served_and_not_written(root: Path) -> None:
    with TemporaryDirectory() as reachable:
        Path(reachable).chmod(0o755)
        copy = Path(reachable, "store")
        shutil.copytree(root, copy)
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        store = DirectoryStore(copy)
        with as_nobody():
            assert store.active("app") == release(ONE)
            assert loaded(store, ONE).files == ONE.files
            for write in (
                lambda: store.prepare("app", size=1),
                lambda: store.publish(NEXT, at=NOW),
                lambda: store.activate(release(ONE, deploy="d2"), expected=release(ONE).id, at=NOW),
                lambda: store.prune("app", keep=1, unused_since=NOW),
            ):
                with pytest.raises(StoreError, match="Permission denied; give this user the right to read and write"):
                    write()
        for path in copy.rglob("*"):
            path.chmod(0o755)
