"""`--metrics-port`: the scrape on a port of its own, for a network that only Prometheus reaches.

Whoever reaches that port needs no key, so it must not cost the service its threads or open files: no more than `MOST`
are answered at once, and one that does not send its request, or does not read, is let go.
"""

from __future__ import annotations

import argparse
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from socketserver import ThreadingMixIn
from threading import BoundedSemaphore, Thread
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

from indexer.commands.numbers import whole
from surface.adapters.command_line import CommandFailedError, WrongUseError, say

MOST: Final = 16
"""Scrapes at once."""

_LOOPBACK = "127.0.0.1"


def add_metrics_port(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--metrics-port",
        type=whole(1, 65_535),
        metavar="PORT",
        help="also answers GET /metrics on this port, without a key (default: only with an operator's key)",
    )
    parser.add_argument(
        "--metrics-host",
        metavar="ADDRESS",
        help=f"the address of that port; whoever reaches it needs no key (default: {_LOOPBACK}, whatever --host is)",
    )


@contextmanager
def scraped(arguments: argparse.Namespace, registry: CollectorRegistry, *, patience: float) -> Iterator[None]:
    """Answers the scrape while the block runs, where a port was given; one that others may reach is told.

    `patience`: seconds that a scrape waits for each piece of its request, and for its answer to be read. Raises
    WrongUseError for an address without a port, CommandFailedError where the port cannot be had.
    """
    port, host = arguments.metrics_port, arguments.metrics_host or _LOOPBACK
    if port is None:
        if arguments.metrics_host is not None:
            raise WrongUseError("--metrics-host: needs --metrics-port, or there is nothing to reach there")
        yield
        return
    try:
        server = _server(host, port, registry, patience=patience)
    except OSError as error:
        reason = error.strerror or "cannot be listened on"
        raise CommandFailedError(f"--metrics-host {host} --metrics-port {port}: {reason}") from error
    thread = Thread(target=server.serve_forever, name="scrapes", daemon=True)
    thread.start()
    try:
        if not ip_address(str(server.server_address[0]).partition("%")[0]).is_loopback:
            say(f"answering the scrape to everybody who reaches {host} port {port}: it needs no key")
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Scrapes(ThreadingMixIn, WSGIServer):
    request_queue_size = MOST
    daemon_threads = True  # nothing waits at the end for one that hangs

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._places = BoundedSemaphore(MOST)
        super().__init__(*arguments, **named)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever hung up or was let go is nothing to tell."""


class _Scrape(WSGIRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - as the base class has it
        """A line for each scrape says nothing."""


def _server(host: str, port: int, registry: CollectorRegistry, *, patience: float) -> _Scrapes:
    (family, *_), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)

    class Scrapes(_Scrapes):
        address_family = family

    class Scrape(_Scrape):
        timeout = patience

    return make_server(host, port, make_wsgi_app(registry), Scrapes, Scrape)
