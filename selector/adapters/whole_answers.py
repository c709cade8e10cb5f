"""The head of an answer goes out together with the first of its body: one call of the system and one packet less, and
whoever waits for it is woken once. uvicorn writes each of them as soon as it has it.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11


class WholeAnswers:
    """A connection's transport around another one; whatever stands not here is that one's."""

    def __init__(self, transport: asyncio.Transport, answers: h11.Connection) -> None:
        self._transport = transport
        self._answers = answers
        self._begun = False
        self._head = b""
        """Of the answer that has begun, as long as nothing else of it is there."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """What `answers` has just made of an event."""
        unfinished = self._answers.our_state is h11.SEND_BODY
        if unfinished and not self._begun:
            self._begun, self._head = True, data
            return
        self._begun = unfinished
        self._transport.write(self._taken() + data)

    def close(self) -> None:
        """Ends the connection once all is sent, also of an answer that was broken off."""
        self._transport.write(self._taken())
        self._transport.close()

    def _taken(self) -> bytes:
        head, self._head = self._head, b""
        return head
