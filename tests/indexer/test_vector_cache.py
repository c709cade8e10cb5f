"""The vector cache gives back what it was given or nothing, whatever happens to its file."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.adapters.cache_file import PAGE
from indexer.adapters.vector_cache import VectorFile
from indexer.errors import CacheFileError
from tests.indexer.cached_vectors import DIMENSION, files_beside, same, some

KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from indexer.adapters.vector_cache import VectorFile
cache = VectorFile(Path(sys.argv[1]))
for number in range(5):
    cache.keep("m", {f"{number}": np.full(8, number, dtype=np.float32)})
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "vectors.sqlite3"


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def cache(path: Path, told: list[str]) -> Iterator[VectorFile]:
    with closing(VectorFile(path, tell=told.append)) as opened:
        yield opened


def test_what_was_kept_is_found_by_another_process(cache: VectorFile, path: Path, told: list[str]) -> None:
    cache.keep("model", some(1_200))
    with closing(VectorFile(path)) as other:
        assert same(other.find("model", [*some(1_200), "unknown"]), some(1_200))
    assert told == []


def test_vectors_of_another_model_are_not_found(cache: VectorFile) -> None:
    cache.keep("model", some(3))
    assert cache.find("another", list(some(3))) == {}


def test_keeping_a_vector_twice_changes_nothing(cache: VectorFile) -> None:
    cache.keep("model", some(3))
    cache.keep("model", some(4))
    assert same(cache.find("model", list(some(4))), some(4))


def test_the_file_holds_no_text_and_is_ones_own(cache: VectorFile, path: Path) -> None:
    cache.keep("model", {"who owes us money": np.ones(DIMENSION, dtype=np.float32)})
    for file in path.parent.iterdir():
        assert b"owes" not in file.read_bytes()
        assert file.stat().st_mode & 0o077 == 0


def test_a_full_cache_forgets_the_oldest(path: Path) -> None:
    wide = {f"{number}": np.full(1_024, number, dtype=np.float32) for number in range(4_000)}
    ceiling = 8 * 1024 * 1024
    with closing(VectorFile(path, max_bytes=ceiling)) as cache:
        for start in range(0, 4_000, 50):
            cache.keep("model", {f"{number}": wide[f"{number}"] for number in range(start, start + 50)})
        found = cache.find("model", list(wide))
    assert path.stat().st_size <= ceiling
    assert 700 < len(found) < 1_100
    assert same(found, {key: wide[key] for key in list(wide)[-len(found) :]})


def test_a_process_that_was_killed_loses_nothing_it_kept(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], env=environment, check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    with closing(VectorFile(path)) as cache:
        assert len(cache.find("m", ["0", "1", "2", "3", "4"])) == 5


@settings(max_examples=60)
@given(st.data())
def test_any_damage_to_the_file_costs_vectors_and_never_gives_a_wrong_one(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("cache") / "vectors.sqlite3"
    with closing(VectorFile(path)) as cache:
        cache.keep("model", some(30))
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    damage = data.draw(st.sampled_from(["flip", "cut", "fill"]))
    if damage == "flip":
        content[at] ^= data.draw(st.integers(1, 255))
    elif damage == "cut":
        del content[at:]
    else:
        content[at : at + 4_096] = b"\xff" * len(content[at : at + 4_096])  # a page, say
    path.write_bytes(content)
    try:
        opened = VectorFile(path)
    except CacheFileError:
        # The first bytes do not say any more that it is ours, so it may be anything.
        assert at < 100
        assert files_beside(path) == {path.name: bytes(content)}
        return
    with closing(opened) as cache:
        found = cache.find("model", list(some(30)))
        assert same(found, {key: some(30)[key] for key in found})
        cache.keep("model", some(30))
        cache.keep("model", some(5, start=100))
        assert len(cache.find("model", list(some(5, start=100)))) == 5
        assert all(np.array_equal(vector, some(30)[key]) for key, vector in cache.find("model", list(some(30))).items())


@pytest.mark.parametrize("damage", [b"\xff" * 64, b"\x00" * 64, b"\xc3(" * 32], ids=["ff", "00", "no UTF-8"])
def test_damage_anywhere_in_the_page_of_the_tables_costs_vectors_alone(memory: Path, damage: bytes) -> None:
    path = memory / "vectors.sqlite3"
    with closing(VectorFile(path)) as cache:
        cache.keep("model", some(3))
    sound = path.read_bytes()
    for at in range(100, PAGE, 61):
        told: list[str] = []
        path.write_bytes(sound[:at] + damage + sound[at + len(damage) :])
        with closing(VectorFile(path, tell=told.append)) as cache:
            cache.keep("model", some(3))
            assert len(cache.find("model", list(some(3)))) == 3, (at, told)


def test_a_row_that_was_changed_is_forgotten(cache: VectorFile, path: Path) -> None:
    cache.keep("model", some(3))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE vectors SET vector = zeroblob(32) WHERE rowid = 2")
    assert len(cache.find("model", list(some(3)))) == 2
    cache.keep("model", some(3))
    assert same(cache.find("model", list(some(3))), some(3))


@pytest.mark.parametrize("column", ["vector", "checksum"])
@pytest.mark.parametrize("value", ["''", "7", "'text'", "x'00'", "zeroblob(300000)"])
def test_a_row_of_other_types_or_sizes_is_forgotten(cache: VectorFile, path: Path, column: str, value: str) -> None:
    cache.keep("model", some(3))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE vectors SET {column} = {value} WHERE rowid = 2")  # noqa: S608 - from this file
    assert len(cache.find("model", list(some(3)))) == 2
    cache.keep("model", some(3))
    assert same(cache.find("model", list(some(3))), some(3))


def a_database(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in ("CREATE TABLE vectors (invoices TEXT)", "INSERT INTO vectors VALUES ('owed')", *statements):
            connection.execute(statement)


FOREIGN: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_bytes(b"not a database " * 1_000),
    "a short text": lambda path: path.write_bytes(b"7"),
    "a torn database": lambda path: path.write_bytes(b"SQLite format 3\0" + b"\xff" * 9_000),
    "a database": a_database,
    "a database with a version": lambda path: a_database(path, "PRAGMA user_version = 2"),
    "a database in use": lambda path: a_database(path, "PRAGMA user_version = 1", "PRAGMA application_id = 7"),
    "another version's": lambda path: a_database(
        path, f"PRAGMA application_id = {0x74737663}", "PRAGMA user_version = 7"
    ),
    "a log of its own beside nothing": lambda path: path.with_name(f"{path.name}-wal").write_bytes(b"notes"),
    "a journal beside an empty file": lambda path: (
        path.write_bytes(b""),
        path.with_name(f"{path.name}-journal").write_bytes(b"notes"),
    ),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_file_of_something_else_is_refused_and_not_touched(path: Path, kind: str) -> None:
    path.parent.mkdir()
    FOREIGN[kind](path)
    before = files_beside(path)
    with pytest.raises(CacheFileError, match=r"^--cache .*vectors\.sqlite3: .*name another file"):
        VectorFile(path)
    assert files_beside(path) == before


def test_a_place_that_is_no_regular_file_is_refused(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(CacheFileError, match="no regular file"):
        VectorFile(path)


def test_what_stands_beside_a_file_of_ours_as_its_journal_is_not_touched(path: Path) -> None:
    VectorFile(path).close()
    journal = path.with_name(f"{path.name}-journal")
    journal.write_bytes(b"notes")
    with pytest.raises(CacheFileError, match="is not ours"):
        VectorFile(path)
    assert journal.read_bytes() == b"notes"


def test_a_damaged_file_of_ours_is_set_aside_and_begun_anew(path: Path, told: list[str]) -> None:
    with closing(VectorFile(path)) as cache:
        cache.keep("model", some(100))
    damaged = path.read_bytes()[:200] + b"\xff" * 30_000
    for _ in range(2):
        path.write_bytes(damaged)
        with closing(VectorFile(path, tell=told.append)) as cache:
            cache.keep("model", some(3))
            assert len(cache.find("model", list(some(3)))) == 3
    assert files_beside(path).keys() == {path.name, f"{path.name}.damaged"}
    assert path.with_name(f"{path.name}.damaged").read_bytes()[200:] == damaged[200:]
    assert all("was damaged" in each and "begun anew" in each for each in told)


def test_setting_aside_never_takes_the_place_of_a_file_of_something_else(path: Path) -> None:
    with closing(VectorFile(path)) as cache:
        cache.keep("model", some(100))
    path.with_name(f"{path.name}.damaged").write_bytes(b"notes")
    path.write_bytes(path.read_bytes()[:200] + b"\xff" * 30_000)
    VectorFile(path).close()
    assert path.with_name(f"{path.name}.damaged").read_bytes() == b"notes"
    assert path.with_name(f"{path.name}.damaged-2").exists()


def test_a_place_that_cannot_be_is_told_once_and_nothing_is_remembered(tmp_path: Path, told: list[str]) -> None:
    (tmp_path / "file").write_bytes(b"")
    with closing(VectorFile(tmp_path / "file" / "vectors", tell=told.append)) as cache:
        cache.keep("model", some(3))
        assert cache.find("model", list(some(3))) == {}
    assert len(told) == 1
    assert told[0].endswith("going on without it")


def test_a_full_disk_is_told_once_and_the_deploy_goes_on(path: Path) -> None:
    # The limit on the size of files stands for the disk; it holds for a process, so it gets one of its own.
    code = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from indexer.adapters.cache_file import PAGE
from indexer.adapters.vector_cache import VectorFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
told = []
cache = VectorFile(Path(sys.argv[1]), tell=told.append)
for number in range(100):
    cache.keep("m", {f"{number}-{each}": np.ones(384, dtype=np.float32) for each in range(10)})
cache.close()
print(len(told), "going on without it" in told[0])
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run(
        [sys.executable, "-c", code, str(path)], env=environment, check=True, timeout=60, capture_output=True, text=True
    )
    assert ended.stdout == "1 True\n"
