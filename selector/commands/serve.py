"""`toolsurface serve`: the ranking service over a store."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterable
from functools import partial
from threading import Event

from indexer.adapters.opening import names_redis
from indexer.commands.arguments import add_store_location, add_vectors, store_of, vectors_of
from indexer.commands.numbers import cores, number, whole
from models.adapters.choice import chosen_embedder
from models.adapters.model_arguments import add_model
from selector.adapters.clock import PATIENCE
from selector.adapters.http_api import build_app
from selector.adapters.http_server import MOST_CONNECTIONS, address, bind, serve
from selector.adapters.logs import FORMATS, log_to_stderr
from selector.adapters.metrics import Metrics
from selector.adapters.native_memory import give_back_large
from selector.adapters.routes import console
from selector.adapters.routes.console import console_routes
from selector.adapters.routes.explaining import explaining_routes
from selector.adapters.routes.metrics import metrics_routes
from selector.adapters.tracing import Traced
from selector.commands.access import add_access, admittance_of, check_openness
from selector.commands.caching import ChosenCache, add_cache, chosen_cache
from selector.commands.memory import add_memory
from selector.commands.observing import add_metrics_port, scraped
from selector.commands.opening import FAILURES, add_strictness, library_of, ranking_threads, told
from selector.explaining import Explainer
from selector.fair_threads import FairThreads
from selector.following import Hint
from selector.library import Library
from selector.served import Change
from selector.service import Selector
from surface.adapters.command_line import Command, CommandFailedError, show

LOG = logging.getLogger("toolsurface.selector")

_SECONDS = number(0.01, 86_400, of="seconds")


def _configure_serve(parser: argparse.ArgumentParser) -> None:
    add_store_location(parser)
    add_vectors(parser)
    add_model(parser)
    add_strictness(parser)
    add_memory(parser)
    add_cache(parser)
    add_access(parser)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port", type=whole(0, 65_535), default=8080, help="0 takes any free one (default: %(default)s)"
    )
    add_metrics_port(parser)
    parser.add_argument(
        "--log-format", choices=FORMATS, default="text", help="of standard error (default: %(default)s)"
    )
    parser.add_argument("--threads", type=cores, metavar="N", help="queries computed at once (default: cores, ≤ 4)")
    parser.add_argument(
        "--poll", type=_SECONDS, default=2.0, metavar="SECONDS", help="between two looks at the store (default: 2)"
    )
    parser.add_argument(
        "--patience",
        type=_SECONDS,
        default=PATIENCE,
        metavar="SECONDS",
        help="that the head of a request, and then its body, may take to arrive (default: %(default)g)",
    )
    parser.add_argument(
        "--drain",
        type=number(0, 600, of="seconds"),
        default=1.0,
        metavar="SECONDS",
        help="between SIGTERM, when readiness turns 503, and the end of the listener (default: %(default)g)",
    )
    parser.add_argument(
        "--max-connections",
        type=whole(1, 100_000),
        default=MOST_CONNECTIONS,
        metavar="N",
        help="served at once; whoever comes beyond them is answered 503 (default: %(default)s)",
    )


def _serve(arguments: argparse.Namespace) -> None:
    log_to_stderr(arguments.log_format)
    give_back_large()
    store, vectors = store_of(arguments, followed=True), vectors_of(arguments)
    chosen = chosen_cache(arguments)
    admittance = admittance_of(arguments, every=arguments.poll)
    try:
        bound = bind(arguments.host, arguments.port)
    except OSError as error:
        reason = error.strerror or "cannot be listened on"
        raise CommandFailedError(f"--host {arguments.host} --port {arguments.port}: {reason}") from error
    metrics = Metrics()
    loader = FairThreads(1, name="load")
    with (
        bound,
        scraped(arguments, metrics.registry, patience=arguments.patience),
        ranking_threads(arguments.threads) as threads,
    ):
        check_openness(admittance, host=bound.getsockname()[0], opened=arguments.open)
        embedder = chosen_embedder(arguments.model, threads=arguments.threads, download=arguments.model_download)
        library = library_of(
            store,
            embedder,
            budget=arguments.memory,
            loader=loader,
            vectors=vectors,
            keep_replaced=arguments.keep_replaced,
        )
        explainer = Explainer(indexes=library, embedder=embedder, executor=threads, strictness=arguments.strictness)
        selector = Selector(
            indexes=library,
            embedder=embedder,
            executor=threads,
            strictness=arguments.strictness,
            cache=chosen.cache,
            cache_key=chosen.key,
            around=metrics.around,
        )
        metrics.watch(selector, library)
        # Other stores would have to be asked all the time, which is what looking at them is.
        hint = store.wait_for_change if names_redis(arguments.store) else None
        following = partial(_in_background, library, chosen, every=arguments.poll, hint=hint)
        leaving = Event()
        app = build_app(
            ranker=metrics.counting_answers(selector),
            served=lambda: library.served,
            unreadable=lambda: library.unreadable,
            access=admittance.access,
            rates=admittance.rates,
            patience=arguments.patience,
            leaving=leaving.is_set,
            start=lambda: library.start,
            routers=[explaining_routes(explainer), console_routes(), metrics_routes(metrics.registry)],
            around=[metrics.counting_requests, Traced],
            open_paths=console.OPEN_PATHS,
            background=[following, *admittance.background],
        )
        try:
            # Standard output, and the only line there: whoever asked for port 0 reads the address from it.
            serve(
                app,
                bound=bound,
                patience=arguments.patience,
                most=arguments.max_connections,
                drain=lambda: arguments.drain if library.start == "over" else 0.0,
                leaving=leaving,
                listening=lambda: show([f"serving {address(bound)}"]),
            )
        except RuntimeError as error:
            raise CommandFailedError(str(error)) from error


async def _in_background(library: Library, chosen: ChosenCache, *, every: float, hint: Hint | None) -> None:
    try:
        await library.follow(every=every, tell=_Telling(library), hint=hint)
    finally:
        await chosen.close()


class _Telling:
    """Logs what changes; of the beginning what is wrong, and one line for all that is well."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._begun = False

    def __call__(self, changes: Iterable[Change]) -> None:
        for change in changes:
            level = logging.INFO if change.outcome in {"serving", "gone", "readable"} else logging.ERROR
            if self._begun or change.outcome != "serving":
                LOG.log(level, "%s", told(change))
        if not self._begun and self._library.start == "over":
            self._begun = True
            served = self._library.served
            surfaces = sum(len(application.active) for application in served.values())
            LOG.info("the store has been looked at: serving %d surfaces of %d applications", surfaces, len(served))


SERVE = Command(
    name="serve",
    summary="run the ranking service over a store, following its active releases",
    configure=_configure_serve,
    run=_serve,
    failures=FAILURES,
)
