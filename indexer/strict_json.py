"""JSON from outside, read strictly and totally: any bytes give a value or one `NotJsonError`.

Stricter than the standard library where it would guess: no NaN, and no object that holds a key twice (the first
value would vanish without a word). Not done here: what the value has to look like.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Literal, NoReturn, TypeAlias

from surface.catalog_rules import shown

Kind: TypeAlias = Literal["empty", "encoding", "syntax", "repeated_key", "depth", "number"]
"""What keeps bytes from being one JSON value."""


class NotJsonError(ValueError):
    """The bytes are not one JSON value; the message says why and quotes at most a key."""

    def __init__(self, message: str, *, kind: Kind) -> None:
        self.kind: Kind = kind
        super().__init__(message)


class RepeatedKeyError(NotJsonError):
    """An object holds a key twice."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"an object holds the key {shown(key)} twice; keep one", kind="repeated_key")


class CutOffError(NotJsonError):
    """The last of the lines is no JSON value and ends without a newline: the file was not written to its end."""


def parse_json(data: bytes) -> Any:
    """The JSON value that `data` holds, as UTF-8 with or without a byte order mark. Raises `NotJsonError`."""
    if not data or data.isspace():  # without a copy, as the data may be large
        raise NotJsonError("is empty", kind="empty")
    # `from None` throughout: the causes carry the document itself, and it may reach a log (EVD-2).
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_refuse, object_pairs_hook=_once)
    except UnicodeDecodeError as error:
        raise NotJsonError(f"not UTF-8 at byte {error.start}", kind="encoding") from None
    except json.JSONDecodeError as error:
        told = f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        raise NotJsonError(told, kind="syntax") from None
    except RepeatedKeyError as error:
        raise error from None
    except RecursionError:
        raise NotJsonError("nests too deep to be read", kind="depth") from None
    except ValueError:
        told = "holds a number that cannot be read (NaN, an infinity, or thousands of digits)"
        raise NotJsonError(told, kind="number") from None


def parse_lines(data: bytes) -> Iterator[tuple[int, Any | NotJsonError]]:
    """The value of each line that is not blank, or why it holds none, by the line's number from 1.

    Raises `CutOffError` at the last line, whose missing end nobody should take for the end of the file. A file that was
    cut off between two lines looks whole.
    """
    for number, line in enumerate(BytesIO(data), start=1):
        if not line.strip():
            continue
        try:
            yield number, parse_json(line)
        except NotJsonError as error:
            if not line.endswith(b"\n"):
                raise CutOffError(
                    f"is cut off in line {number}, which is no whole JSON value and ends without a newline; write the"
                    " file again",
                    kind=error.kind,
                ) from None
            yield number, error


def _refuse(_constant: str) -> NoReturn:
    raise ValueError


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise RepeatedKeyError(key)
            seen.add(key)
    return value
