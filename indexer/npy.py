"""NumPy's file format 1.0, written and read without parsing anything.

A reader here already knows the type and the shape (from the manifest), so it knows every byte of the header: it
compares instead of parsing. Nothing is allocated for a file that does not match, and a pickle cannot even be asked
for. `numpy.load` reads what is written here.
"""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.errors import MENDED, ArtefactError

_MAGIC = b"\x93NUMPY\x01\x00"
_ALIGNMENT = 64


def to_npy(array: NDArray[Any]) -> bytes:
    """The file of a little-endian array, in C order."""
    # Joined from the array's own memory: one copy of what may be hundreds of megabytes, not two.
    return b"".join((header(array.dtype.str, array.shape), np.ascontiguousarray(array).reshape(-1).view(np.uint8).data))


def rows_to_npy(rows: Iterable[NDArray[np.float32]], *, shape: tuple[int, int]) -> bytes:
    """The same of a float32 array of this shape that is nowhere whole; raises ValueError where the rows are others."""
    wrong = f"rows: are not {shape[0]} of {shape[1]} numbers"
    file = BytesIO()  # which gives away its bytes without a copy
    file.write(header("<f4", shape))
    count = 0
    for row in rows:
        if row.shape != shape[1:]:
            raise ValueError(wrong)
        file.write(np.ascontiguousarray(row, dtype="<f4").data)
        count += 1
    if count != shape[0]:
        raise ValueError(wrong)
    return file.getvalue()


def from_npy(data: bytes, *, dtype: str, shape: tuple[int, ...], name: str) -> NDArray[Any]:
    """The array in a file, without a copy and not writable; `name` is what an `ArtefactError` calls the file."""
    expected = header(dtype, shape)
    if not data.startswith(expected):
        raise ArtefactError(f"{name}: is not a .npy file of type {dtype} and shape {shape}; {MENDED}")
    count = int(np.prod(shape, dtype=np.int64))
    if len(data) != len(expected) + count * np.dtype(dtype).itemsize:
        raise ArtefactError(f"{name}: holds more or fewer than {count} numbers; {MENDED}")
    return np.frombuffer(data, dtype=dtype, count=count, offset=len(expected)).reshape(shape)


def header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Everything before the numbers: magic, version, length, and a Python literal padded to 64 bytes."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape!r}, }}".encode("ascii")
    prefix = len(_MAGIC) + 2
    padding = -(prefix + len(text) + 1) % _ALIGNMENT
    body = text + b" " * padding + b"\n"
    return _MAGIC + len(body).to_bytes(2, "little") + body
