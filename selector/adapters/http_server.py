"""uvicorn around the application: one process, one address, a graceful end.

The socket is bound before the server starts, so that port 0 has a number to print and a port that is taken is an
error before anything is loaded.

On SIGTERM readiness changes, for as long as balancers need to notice; requests are answered as before, each on a
connection that ends with its answer. Then the listener closes and the requests in flight finish. Ctrl-C, or a second
signal, does not wait for balancers.
"""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable
from threading import Event
from types import FrameType
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from selector.adapters.http_protocol import bounded

GRACE: Final = 10
"""Seconds that requests in flight have to finish once the process is told to stop."""

MOST_CONNECTIONS: Final = 800
"""Served at once; with those that are refused, and its files, a process stays within the usual 1,024 open files."""

KEEP_ALIVE: Final = 75
"""Seconds that a connection may idle; longer than usual proxies keep theirs, so that they close first."""


def bind(host: str, port: int) -> socket.socket:
    """A bound socket; raises OSError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def address(bound: socket.socket) -> str:
    """The URL of a bound socket, with the port it really has."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    app: ASGIApp,
    *,
    bound: socket.socket,
    patience: float,
    most: int,
    drain: Callable[[], float],
    leaving: Event,
    listening: Callable[[], None],
) -> None:
    """Serves until the process is told to stop; `listening` is called once connections are taken.

    `patience`: seconds that the head of a request, and then its body, may take to arrive. `most`: connections that are
    served at once. `leaving` is set on SIGTERM, and for as many seconds after it as `drain` says then connections are
    still taken.

    SIGTERM ends in a return; Ctrl-C in KeyboardInterrupt. Raises RuntimeError where the application does not start.
    """
    config = uvicorn.Config(
        app,
        http=bounded(
            patience=patience, most=most
        ),  # on h11, which bounds a request's head at 64 KiB; the faster parser bounds nothing
        ws="none",  # a WebSocket would pass the door by
        timeout_keep_alive=KEEP_ALIVE,
        log_config=None,
        access_log=False,  # it would log paths as they were sent; the edge logs instead
        server_header=False,
        proxy_headers=False,  # nothing here asks who forwarded a request
        timeout_graceful_shutdown=GRACE,
    )
    server = _Server(config, listening=listening, drain=drain, leaving=leaving)
    told = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal told
        told = server.should_exit = True

    # uvicorn raises the signal again when it is done; by then this is the handler.
    before = signal.signal(signal.SIGTERM, stop)
    try:
        server.run(sockets=[bound])
    finally:
        signal.signal(signal.SIGTERM, before)
        bound.close()
    if not server.started and not told:
        raise RuntimeError("the service did not start; the lines above say why")


class _Server(uvicorn.Server):
    """A server that says when it listens and when it leaves."""

    def __init__(
        self, config: uvicorn.Config, *, listening: Callable[[], None], drain: Callable[[], float], leaving: Event
    ) -> None:
        super().__init__(config)
        self._listening = listening
        self._drain = drain
        self._leaving = leaving
        self._closes_at: float | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._listening()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal; the first SIGTERM only begins the drain."""
        if sig == signal.SIGTERM and self.started and not self._leaving.is_set():
            self._closes_at = time.monotonic() + self._drain()
            self._leaving.set()
        else:
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: whether the listener closes now."""
        if self._closes_at is not None and time.monotonic() >= self._closes_at:
            self.should_exit = True
        return await super().on_tick(counter)
