"""What the layers around the service see of a request and its answer: the template of its route, and the status."""

from __future__ import annotations

from typing import Final

from starlette.types import Message, Scope, Send

METHODS: Final = frozenset({"GET", "HEAD", "POST"})
"""Those that a route here takes; of any other one no layer repeats the name."""


class StatusSeen:
    """Passes an answer on and keeps its status, 0 until it begins."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        """An ASGI `send`."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


def route_of(scope: Scope) -> str | None:
    """The template of the route that took the request; None where none did."""
    path: str | None = getattr(scope.get("route"), "path", None)
    return path
