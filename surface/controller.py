"""`create_deferred_agent_tool_surface`: an application's finite surfaces, ready to mount a run on.

Joins the registry, the ranker with its guard, the signer and the execution. Everything that can be wrong with them
is refused here, before the first run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from surface.dialect import Dialect, require_carried
from surface.direct_calls import DEFAULT_CONCURRENCY, DirectCalls, OnInterrupted
from surface.errors import ConfigurationError
from surface.evidence import Observer, require_plain
from surface.execution import Executor
from surface.guarded_ranking import GuardedRanking
from surface.hooks import Fence, Hooks, require_callbacks
from surface.identity import require_at_least_one, require_key, require_run_id
from surface.lexical_ranker import LexicalRanker
from surface.limits import Limits
from surface.mounted_run import MountedRun, Pins
from surface.prepared_step import PrepareStep
from surface.ranking import Ranker
from surface.receipt import ReceiptSigner, smallest_receipt_bytes
from surface.registry import Surface, SurfaceRegistry, build_registry
from surface.search import Searcher
from surface.search_tool import DEFAULT_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredAgentToolSurface:
    """The controller of an application. Made by `create_deferred_agent_tool_surface`."""

    registry: SurfaceRegistry
    dialect: Dialect
    searcher: Searcher
    executor: Executor
    observer: Observer | None
    on_interrupted: OnInterrupted | None
    max_concurrent_calls: int

    def mount(
        self,
        *,
        run_id: str,
        surface: str,
        context: Any = None,
        pins: Pins = (),
        prepare_step: PrepareStep | None = None,
    ) -> MountedRun:
        """One run on one surface.

        `run_id` survives a restart of the run and belongs to no other: a new request, a queued successor and a
        sub-agent are new runs. `context` is handed to handlers, hooks, pins and `prepare_step`, and nowhere else.

        Raises ConfigurationError where the run id is none, UnknownSurfaceError where the registry has no such surface.
        """
        checked = self.registry.surface(surface)
        return MountedRun(
            surface=checked,
            dialect=self.dialect,
            searcher=self.searcher,
            calls=DirectCalls(
                application=self.registry.application,
                surface=checked.key,
                run_id=require_run_id(run_id),
                context=context,
                catalog=checked.catalog,
                executor=self.executor,
                on_interrupted=self.on_interrupted,
                observer=self.observer,
                max_concurrent=self.max_concurrent_calls,
            ),
            pins=pins,
            application_step=prepare_step,
        )


def create_deferred_agent_tool_surface(
    *,
    application: str,
    surfaces: Sequence[Surface],
    dialect: Dialect,
    limits: Limits | None = None,
    ranker: Ranker | None = None,
    search_deadline: float = 2.0,
    max_searches_per_run: int | None = None,
    search_tool: str = DEFAULT_NAME,
    signer: ReceiptSigner | None = None,
    hooks: Hooks | None = None,
    fence: Fence | None = None,
    observer: Observer | None = None,
    on_interrupted: OnInterrupted | None = None,
    max_concurrent_calls: int = DEFAULT_CONCURRENCY,
) -> DeferredAgentToolSurface:
    """The deferred tool surface of an application.

    Without a `ranker` the local lexical one answers every search; with one, it answers when that cannot within
    `search_deadline` seconds. At most `max_concurrent_calls` calls of one step run at once. Without a `signer`, whoever
    can write the message history can forge an activation: deferral is visibility, never authorization.

    Raises CatalogError with every fault of every surface, DialectError with every name or content kind that the
    dialect cannot carry, ConfigurationError where a setting is out of its range.
    """
    if not hasattr(dialect, "advertise"):
        raise ConfigurationError("dialect: needs a Dialect, such as ANTHROPIC_MESSAGES of surface.adapters")
    if ranker is not None and not hasattr(ranker, "rank"):
        raise ConfigurationError("ranker: needs a Ranker, such as SelectorClient(url) of surface.adapters")
    if ranker is not None and not hasattr(ranker, "id"):
        raise ConfigurationError(
            'ranker.id: needs a short constant, such as "mine", that receipts and evidence name it by'
        )
    if signer is not None and not isinstance(signer, ReceiptSigner):
        raise ConfigurationError(f"signer: needs a ReceiptSigner, not {type(signer).__name__}")
    require_callbacks(hooks, fence)
    require_plain(observer)
    limits = limits or Limits()
    smallest = smallest_receipt_bytes(signed=signer is not None)
    if limits.max_result_bytes < smallest:
        raise ConfigurationError(
            f"limits.max_result_bytes: {limits.max_result_bytes} cannot hold the smallest receipt of the longest "
            f"run id and surface key; it needs at least {smallest}"
        )
    if not search_deadline > 0:
        raise ConfigurationError("search_deadline: needs more than 0 seconds")
    if max_searches_per_run is not None:
        require_at_least_one("max_searches_per_run", max_searches_per_run)
    registry = build_registry(application, surfaces, limits=limits, search_tool=search_tool)
    require_carried(dialect, *(made.catalog for made in registry.surfaces.values()), search_tool=search_tool)
    local = LexicalRanker(registry.surfaces.values())
    ranker = ranker or local
    require_key("ranker.id", ranker.id)
    return DeferredAgentToolSurface(
        registry=registry,
        dialect=dialect,
        searcher=Searcher(
            application=registry.application,
            limits=limits,
            ranking=GuardedRanking(ranker=ranker, fallback=local, deadline=search_deadline),
            signer=signer,
            observer=observer,
            max_searches_per_run=max_searches_per_run,
        ),
        executor=Executor(hooks=hooks or Hooks(), fence=fence),
        observer=observer,
        on_interrupted=on_interrupted,
        max_concurrent_calls=require_at_least_one("max_concurrent_calls", max_concurrent_calls),
    )


def require_controller(given: object) -> None:
    """Raises ConfigurationError where an adapter was given anything else."""
    if not isinstance(given, DeferredAgentToolSurface):
        raise ConfigurationError(
            f"controller: needs what create_deferred_agent_tool_surface returns, not {type(given).__name__}"
        )
