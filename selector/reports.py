"""What is served, as the service tells it to somebody: only what their grant allows (pure)."""

from __future__ import annotations

from selector.access import Grant
from selector.served import Served, ServedApplication, ServedVersion
from surface.protocol import Wire


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

    code: str
    detail: str


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


def report_of(served: Served, caller: Grant) -> dict[str, ApplicationReport]:
    """By application. One of which a caller may see no surface is not in it."""
    reports = {application: _application(application, now, caller) for application, now in sorted(served.items())}
    return {application: report for application, report in reports.items() if report.surfaces or report.refused}


def _application(application: str, now: ServedApplication, caller: Grant) -> ApplicationReport:
    return ApplicationReport(
        release=now.release,
        refused_release=now.refused_release,
        surfaces={
            surface: SurfaceReport(
                **_version(active).model_dump(),
                replaced=_version(now.replaced[surface]) if surface in now.replaced else None,
            )
            for surface, active in sorted(now.active.items())
            if caller.allows(application, surface)
        },
        refused={
            surface: RefusalReport(code=refusal.code, detail=refusal.detail)
            for surface, refusal in sorted(now.refused.items())
            if caller.allows(application, surface)
        },
    )


def _version(served: ServedVersion) -> VersionReport:
    manifest = served.manifest
    return VersionReport(
        version=served.version, catalog_digest=manifest.catalog_digest, tools=manifest.tools, model=manifest.model
    )
