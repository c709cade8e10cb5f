"""Reads evaluation sets: plain or gzipped files, never more than a ceiling of bytes.

A set is a folder with a catalog and judged queries, under the names that `SetFiles.in_folder` looks for.
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from selector.errors import EvaluationError

MAX_BYTES: Final = 512 * 1024 * 1024
"""Unpacked; a small gzip file can hold any amount."""

CATALOGS: Final = ("catalog.jsonl", "catalog.jsonl.gz", "catalog.json", "catalog.json.gz")
QUERIES: Final = ("queries.jsonl", "queries.jsonl.gz")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFiles:
    """Where one evaluation set is."""

    name: str
    """What tables call it: the folder's name, or the catalog file's without its endings."""
    catalog: Path
    queries: Path

    @staticmethod
    def in_folder(folder: Path) -> SetFiles:
        """The set in a folder; EvaluationError says what the folder lacks or holds twice, or that there is none."""
        if not folder.is_dir():
            raise EvaluationError(
                f"SET {folder}: is no folder; needs one with catalog.jsonl and queries.jsonl, or --catalog, --queries"
            )
        return SetFiles(
            name=folder.resolve().name,
            catalog=_only(folder, CATALOGS, what="catalog"),
            queries=_only(folder, QUERIES, what="judged queries"),
        )

    @staticmethod
    def of_pair(catalog: Path, queries: Path) -> SetFiles:
        """The set of two files."""
        return SetFiles(name=catalog.name.split(".")[0] or catalog.name, catalog=catalog, queries=queries)


def read_set_file(path: Path, *, argument: str) -> bytes:
    """The content of a file, unpacked where its name ends in ``.gz``; EvaluationError names `argument` and the fix."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise EvaluationError(f"{argument}: {path}: not a whole gzip file; copy it again") from error
    except IsADirectoryError as error:
        raise EvaluationError(f"{argument}: {path}: is a folder; give the file in it") from error
    except OSError as error:
        raise EvaluationError(f"{argument}: {path}: {error.strerror or 'cannot be read'}") from error
    if len(content) > MAX_BYTES:
        raise EvaluationError(f"{argument}: {path}: is larger than {MAX_BYTES} bytes; evaluate a part of it")
    return content


def _only(folder: Path, names: tuple[str, ...], *, what: str) -> Path:
    found = [folder / name for name in names if (folder / name).is_file()]
    if len(found) == 1:
        return found[0]
    if not found:
        raise EvaluationError(f"SET {folder}: holds no {what}; needs one of {', '.join(names)}")
    raise EvaluationError(f"SET {folder}: holds {' and '.join(path.name for path in found)}; keep one")
