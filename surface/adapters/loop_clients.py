"""One HTTP client for each event loop, because the connections of one belong to the loop that opened them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import Final

import httpx2

_CLOSING_SECONDS: Final = 1.0
"""Another loop may stop before it has closed its own."""


class LoopClients:
    """Threads may share it, each with a loop of its own; a client is made where a loop asks first."""

    def __init__(self, make: Callable[[], httpx2.AsyncClient]) -> None:
        self._make = make
        self._clients: dict[asyncio.AbstractEventLoop, httpx2.AsyncClient] = {}
        self._closed = False
        self._changing = Lock()

    def here(self) -> httpx2.AsyncClient:
        """The client of the running loop; RuntimeError once they are closed."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is not None:
            return client
        with self._changing:
            if self._closed:
                raise RuntimeError("the clients are closed")
            for ended in [each for each in self._clients if each.is_closed()]:
                del self._clients[ended]  # its connections ended with it
            return self._clients.setdefault(loop, self._make())

    async def aclose(self) -> None:
        """Closes the client of every loop, each in its own where that still runs; twice does no harm."""
        with self._changing:
            self._closed = True
            clients, self._clients = self._clients, {}
        here = asyncio.get_running_loop()
        for loop, client in clients.items():
            if loop is here:
                await client.aclose()
            elif loop.is_running():
                closing = asyncio.run_coroutine_threadsafe(client.aclose(), loop)
                await asyncio.wait({asyncio.wrap_future(closing)}, timeout=_CLOSING_SECONDS)
