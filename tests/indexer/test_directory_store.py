"""The store in a directory keeps the contract of all stores, and survives processes that die in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from indexer.adapters import directory_files, directory_store
from indexer.adapters.directory_store import DirectoryStore
from indexer.artefact import Artefact
from indexer.errors import ArtefactError, StoreError
from indexer.ledger import empty_ledger
from indexer.sealed_ledger import sealed
from tests.contracts.artefact_store_contract import (
    ActivationHints,
    ArtefactStoreContract,
    Damage,
    KeptLedger,
    Rewrite,
    loaded,
)
from tests.indexer.samples import NOW, artefact, release

# Dies the n-th time that something in the staging folder is opened or renamed.
DYING = """
import os, signal, sys
from indexer.adapters.directory_store import DirectoryStore
from tests.indexer.samples import NOW, artefact, release
path, expected, event, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
new = artefact("brand_new")
seen = 0
def hook(name, arguments):
    global seen
    if name == event and "staging" in str(arguments[0]):
        seen += 1
        if seen == count:
            os.kill(os.getpid(), signal.SIGKILL)
store = DirectoryStore(path)
sys.addaudithook(hook)
store.publish(new, at=NOW)
store.activate(release(new), expected=expected, at=NOW)
"""

ACTIVATING = """
import signal, sys
signal.alarm(60)  # whoever waits for a word of this process does not wait for ever
from indexer.adapters.directory_store import DirectoryStore
from indexer.errors import ActivationConflictError
from tests.indexer.samples import NOW, artefact, release
mine = artefact(sys.argv[2])
store = DirectoryStore(sys.argv[1])
store.publish(mine, at=NOW)
print("ready", flush=True)
sys.stdin.readline()
try:
    store.activate(release(mine), expected=None, at=NOW)
    print("won")
except ActivationConflictError:
    print("conflict")
"""


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A process of its own that imports what this one imports."""
    command: Sequence[str] = (sys.executable, "-P", "-c", code, *arguments)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def folder_of(root: Path, one: Artefact) -> Path:
    return root / "applications" / one.manifest.application / "versions" / one.manifest.surface / one.version


class TestDirectoryStore(ActivationHints, KeptLedger, ArtefactStoreContract):
    @pytest.fixture
    def root(self, memory: Path) -> Path:
        return memory / "store"

    @pytest.fixture
    def store(self, root: Path) -> DirectoryStore:
        return DirectoryStore(root)

    @pytest.fixture
    def twin(self, root: Path) -> DirectoryStore:
        return DirectoryStore(root)

    @pytest.fixture
    def damage(self, root: Path) -> Damage:
        def change(one: Artefact, name: str, data: bytes) -> None:
            (folder_of(root, one) / name).write_bytes(data)

        return change

    @pytest.fixture
    def rewrite(self, root: Path) -> Rewrite:
        def change(of: Callable[[bytes], bytes | None]) -> None:
            path = root / "applications" / "app" / "ledger.json"
            data = of(path.read_bytes())
            path.unlink() if data is None else path.write_bytes(data)

        return change

    @pytest.mark.parametrize(
        ("event", "count"), [("open", 3), ("os.rename", 1), ("os.rename", 2)], ids=["files", "version", "pointer"]
    )
    def test_a_process_killed_while_it_writes_leaves_the_active_release(
        self, store: DirectoryStore, root: Path, event: str, count: int
    ) -> None:
        before, after = artefact("old"), artefact("brand_new")
        store.publish(before, at=NOW)
        store.activate(release(before), expected=None, at=NOW)
        with python(DYING, str(root), release(before).id, event, str(count)) as process:
            assert process.wait(30) == -signal.SIGKILL
        assert store.active("app") == release(before)
        assert loaded(store, before).files == before.files
        home = root / "applications" / "app"
        assert list((home / "staging").iterdir())
        store.publish(after, at=NOW)
        store.activate(release(after), expected=release(before).id, at=NOW)
        assert loaded(store, after).files == after.files
        assert not (home / "staging").exists()

    def test_of_simultaneous_processes_one_activates_and_the_others_are_told(
        self, store: DirectoryStore, root: Path
    ) -> None:
        processes = [python(ACTIVATING, str(root), f"tool_{number}") for number in range(3)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [process.communicate(timeout=30)[0] for process in processes]
        assert sorted(said) == ["conflict\n", "conflict\n", "won\n"]
        assert store.active("app") == release(artefact(f"tool_{said.index('won' + chr(10))}"))

    def test_the_names_of_all_new_folders_are_on_the_disk_before_an_activation_counts(
        self, memory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root, synced = memory / "volume" / "stores" / "one", set[Path]()

        def sync(descriptor: int, really: Callable[[int], None] = os.fsync) -> None:
            really(descriptor)
            synced.add(Path(f"/proc/self/fd/{descriptor}").readlink())

        monkeypatch.setattr(os, "fsync", sync)
        store, one = DirectoryStore(root), artefact()
        store.publish(one, at=NOW)
        store.activate(release(one), expected=None, at=NOW)
        folders = [path for path in memory.rglob("*") if path.is_dir()]
        assert folder_of(root, one) in folders
        assert {path.parent for path in folders} - synced == set()
        assert {path.name for path in synced} >= {*one.files, "manifest.json", "ledger.json"}

    def test_to_say_that_a_release_is_active_already_needs_no_right_to_write(
        self, store: DirectoryStore, root: Path
    ) -> None:
        one = artefact()
        store.publish(one, at=NOW)
        store.activate(release(one), expected=None, at=NOW)
        before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
        store.activate(release(one), expected=release(one).id, at=NOW)
        assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before

    def test_a_reader_never_misses_a_version_that_is_put_right(
        self, store: DirectoryStore, twin: DirectoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, seen = artefact(), list[str]()
        store.publish(one, at=NOW)
        (folder_of(root, one) / "vectors.npy").write_bytes(b"")
        (folder_of(root, one) / "names.json").unlink()

        def looking(move: Callable[..., None]) -> Callable[..., None]:
            def moved(*places: Path) -> None:
                move(*places)
                try:
                    assert loaded(twin, one).files == one.files
                    seen.append("whole")
                except ArtefactError:
                    seen.append("damaged")

            return moved

        monkeypatch.setattr(os, "rename", looking(os.rename))
        monkeypatch.setattr(os, "replace", looking(os.replace))
        store.publish(one, at=NOW)
        assert seen == sorted(seen)  # damaged, then whole
        assert set(seen) == {"damaged", "whole"}

    def test_a_version_that_is_put_right_while_it_is_read_is_read_again(
        self, store: DirectoryStore, twin: DirectoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, damaged = artefact(), [True]
        store.publish(one, at=NOW)
        (folder_of(root, one) / "vectors.npy").write_bytes(b"")

        def read(path: Path, *, ceiling: int, remedy: str) -> bytes | None:
            data = directory_files.read(path, ceiling=ceiling, remedy=remedy)
            if path.name == "vectors.npy" and damaged:
                damaged.clear()
                twin.publish(one, at=NOW)
            return data

        monkeypatch.setattr(directory_store, "read", read)
        assert loaded(store, one).files == one.files
        assert not damaged

    @pytest.mark.parametrize("odd", ["folder in a file's place", "link", "file"])
    def test_whatever_stands_in_the_place_of_a_version_is_put_right(
        self, store: DirectoryStore, root: Path, odd: str
    ) -> None:
        one, aside = artefact(), root / "aside"
        store.publish(one, at=NOW)
        folder = folder_of(root, one)
        if odd == "folder in a file's place":
            (folder / "vectors.npy").unlink()
            (folder / "vectors.npy").mkdir()
        else:
            folder.rename(aside)
            (aside / "vectors.npy").unlink()
            folder.symlink_to(aside) if odd == "link" else folder.write_bytes(b"")
        store.publish(one, at=NOW)
        assert loaded(store, one).files == one.files
        assert folder.is_dir()
        assert not folder.is_symlink()
        assert odd == "folder in a file's place" or not (aside / "vectors.npy").exists()

    def test_a_version_moved_to_another_place_is_refused(self, store: DirectoryStore, root: Path) -> None:
        one, other = artefact("a"), artefact("b")
        for each in (one, other):
            store.publish(each, at=NOW)
        folder_of(root, one).rename(root / "aside")
        folder_of(root, other).rename(folder_of(root, one))
        with pytest.raises(ArtefactError, match="another version"):
            loaded(store, one)

    @pytest.mark.parametrize("name", ["names.json", "vectors.npy"])
    def test_a_missing_file_is_damage_and_a_pipe_in_its_place_holds_nobody_up(
        self, store: DirectoryStore, root: Path, name: str
    ) -> None:
        one = artefact()
        store.publish(one, at=NOW)
        (folder_of(root, one) / name).unlink()
        with pytest.raises(ArtefactError, match="is missing"):
            loaded(store, one)
        os.mkfifo(folder_of(root, one) / name)
        with pytest.raises(StoreError, match="not a regular file"):
            loaded(store, one)

    def test_a_file_that_grew_is_not_read_to_its_end(self, store: DirectoryStore, root: Path) -> None:
        one = artefact()
        store.publish(one, at=NOW)
        with (folder_of(root, one) / "names.json").open("r+b") as file:
            file.truncate(10**12)  # sparse: a terabyte for whoever reads it
        with pytest.raises(ArtefactError, match=r"names\.json"):
            loaded(store, one)

    def test_a_damaged_ledger_is_named(self, store: DirectoryStore, root: Path) -> None:
        one = artefact()
        store.publish(one, at=NOW)
        store.activate(release(one), expected=None, at=NOW)
        pointer = root / "applications" / "app" / "ledger.json"
        other = empty_ledger("other")
        for data in (b"", b"{}", pointer.read_bytes()[:-5], sealed(other)):
            pointer.write_bytes(data)
            with pytest.raises(ArtefactError, match=r"ledger\.json"):
                store.active("app")

    def test_a_writer_that_waits_too_long_says_for_whom(self, store: DirectoryStore, root: Path) -> None:
        with store._writing("app"), pytest.raises(StoreError, match="another process has been writing"):
            DirectoryStore(root, lock_wait_s=0).publish(artefact(), at=NOW)

    def test_a_place_that_cannot_be_written_is_a_store_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(StoreError, match="file"):
            DirectoryStore(tmp_path / "file").publish(artefact(), at=NOW)
        with pytest.raises(StoreError, match="proc"):
            DirectoryStore("/proc/nowhere").publish(artefact(), at=NOW)

    def test_a_place_that_cannot_be_written_or_has_no_room_is_found_beforehand(
        self, store: DirectoryStore, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(StoreError, match="file"):
            DirectoryStore(tmp_path / "file").prepare("app", size=1)
        with pytest.raises(StoreError, match=r"bytes are needed and .* are free"):
            store.prepare("app", size=10**18)

    def test_strange_folders_are_no_applications(self, store: DirectoryStore, root: Path) -> None:
        one = artefact()
        store.publish(one, at=NOW)
        store.activate(release(one), expected=None, at=NOW)
        strange = root / "applications" / "two words"
        strange.mkdir()
        (strange / "ledger.json").write_bytes(b"{}")
        assert store.applications() == ("app",)
