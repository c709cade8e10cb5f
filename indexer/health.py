"""Whether what a store serves is sound, and how that is told: lines for a person, one JSON object for a program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from indexer.errors import ArtefactError, StoreError
from indexer.ledger import Ledger
from indexer.ports import ArtefactStore
from indexer.release import Release, ReleasedSurface
from indexer.releases import sound_version
from indexer.table import counted, short, table


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceHealth:
    """What the store holds for one surface of a release."""

    surface: str
    version: str
    tools: int | None = None
    """None where the version cannot be read."""
    model: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseHealth:
    """What the store holds for one release."""

    release: Release
    surfaces: tuple[SurfaceHealth, ...]

    @property
    def sound(self) -> bool:
        """Whether every surface of it can be served."""
        return all(surface.problem is None for surface in self.surfaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationHealth:
    """What the store holds for one application; without a ledger where that cannot be read."""

    application: str
    ledger: Ledger | None = None
    releases: tuple[ReleaseHealth, ...] = ()
    """Those that were looked at, the active one first."""
    problem: str | None = None

    @property
    def sound(self) -> bool:
        """Whether everything that was looked at can be served."""
        return self.problem is None and all(one.sound for one in self.releases)


LOST = "has no ledger, though something of it is here: it was lost, or its first deploy never ended; deploy again"


def healths_of(
    store: ArtefactStore, applications: Iterable[str] | None = None, *, all_releases: bool = False
) -> list[ApplicationHealth]:
    """Reads the active release of each application, or every kept one, and checks all of it.

    `None` are all that are served, or of which the store has lost the ledger; raises `StoreError` where it cannot say
    which. What else a store raises is the health of an application. Which ledgers are lost is asked once, if at all.
    """
    lost = cache(lambda: frozenset(store.without_ledger()))
    names = sorted({*store.applications(), *lost()}) if applications is None else applications
    return [_health(store, name, lost, all_releases=all_releases) for name in names]


def _health(
    store: ArtefactStore, application: str, lost: Callable[[], Collection[str]], *, all_releases: bool
) -> ApplicationHealth:
    try:
        ledger = store.ledger(application)
        is_lost = ledger.active is None and application in lost()
    except (ArtefactError, StoreError) as error:
        return ApplicationHealth(application=application, problem=str(error))
    if ledger.active is None:
        return ApplicationHealth(
            application=application, ledger=ledger, problem=LOST if is_lost else "has no active release"
        )
    looked_at = ledger.releases if all_releases else ledger.releases[:1]
    seen: dict[tuple[str, ReleasedSurface], SurfaceHealth] = {}  # most releases share most of their versions
    releases = tuple(_release_health(store, one, seen) for one in looked_at)
    return ApplicationHealth(application=application, ledger=ledger, releases=releases)


def _release_health(
    store: ArtefactStore, release: Release, seen: dict[tuple[str, ReleasedSurface], SurfaceHealth]
) -> ReleaseHealth:
    for one in release.surfaces.items():
        if one not in seen:
            seen[one] = _surface_health(store, release, one[0])
    surfaces = tuple(seen[key, release.surfaces[key]] for key in sorted(release.surfaces))
    return ReleaseHealth(release=release, surfaces=surfaces)


def _surface_health(store: ArtefactStore, release: Release, key: str) -> SurfaceHealth:
    version = release.surfaces[key].version
    try:
        artefact, _ = sound_version(store, release, key)
    except (ArtefactError, StoreError) as error:
        return SurfaceHealth(surface=key, version=version, problem=str(error))
    manifest = artefact.manifest
    return SurfaceHealth(surface=key, version=version, tools=manifest.tools, model=manifest.model)


def health_lines(applications: Sequence[ApplicationHealth]) -> list[str]:
    """For a person."""
    if not applications:
        return ["nothing is active in this store; deploy a catalog"]
    lines: list[str] = []
    for one in applications:
        if one.problem is not None:
            lines.append(f"{one.application}: {one.problem}")
        for at, each in enumerate(one.releases):
            kept = "" if at == 0 else " (kept)"
            lines.append(
                f"{one.application}, deploy {short(each.release.deploy)}, release {short(each.release.id)}{kept}"
            )
            lines += table([_row(surface) for surface in each.surfaces])
            lines += [f"  ! {surface.surface}: {surface.problem}" for surface in each.surfaces if surface.problem]
            if at and not each.sound:
                lines.append("  nothing serves it; to do without it, prune --keep fewer releases")
        if one.ledger is not None and len(one.ledger.releases) > len(one.releases) > 0:
            earlier = ", ".join(short(each.id) for each in one.ledger.releases[len(one.releases) :][:5])
            lines.append(f"  kept for going back: {earlier}")
    return lines


def health_json(applications: Sequence[ApplicationHealth]) -> dict[str, Any]:
    """For a program."""
    return {
        "sound": all(one.sound for one in applications),
        "applications": [_application(one) for one in applications],
    }


def _application(one: ApplicationHealth) -> dict[str, Any]:
    active = one.releases[0] if one.releases else None
    ledger = one.ledger
    return {
        "application": one.application,
        "deploy": active.release.deploy if active else None,
        "release": active.release.id if active else None,
        "problem": one.problem,
        "surfaces": [asdict(surface) for surface in active.surfaces] if active else [],
        "kept": [_release(each) for each in one.releases[1:]],
        "releases": [each.id for each in ledger.releases] if ledger else [],
        "history": [each.model_dump(mode="json") for each in ledger.activations] if ledger else [],
    }


def _release(one: ReleaseHealth) -> dict[str, Any]:
    return {
        "deploy": one.release.deploy,
        "release": one.release.id,
        "surfaces": [asdict(surface) for surface in one.surfaces],
    }


def _row(surface: SurfaceHealth) -> tuple[str, ...]:
    tools = "?" if surface.tools is None else counted(surface.tools, "tool")
    return (surface.surface, tools, short(surface.version), surface.model or "")
