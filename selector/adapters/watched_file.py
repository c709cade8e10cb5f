"""A file that is read again when it changes: the last good content stays in force.

It is compared by content, not by time: a file that is replaced twice within a second is seen, and so is one behind a
symbolic link that an orchestrator turns.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from selector.adapters.regular_file import read_regular
from selector.errors import AccessError
from selector.following import follow

T = TypeVar("T")


class WatchedFile(Generic[T]):
    """What a file says now, or said when it was last good."""

    def __init__(self, path: Path, *, parse: Callable[[bytes], T], argument: str, max_bytes: int) -> None:
        """`parse` raises AccessError, and so does this where the file is not good now; messages name `argument`."""
        self._path = path
        self._parse = parse
        self._argument = argument
        self._max_bytes = max_bytes
        self._content = self._read()
        self._value = self._parsed(self._content)
        self._refused: str | None = None

    @property
    def value(self) -> T:
        """The last good content, parsed."""
        return self._value

    def refresh(self) -> str | None:
        """Reads the file again; a line for the log where something is new, be it good or bad."""
        try:
            content = self._read()
            if content == self._content:
                mended, self._refused = self._refused is not None, None
                return f"{self._argument}: {self._path}: as it was before" if mended else None
            value = self._parsed(content)
        except AccessError as error:
            if str(error) == self._refused:
                return None
            self._refused = str(error)
            return f"{error}; what was in force stays"
        self._content, self._value, self._refused = content, value, None
        return f"{self._argument}: {self._path}: read again"

    async def follow(self, *, every: float, tell: Callable[[str], None]) -> None:
        """Refreshes every so many seconds until it is cancelled; an error that nobody foresaw is told once.

        A following that ended would take a key that was taken back for ever.
        """

        def failed(name: str) -> str:
            return f"{self._argument}: {self._path}: {name}; what was in force stays"

        def tell_news(news: str | None) -> None:
            if news is not None:
                tell(news)

        await follow(self.refresh, every=every, tell=tell_news, failed=failed)

    def _read(self) -> bytes:
        try:
            content = read_regular(self._path, ceiling=self._max_bytes)
        except OSError as error:
            reason = error.strerror or "cannot be read"
            raise AccessError(f"{self._argument}: {self._path}: {reason}") from None
        if len(content) > self._max_bytes:
            raise AccessError(f"{self._argument}: {self._path}: is larger than {self._max_bytes} bytes")
        return content

    def _parsed(self, content: bytes) -> T:
        try:
            return self._parse(content)
        except AccessError as error:
            raise AccessError(f"{self._argument}: {self._path}: {error}") from None
