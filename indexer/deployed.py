"""What a deploy did, surface by surface."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from indexer.artefact import Artefact
from indexer.release import Release

Change = Literal["added", "changed", "unchanged", "repaired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedSurface:
    """What a deploy did to one surface."""

    surface: str
    version: str
    tools: int
    size: int
    """Bytes of the version's files."""
    change: Change
    """``repaired``: the version that should have been served was damaged or missing, and was put right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployResult:
    """What a deploy did, or would have done."""

    application: str
    deploy: str
    release: str
    """The release that is active now, or would be."""
    previous: str | None
    """The release that was active before; equal to `release` where nothing changed."""
    surfaces: tuple[DeployedSurface, ...]
    removed: tuple[str, ...]
    """Surfaces of the previous release that this one does not have."""
    model: str
    """The identity of the embedding model."""
    embedded: int
    """Texts that had to be embedded."""
    carried: int
    """Texts whose vectors the active release held."""
    recalled: int
    """Texts whose vectors the cache held."""
    distrusted: int
    """Texts that were embedded although a vector was at hand: a test of its source failed."""
    canaries: int
    """Canary queries that were asked and found what they must."""
    dry_run: bool
    """Whether nothing was written to the store."""

    @property
    def unchanged(self) -> bool:
        """Whether everything was there already."""
        return self.release == self.previous and all(one.change == "unchanged" for one in self.surfaces)


def deployed_surface(
    key: str, artefact: Artefact, active: Release | None, standing: Collection[str]
) -> DeployedSurface:
    """What a deploy made of one surface: `standing` are those that were active and sound before it."""
    return DeployedSurface(
        surface=key,
        version=artefact.version,
        tools=artefact.manifest.tools,
        size=artefact.manifest.size,
        change=_change(key, artefact, active, standing),
    )


def _change(key: str, artefact: Artefact, active: Release | None, standing: Collection[str]) -> Change:
    if active is None or key not in active.surfaces:
        return "added"
    if artefact.version != active.surfaces[key].version:
        return "changed"
    return "unchanged" if key in standing else "repaired"
