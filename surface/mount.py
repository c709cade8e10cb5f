"""`mount_agent`: a whole catalog mounted for direct typed execution, without deferral (MNT-1, MNT-8).

Every tool is advertised in every step and runs under its own identity. The deferred surface is opt-in and stands on
the same execution; small catalogs are often cheaper here, because they pay no search round.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from surface.activation import SelectionSource
from surface.call import CallAnswer
from surface.catalog import Catalog, Manifest, build_catalog
from surface.dialect import Dialect, require_carried
from surface.direct_calls import DEFAULT_CONCURRENCY, DirectCalls, OnInterrupted
from surface.evidence import Observer, StepEvidence, report, require_plain
from surface.execution import Executor
from surface.hooks import Fence, Hooks, require_callbacks
from surface.identity import require_at_least_one, require_key, require_run_id
from surface.prepared_step import PreparedStep, StepChanges
from surface.tool import Service, Tool
from surface.transcript import Call

WHOLE = "all"
"""The surface key that call contexts and evidence of an ordinary mount carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMount:
    """A catalog ready to run. Made by `mount_agent`."""

    application: str
    catalog: Catalog
    dialect: Dialect
    executor: Executor
    observer: Observer | None
    on_interrupted: OnInterrupted | None
    max_concurrent_calls: int

    @property
    def manifest(self) -> Manifest:
        """The canonical projection of the catalog."""
        return self.catalog.manifest

    def mount(self, *, run_id: str, context: Any = None) -> AgentRun:
        """The mount for one run; raises ConfigurationError where the run id is none."""
        return AgentRun(
            dialect=self.dialect,
            calls=DirectCalls(
                application=self.application,
                surface=WHOLE,
                run_id=require_run_id(run_id),
                context=context,
                catalog=self.catalog,
                executor=self.executor,
                on_interrupted=self.on_interrupted,
                observer=self.observer,
                max_concurrent=self.max_concurrent_calls,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """One run with every tool active."""

    dialect: Dialect
    calls: DirectCalls

    async def prepare_step(self, messages: Sequence[Any]) -> PreparedStep:
        """Every tool, in the dialect of the messages; raises TranscriptError where they are not in its form."""
        clock = asyncio.get_running_loop().time
        started = clock()
        self.dialect.read(messages)
        manifest = self.calls.catalog.manifest
        tools = self.dialect.advertise(manifest)
        report(
            self.calls.observer,
            StepEvidence(
                application=self.calls.application,
                surface=self.calls.surface,
                run_id=self.calls.run_id,
                catalog=len(manifest),
                base=len(manifest),
                pinned=0,
                selected=0,
                active=len(manifest),
                evicted=0,
                ignored={},
                source=SelectionSource.NONE,
                schema_bytes=manifest.schema_bytes,
                catalog_schema_bytes=manifest.schema_bytes,
                limits=None,
                seconds=clock() - started,
            ),
        )
        names = tuple(entry.name for entry in manifest)
        return PreparedStep(tools=tools, names=names, activation=None, changes=StepChanges())

    async def dispatch(self, messages: Sequence[Any]) -> list[Any]:
        """The messages to append: an answer to every unanswered call of the last assistant turn, in call order."""
        return await self._answer(messages, restarted=False)

    async def resume(self, messages: Sequence[Any]) -> list[Any]:
        """The same for a restarted run (MNT-9)."""
        return await self._answer(messages, restarted=True)

    async def _answer(self, messages: Sequence[Any], *, restarted: bool) -> list[Any]:
        unanswered = self.dialect.read(messages).unanswered

        async def route(call: Call) -> CallAnswer:
            return await self._route(call, restarted=restarted)

        answers = await self.calls.answer_all(unanswered, route, self.calls.catalog)
        return self.dialect.answer(answers)

    async def _route(self, call: Call, *, restarted: bool) -> CallAnswer:
        if call.name not in self.calls.catalog:
            return self.calls.unknown(call, None, restarted=restarted)
        return await self.calls.run(call, restarted=restarted)


def mount_agent(
    tools: Iterable[Tool | Service],
    *,
    dialect: Dialect,
    application: str = "agent",
    hooks: Hooks | None = None,
    fence: Fence | None = None,
    observer: Observer | None = None,
    on_interrupted: OnInterrupted | None = None,
    max_concurrent_calls: int = DEFAULT_CONCURRENCY,
) -> AgentMount:
    """Mounts a whole tool set.

    Raises CatalogError with every fault of the tool set, DialectError with every name or content kind that the
    dialect cannot carry, ConfigurationError where a setting is out of its range.
    """
    require_callbacks(hooks, fence)
    require_plain(observer)
    catalog = build_catalog(tools)
    require_carried(dialect, catalog)
    return AgentMount(
        application=require_key("application", application),
        catalog=catalog,
        dialect=dialect,
        executor=Executor(hooks=hooks or Hooks(), fence=fence),
        observer=observer,
        on_interrupted=on_interrupted,
        max_concurrent_calls=require_at_least_one("max_concurrent_calls", max_concurrent_calls),
    )
