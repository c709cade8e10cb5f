"""Asks a version that serves nothing yet, the way it will be asked when it serves: what canary queries go through.

Not done here: judging the answers (`indexer/canaries.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from indexer.artefact import Artefact
from indexer.errors import RehearsalError
from indexer.index import SurfaceIndex
from models.embedder import Embedder
from selector.served import ServedVersion, VersionKey
from selector.service import Selector
from surface.ranking import RankRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class _OnlyThis:
    """Implements `selector.ports.Indexes` with one index."""

    index: SurfaceIndex

    def find(self, application: str, surface: str, catalog_digest: str | None) -> ServedVersion:  # noqa: ARG002
        """Its version."""
        manifest = self.index.manifest
        key = VersionKey(application=manifest.application, surface=manifest.surface, version=self.index.version)
        return ServedVersion(key=key, manifest=manifest)

    async def opened(self, version: ServedVersion) -> SurfaceIndex:  # noqa: ARG002
        """The index."""
        return self.index


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorRehearsal:
    """Implements `indexer.ports.Rehearsal` with the selector itself."""

    open_artefact: Callable[[Artefact], SurfaceIndex]
    embedder: Embedder
    executor: Executor

    def __call__(self, artefact: Artefact, queries: Sequence[str], limit: int) -> Sequence[Sequence[str]]:
        """See `indexer.ports.Rehearsal`."""
        selector = Selector(
            indexes=_OnlyThis(index=self.open_artefact(artefact)), embedder=self.embedder, executor=self.executor
        )
        return asyncio.run(_asked(selector, artefact, queries, limit))


async def _asked(selector: Selector, artefact: Artefact, queries: Sequence[str], limit: int) -> Sequence[Sequence[str]]:
    manifest = artefact.manifest
    answers: list[Sequence[str]] = []
    for query in queries:
        request = RankRequest(
            application=manifest.application,
            surface=manifest.surface,
            query=query,
            limit=limit,
            catalog_digest=manifest.catalog_digest,
        )
        reply = await selector.rank(request)
        if reply.degraded is not None:
            raise RehearsalError(
                f"surface {manifest.surface}: the ranking was degraded ({reply.degraded}), so no canary can be judged"
            )
        answers.append([ranked.name for ranked in reply.ranked])
    return answers
