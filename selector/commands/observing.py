"""`--metrics-port`: the scrape on a port of its own, for a network that only Prometheus reaches."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server

from surface.adapters.command_line import CommandFailedError


def add_metrics_port(parser: argparse.ArgumentParser) -> None:
    """The option."""
    parser.add_argument(
        "--metrics-port",
        type=int,
        metavar="PORT",
        help="also answers GET /metrics on this port of --host, without a key (default: only with an operator's key)",
    )


@contextmanager
def scraped(arguments: argparse.Namespace, registry: CollectorRegistry) -> Iterator[None]:
    """Answers the scrape while the block runs, where a port was given. Raises CommandFailedError if it is taken."""
    if arguments.metrics_port is None:
        yield
        return
    try:
        server, thread = start_http_server(arguments.metrics_port, addr=arguments.host, registry=registry)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "needs 1 to 65535"
        raise CommandFailedError(f"--metrics-port {arguments.metrics_port}: {reason}") from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
