"""What the service writes to standard error: text for people or JSON lines for machines, by the standard library.

A line never holds content. Each line of a request carries its id: the trace id of a valid ``traceparent``, which is 32
hexadecimal digits, or one made here. The id is answered as ``X-Request-Id``.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias
from uuid import uuid4

Format: TypeAlias = Literal["text", "json"]
FORMATS: Final[tuple[Format, ...]] = ("text", "json")

REQUEST_ID: Final[ContextVar[str | None]] = ContextVar("request_id", default=None)
"""Of the request that is being answered."""
REQUEST_ID_HEADER: Final = "x-request-id"

_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


def request_id(traceparent: str | None) -> str:
    """The id of a request with this header."""
    found = _TRACEPARENT.fullmatch(traceparent) if traceparent is not None else None
    return found[1] if found is not None and found[1].strip("0") else uuid4().hex


def log_to_stderr(form: Format) -> None:
    """Sends the service's log, and the warnings of its server, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLine() if form == "json" else _TextLine("%(asctime)s %(levelname)s %(message)s"))
    for name in ("toolsurface", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO if name == "toolsurface" else logging.WARNING)


class _TextLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line, request = super().format(record), REQUEST_ID.get()
        return line if request is None else f"{line} request={request}"


class _JsonLine(logging.Formatter):
    """One object a line: time, level, logger, message, request_id?, and what `extra={"request": …}` gives."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        request = REQUEST_ID.get()
        if request is not None:
            line["request_id"] = request
        line |= getattr(record, "request", {})
        return json.dumps(line)
