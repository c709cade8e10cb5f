"""HTTP/1.1 on a connection, with what uvicorn leaves unbounded: the time until a request is there, and their number.

Rules kept here:

1. The head of a request is there `patience` seconds after the connection or its first byte, and its body as long
   after that, also one that nobody reads any more; else the connection ends, with a 408 where nothing was answered.
2. Whoever asks and does not read is waited for `patience` seconds, and then the connection ends.
3. What is no HTTP/1.0 or HTTP/1.1 is answered with a problem document, which repeats nothing of it, and with an id that
   the log has too. A length beside a transfer encoding is no HTTP either (RFC 9112, 6.3): two readers of such a request
   may disagree where it ends.
4. A connection beyond the most that are served is marked: the edge answers its request with a 503. One beyond those by
   `_MARKED` is closed unread, so that there is always an end.
5. A head has at most `MAX_HEAD_BYTES`, in however many pieces it comes.
6. The head of an answer goes out together with the first of its body (`whole_answers.py`).

The size of a body is bounded by the application.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from selector.adapters.edge import marked_crowded
from selector.adapters.logs import REQUEST_ID, REQUEST_ID_HEADER, request_id
from selector.adapters.problems import MEDIA_TYPE, Code, problem_content
from selector.adapters.whole_answers import WholeAnswers

LOG: Final = logging.getLogger("toolsurface.selector.access")

MAX_HEAD_BYTES: Final = 65_536
"""Of the request line and headers."""

_AFTER_THE_APPLICATION: Final = 1.5
"""Times `patience`: a late body is answered by the application, where it still waits for it."""

_MARKED: Final = 64
"""Connections beyond the most that are told so."""

_MALFORMED: Final[Mapping[int, Code]] = {
    400: "invalid_request",
    408: "request_timeout",
    431: "head_too_large",
    501: "unknown_encoding",
    505: "unknown_version",
}


def bounded(*, patience: float, most: int) -> type[BoundedProtocol]:
    """The protocol with so much patience, in seconds, and so many connections at once."""
    seconds, connections = patience, most

    class Bounded(BoundedProtocol):
        patience = seconds
        most = connections

    return Bounded


class _StrictConnection(h11.Connection):
    """h11's reading of requests, which lets pass what rules 3 and 5 refuse."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA | h11.PAUSED]:
        """The next event; RemoteProtocolError for a head that is refused."""
        if self.their_state is not h11.IDLE:
            return super().next_event()
        before = len(self.trailing_data[0])
        event = super().next_event()
        if isinstance(event, h11.Request):
            if before - len(self.trailing_data[0]) > MAX_HEAD_BYTES:
                raise h11.RemoteProtocolError("head too long", error_status_hint=431)
            if event.http_version not in {b"1.0", b"1.1"}:
                raise h11.RemoteProtocolError("unknown version", error_status_hint=505)
            names = {name for name, _ in event.headers}
            if b"transfer-encoding" in names and (b"content-length" in names or event.http_version == b"1.0"):
                raise h11.RemoteProtocolError("two readings of where the body ends")
        return event


class BoundedProtocol(H11Protocol):
    """uvicorn's protocol, with the rules above."""

    patience: float
    """Seconds."""
    most: int
    """Connections."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.conn = _StrictConnection(h11.SERVER, MAX_HEAD_BYTES)
        self._late: asyncio.TimerHandle | None = None
        self._waits_for: object = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(cast("asyncio.Transport", WholeAnswers(transport, self.conn)))
        if len(self.connections) > self.most + _MARKED:
            transport.abort()
            return
        if len(self.connections) > self.most:
            self.app = marked_crowded(self.app)
        transport.set_write_buffer_limits(high=0)  # whatever the system does not take at once counts as not read
        self._wait(h11.IDLE, self.patience)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        self._is_read()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None, 0.0)
        self._is_read()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - as uvicorn calls it
        """Called where the bytes are no HTTP, while the error is being handled."""
        error = sys.exception()
        hint = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        self._refuse(hint if hint in _MALFORMED else 400)

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _look(self) -> None:
        """Sets the timer by what the connection waits for."""
        state = self.conn.their_state
        if self.transport.is_closing():
            self._wait(None, 0.0)
        elif state is h11.SEND_BODY:
            self._wait(state, self.patience * _AFTER_THE_APPLICATION)
        elif state is h11.IDLE and self.conn.trailing_data[0]:
            self._wait(state, self.patience)
        else:
            # The request is there, or nothing of the next one is: what bounds that is the answer, or keep-alive.
            self._wait(None, 0.0)

    def _wait(self, state: object, seconds: float) -> None:
        """One timer for each state: bytes that trickle do not set it back."""
        if state is self._waits_for:
            return
        if self._late is not None:
            self._late.cancel()
        self._waits_for = state
        self._late = None if state is None else self.loop.call_later(seconds, self._refuse, 408)

    def _refuse(self, status: int) -> None:
        """Answers with a problem document where nothing has been answered, and ends the connection."""
        if self.transport.is_closing():
            return
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.abort()
            return
        code = _MALFORMED[status]
        identity = request_id(None)
        before = REQUEST_ID.set(identity)
        LOG.info("- - %d %s", status, code)
        REQUEST_ID.reset(before)
        content = json.dumps(problem_content(code)).encode()
        headers = [
            ("content-type", MEDIA_TYPE),
            ("content-length", str(len(content))),
            ("connection", "close"),
            (REQUEST_ID_HEADER, identity),
        ]
        reason = HTTPStatus(status).phrase.encode()
        for event in (
            h11.Response(status_code=status, headers=headers, reason=reason),
            h11.Data(data=content),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
