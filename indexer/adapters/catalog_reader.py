"""Reads the bytes of a catalog, packed by gzip or not, and no more than a catalog may have."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from indexer.catalog_file import MAX_CATALOG_BYTES
from indexer.errors import CatalogFileError

_GZIP = b"\x1f\x8b"


def read_catalog_bytes(path: Path, *, ceiling: int = MAX_CATALOG_BYTES) -> bytes:
    """The bytes of the catalog at `path`, unpacked.

    Raises `CatalogFileError` where there is no such file, it cannot be unpacked, or it is larger than `ceiling` bytes.
    """
    try:
        with path.open("rb") as file:
            data = file.read(ceiling + 1)
            if data.startswith(_GZIP):
                file.seek(0)
                with gzip.GzipFile(fileobj=file) as packed:
                    # Unpacks as it goes, so a small file that would unpack to terabytes stops at the ceiling.
                    data = packed.read(ceiling + 1)
    except (zlib.error, EOFError, gzip.BadGzipFile):
        raise _refused(path, "is a damaged gzip file; export it again") from None
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror or type(error).__name__}") from error
    if len(data) > ceiling:
        raise _refused(path, f"is larger than {ceiling} bytes; split the application")
    return data


def _refused(path: Path, problem: str) -> CatalogFileError:
    return CatalogFileError(f"catalog {path}: {problem}")
