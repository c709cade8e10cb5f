"""Reads evaluation sets: plain or gzipped JSON lines, never more than a ceiling of bytes."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Final

from selector.errors import EvaluationError

MAX_BYTES: Final = 512 * 1024 * 1024
"""Unpacked; a small gzip file can hold any amount."""


def read_set_file(path: Path, *, argument: str) -> bytes:
    """The content of a file, unpacked where its name ends in ``.gz``; EvaluationError names `argument` and the fix."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise EvaluationError(f"{argument}: {path}: not a whole gzip file; copy it again") from error
    except OSError as error:
        raise EvaluationError(f"{argument}: {path}: {error.strerror or 'cannot be read'}") from error
    if len(content) > MAX_BYTES:
        raise EvaluationError(f"{argument}: {path}: is larger than {MAX_BYTES} bytes; evaluate a part of it")
    return content
