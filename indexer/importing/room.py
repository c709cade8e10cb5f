"""How much one import may take: of all its files together, for what is small in a file can be large in a catalog.

An operation that refers to a schema brings all of it, so a file of one megabyte can describe tools of many gigabytes.
Each tool has a ceiling of its own (`openapi_schema.py`); here is the one for their sum. It is asked while tools are
read, one by one, so what passes it is never held.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from indexer.importing.candidate import Candidate, Found
from indexer.importing.openapi_schema import MAX_INPUT_SCHEMA_BYTES
from surface.errors import CatalogError, Fault

MAX_IMPORTED_BYTES = 128 * 1024 * 1024
"""Of all tools as JSON: some 100,000 tools."""
MAX_ENTRIES = 250_000
"""Tools, and entries that are none."""


class NoRoomError(CatalogError):
    """The files hold more than one import takes; no other fault matters then."""


class Room:
    """What is left of the ceilings, while the files of one import are read one after the other."""

    __slots__ = ("_bytes", "_entries")

    def __init__(self) -> None:
        self._bytes = MAX_IMPORTED_BYTES
        self._entries = MAX_ENTRIES

    def admitted(self, found: Iterable[Found], *, file: str) -> Iterator[Found]:
        """The same, one by one. Raises what `found` raises, and `NoRoomError` with the first that has no room."""
        for one in found:
            self._entries -= 1
            self._bytes -= _weight(one)
            if self._entries < 0:
                raise _no_room(file, f"more than {MAX_ENTRIES:,} tools and entries that are none")
            if self._bytes < 0:
                raise _no_room(
                    file,
                    f"tools of more than {MAX_IMPORTED_BYTES:,} bytes (what several of them refer to counts for each)",
                )
            yield one


def _no_room(file: str, problem: str) -> NoRoomError:
    return NoRoomError([Fault(where=file, problem=f"with it the import holds {problem}; import less at a time")])


def _weight(one: Found) -> int:
    if not isinstance(one, Candidate):
        return len(one.where) + len(one.problem)
    try:
        # With escapes and infinities, so that what is refused later has a weight too.
        return len(one.where) + len(json.dumps([one.name, one.description, one.input_schema, one.annotations]))
    except RecursionError:
        return MAX_INPUT_SCHEMA_BYTES
