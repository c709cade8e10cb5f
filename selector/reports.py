"""What is served, as the service tells it to somebody: only what their grant allows (pure).

Why a surface is refused is a sentence for the operator: it may name other surfaces, the store's address or the memory
of the replica. Whoever does not see everything is told the code, and a sentence that is the same for every such code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeVar

from selector.access import ANY, Grant
from selector.served import Refusal, RefusalCode, Served, ServedApplication, ServedVersion
from surface.protocol import Wire

T = TypeVar("T")

TOLD: Final[Mapping[RefusalCode, str]] = {
    "damaged": "its index is damaged; the operator of the service sees how",
    "model_mismatch": "its index was built with another model; the operator of the service sees which",
    "unreadable": "its index cannot be read now; it is tried again",
    "too_large": "its index does not fit in memory; the operator of the service sees by how much",
    "failed": "its index cannot be opened; the operator of the service sees how, and it is tried again",
    "release_refused": "its release is refused, as a release is served whole or not at all",
}
"""What a tenant reads, by code."""


class VersionReport(Wire):
    """One index version."""

    version: str
    """Its content address."""
    catalog_digest: str
    """Of the catalog it was made from; an agent that holds the same one is answered from it."""
    tools: int
    model: str
    """The identity of the embedding model."""


class SurfaceReport(VersionReport):
    """What a surface serves: its active version, and the one before."""

    replaced: VersionReport | None = None
    """Kept for agents of the deploy before."""


class RefusalReport(Wire):
    """Why a surface of the store's active release is not served as that release says."""

    code: RefusalCode
    detail: str
    """Where the key sees everything, what is wrong and what mends it; else one sentence for each code."""


class ApplicationReport(Wire):
    """One application; a surface may stand in `surfaces` with its earlier version and in `refused`."""

    release: str
    """The id of the release in force."""
    refused_release: str | None = None
    """The id of the store's active release where it is refused here as a whole."""
    surfaces: dict[str, SurfaceReport]
    refused: dict[str, RefusalReport]


class ServedReport(Wire):
    """By application: what a caller may ask about."""

    applications: dict[str, ApplicationReport]


class Alive(Wire):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Ready(Wire):
    """At least one index is served; without a valid key that is all that is told."""

    status: Literal["ready"] = "ready"
    applications: dict[str, ApplicationReport] | None = None
    unreadable: dict[str, str] | None = None
    """For keys that see everything: what cannot be read of the store now, by application (empty: all of it)."""


_NOT_SERVED: Final = ServedApplication(release="", active=MappingProxyType({}))


def report_of(served: Served, caller: Grant) -> dict[str, ApplicationReport]:
    """By application. One of which a caller may see no surface is not in it."""
    named = served if ANY in caller.surfaces else caller.surfaces
    reports = {name: _application(now, caller, _surfaces(name, caller)) for name, now in _in_order(served, named)}
    return {name: report for name, report in reports.items() if report.surfaces or report.refused}


def known_names(served: Served, caller: Grant, *, application: str, surface: str | None) -> dict[str, str]:
    """Of what a path names, that which is served or refused here and which the caller may see: for a log.

    ``application`` and ``surface``; neither of an application of which the caller may see nothing. What the grant does
    not name is looked for nowhere, so that not even the time it takes tells whether it is there.
    """
    named = _surfaces(application, caller)
    if not named:
        return {}
    now, every = served.get(application, _NOT_SERVED), ANY in named
    if surface is not None and (every or surface in named) and (surface in now.active or surface in now.refused):
        return {"application": application, "surface": surface}
    seen = (now.active or now.refused) if every else any(one in now.active or one in now.refused for one in named)
    return {"application": application} if seen else {}


def _surfaces(application: str, caller: Grant) -> frozenset[str]:
    """The surfaces of an application that a grant names, or `ANY` among them."""
    nothing = frozenset[str]()
    return caller.surfaces.get(application, nothing) | caller.surfaces.get(ANY, nothing)


def _in_order(found: Mapping[str, T], named: Iterable[str]) -> list[tuple[str, T]]:
    """What stands under these names; as long as the names are few, so is the work."""
    return [(name, found[name]) for name in sorted(named) if name in found]


def _application(now: ServedApplication, caller: Grant, named: frozenset[str]) -> ApplicationReport:
    every = ANY in named
    return ApplicationReport(
        release=now.release,
        refused_release=now.refused_release,
        surfaces={
            surface: SurfaceReport(
                **_version(active).model_dump(),
                replaced=_version(now.replaced[surface]) if surface in now.replaced else None,
            )
            for surface, active in _in_order(now.active, now.active if every else named)
        },
        refused={
            surface: RefusalReport(code=refusal.code, detail=_told(refusal, caller))
            for surface, refusal in _in_order(now.refused, now.refused if every else named)
        },
    )


def _told(refusal: Refusal, caller: Grant) -> str:
    return refusal.detail if caller.sees_everything else TOLD[refusal.code]


def _version(served: ServedVersion) -> VersionReport:
    manifest = served.manifest
    return VersionReport(
        version=served.version, catalog_digest=manifest.catalog_digest, tools=manifest.tools, model=manifest.model
    )
