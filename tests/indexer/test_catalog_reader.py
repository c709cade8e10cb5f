"""Reading a catalog's bytes never takes more memory than a catalog may."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from indexer.adapters.catalog_reader import read_catalog_bytes
from indexer.errors import CatalogFileError


def test_plain_and_packed_bytes_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"{}")
    (tmp_path / "packed").write_bytes(gzip.compress(b"{}"))
    assert read_catalog_bytes(tmp_path / "plain") == read_catalog_bytes(tmp_path / "packed") == b"{}"


def test_a_bomb_stops_at_the_ceiling(tmp_path: Path) -> None:
    (tmp_path / "bomb").write_bytes(gzip.compress(b"0" * 5_000_000))
    with pytest.raises(CatalogFileError, match="larger than 1000000 bytes"):
        read_catalog_bytes(tmp_path / "bomb", ceiling=1_000_000)


@pytest.mark.parametrize("cut", [3, 12, -4])
def test_a_torn_file_is_refused(tmp_path: Path, cut: int) -> None:
    (tmp_path / "torn").write_bytes(gzip.compress(b"0123456789" * 100)[:cut])
    with pytest.raises(CatalogFileError, match="damaged gzip"):
        read_catalog_bytes(tmp_path / "torn")


def test_a_folder_or_nothing_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(CatalogFileError, match="cannot be read"):
            read_catalog_bytes(path)
