"""Canonical JSON, and the digests taken over it.

Two values that are equal as JSON have the same canonical bytes: keys sorted, no spaces, UTF-8, no NaN.
A digest is the first 128 bits of SHA-256 over those bytes, as 32 lower-case hexadecimal digits: short enough
to travel in a receipt that a model reads, long enough that nobody finds a second tool with the same one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

DIGEST_LENGTH = 32
"""Hexadecimal digits in a digest."""


def canonical_json(value: Any) -> str:
    """The one text of a JSON value.

    Raises ValueError for NaN or infinities, TypeError for a value JSON cannot hold, RecursionError where the
    value nests deeper than the interpreter's stack.
    """
    return _ENCODER.encode(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):  # a read-only one, say: JSON knows dictionaries only
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is no JSON value")


# One for all values: `json.dumps` makes one each time, and a catalog has some for each tool.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)


def canonical_bytes(value: Any) -> bytes:
    """The canonical text in UTF-8; raises UnicodeEncodeError (a ValueError) for a lone surrogate."""
    return canonical_json(value).encode("utf-8")


def sendable(text: str) -> str:
    """The text with a question mark for each lone surrogate, which no provider's client could encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def digest(value: Any) -> str:
    """The digest of a JSON value: 32 hexadecimal digits."""
    return sha256(canonical_bytes(value)).hexdigest()[:DIGEST_LENGTH]
