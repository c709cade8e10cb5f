"""Whose a cache file and what stands beside it must be: whoever could write them could choose the vectors."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from indexer.adapters.cache_file import claim, connect
from indexer.adapters.vector_cache import VectorFile
from indexer.errors import CacheFileError
from tests.indexer.cached_vectors import DIMENSION, files_beside, same, some


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "vectors.sqlite3"


def a_log_with_other_vectors(path: Path) -> bytes:
    """What a deploy that never ended would have left beside a copy of the file `path`: every vector is a seven."""
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    with closing(VectorFile(copy)) as cache:
        sevens = {text: np.full(DIMENSION, 7, dtype=np.float32) for text in some(3)}
        with closing(sqlite3.connect(copy)) as connection, connection:
            connection.execute("DELETE FROM vectors")
        cache.keep("model", sevens)
        log = path.with_name("copy-wal").read_bytes()
    copy.unlink()
    return log


@pytest.fixture
def forged(path: Path) -> Path:
    """A file of ours, and beside it a log that would make every vector another one."""
    with closing(VectorFile(path)) as cache:
        cache.keep("model", some(3))
    log = path.with_name(f"{path.name}-wal")
    log.write_bytes(a_log_with_other_vectors(path))
    return log


def test_a_log_of_ones_own_is_read_as_the_rest_of_the_file(path: Path, forged: Path) -> None:
    with closing(VectorFile(path)) as cache:
        assert all(vector[0] == 7 for vector in cache.find("model", list(some(3))).values())


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_a_link_beside_a_file_of_ours_is_refused_and_not_followed(path: Path, forged: Path, suffix: str) -> None:
    elsewhere = path.with_name("elsewhere")
    forged.rename(elsewhere)
    path.with_name(f"{path.name}{suffix}").symlink_to(elsewhere)
    before = files_beside(path)
    with pytest.raises(CacheFileError, match=rf"vectors\.sqlite3{suffix} stands where .* is not ours; .*--cache"):
        VectorFile(path)
    assert files_beside(path) == before


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_a_file_of_another_user_is_refused_and_not_touched(
    path: Path, forged: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = path.with_name(f"{path.name}{suffix}")
    shared.touch()
    if os.geteuid() == 0:
        os.chown(shared, 65_534, 65_534)
    else:  # nobody else can give a file away, so the deploy is another user's
        monkeypatch.setattr(os, "geteuid", lambda: 65_534)
    before = files_beside(path)
    with pytest.raises(CacheFileError, match=r"is not ours; |belongs to another user"):
        VectorFile(path)
    assert files_beside(path) == before


def test_what_another_user_has_put_beside_it_since_it_was_looked_at_is_not_believed(
    path: Path, forged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert claim(path) == "ours"
    monkeypatch.setattr(
        os, "geteuid", lambda: 65_534
    )  # SQLite gives what it opens as root to the owner of the database
    with pytest.raises(CacheFileError, match="stands where SQLite would write and is not ours"):
        connect(path, wait_s=1.0)


def test_a_folder_that_everybody_may_write_to_is_refused_unless_none_may_take_anothers_place(path: Path) -> None:
    VectorFile(path).close()
    path.parent.chmod(0o777)
    with pytest.raises(CacheFileError, match=r"everybody may write to its folder.*chmod o-w"):
        VectorFile(path)
    path.parent.chmod(0o1777)
    VectorFile(path).close()


def test_a_dash_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CacheFileError, match=r"--cache -: .* name one, or leave --cache out"):
        VectorFile(Path("-"))
    assert list(tmp_path.iterdir()) == []


def test_behind_a_link_it_is_the_files_own_folder_that_counts(path: Path, tmp_path: Path) -> None:
    with closing(VectorFile(path)) as cache:
        cache.keep("model", some(3))
    link = tmp_path / "link.sqlite3"
    link.symlink_to(path)
    with closing(VectorFile(link)) as cache:
        assert same(cache.find("model", list(some(3))), some(3))
    path.with_name(f"{path.name}-wal").symlink_to("/etc/hostname")
    with pytest.raises(CacheFileError, match="stands where SQLite would write"):
        VectorFile(link)
