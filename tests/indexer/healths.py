"""The health of one application of a store, for tests that have one."""

from __future__ import annotations

from indexer.health import ApplicationHealth, healths_of
from indexer.ports import ArtefactStore


def health_of(store: ArtefactStore, application: str, *, all_releases: bool = False) -> ApplicationHealth:
    """What `healths_of` says of it."""
    return healths_of(store, [application], all_releases=all_releases)[0]
