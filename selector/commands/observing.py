"""`--metrics-port`: the scrape on a port of its own, for a network that only Prometheus reaches."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address

from prometheus_client import CollectorRegistry, start_http_server

from indexer.commands.numbers import whole
from surface.adapters.command_line import CommandFailedError, WrongUseError, say

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
def scraped(arguments: argparse.Namespace, registry: CollectorRegistry) -> Iterator[None]:
    """Answers the scrape while the block runs, where a port was given; one that others may reach is told.

    Raises WrongUseError for an address without a port, CommandFailedError where the port cannot be had.
    """
    port, host = arguments.metrics_port, arguments.metrics_host or _LOOPBACK
    if port is None:
        if arguments.metrics_host is not None:
            raise WrongUseError("--metrics-host: needs --metrics-port, or there is nothing to reach there")
        yield
        return
    try:
        server, thread = start_http_server(port, addr=host, registry=registry)
    except OSError as error:
        reason = error.strerror or "cannot be listened on"
        raise CommandFailedError(f"--metrics-host {host} --metrics-port {port}: {reason}") from error
    try:
        if not ip_address(str(server.server_address[0]).partition("%")[0]).is_loopback:
            say(f"answering the scrape to everybody who reaches {host} port {port}: it needs no key")
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
