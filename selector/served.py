"""What a replica serves at one moment, as values, and what has changed between two moments. Pure.

Not done here: reading a store (`library.py`), keeping indexes in memory (`open_versions.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from indexer.artefact import IndexManifest

RefusalCode: TypeAlias = Literal["damaged", "model_mismatch", "unreadable", "too_large", "failed", "release_refused"]
"""Why a version is not served; `release_refused`: only a neighbour is bad."""
Outcome: TypeAlias = Literal["serving", "gone", "refused", "unreadable", "readable"]

Start: TypeAlias = Literal["loading", "store_unavailable", "over"]
"""How far a replica has come since it began: `over`, for ever, once one look at the store has seen every release there
is, each of them open and warm or refused for a reason of its own; before that `loading`, or `store_unavailable` where
the last look found that the store cannot be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionKey:
    """Which index version of which surface."""

    application: str
    surface: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedVersion:
    """An index version that has been opened and proved once; it need not be in memory now."""

    key: VersionKey
    manifest: IndexManifest

    @property
    def version(self) -> str:
        """The content address: 32 hexadecimal digits."""
        return self.key.version


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a surface of the store's active release is not served as that release says."""

    code: RefusalCode
    detail: str
    """A sentence for the operator: what is wrong and what mends it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedApplication:
    """What is served of one application: surfaces of one release, never of two."""

    release: str
    """The id of the release in force here."""
    active: Mapping[str, ServedVersion]
    """By surface."""
    replaced: Mapping[str, ServedVersion] = field(default_factory=dict)
    """By surface: the version that was served before the active one."""
    refused: Mapping[str, Refusal] = field(default_factory=dict)
    """By surface; one that the release in force has is in `active` too."""
    refused_release: str | None = None
    """The id of the store's active release where it is refused here as a whole, because of what `refused` says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing a refresh has changed or found wrong, for the log."""

    outcome: Outcome
    application: str
    """Empty where the store as a whole is meant."""
    surface: str
    """Empty where the application as a whole is meant."""
    detail: str


Served: TypeAlias = Mapping[str, ServedApplication]
"""By application."""

NOTHING: Final[Served] = MappingProxyType({})


def switched(
    release: str,
    active: Mapping[str, ServedVersion],
    *,
    before: ServedApplication | None,
    refused: Mapping[str, Refusal],
) -> ServedApplication:
    """The application with this release in force; of each surface the version before is kept aside."""
    replaced: dict[str, ServedVersion] = {}
    for surface, version in active.items():
        had = before.active.get(surface) if before is not None else None
        older = before.replaced.get(surface) if before is not None else None
        aside = older if had is None or had.version == version.version else had
        if aside is not None:
            replaced[surface] = aside
    return ServedApplication(
        release=release,
        active=MappingProxyType(dict(active)),
        replaced=MappingProxyType(replaced),
        refused=MappingProxyType(dict(refused)),
    )


def with_unopened(served: Served, unopened: Mapping[VersionKey, Refusal]) -> Served:
    """The same, with each active version that could not be opened again when it was last asked among the refused."""
    told = dict(served)
    for key, refusal in unopened.items():
        now = told.get(key.application)
        active = now.active.get(key.surface) if now is not None else None
        if now is not None and active is not None and active.key == key and key.surface not in now.refused:
            told[key.application] = replace(now, refused=MappingProxyType({**now.refused, key.surface: refusal}))
    return MappingProxyType(told)


def news_of_store(before: Mapping[str, str], after: Mapping[str, str]) -> Iterable[Change]:
    """What can no longer be read, and what can again; both mappings: application (or empty) → problem."""
    for application, detail in after.items():
        if before.get(application) != detail:
            yield Change(outcome="unreadable", application=application, surface="", detail=detail)
    for application in sorted(before.keys() - after.keys()):
        yield Change(outcome="readable", application=application, surface="", detail="can be read again")


def news(before: Served, after: Served) -> Iterable[Change]:
    """What is served now and was not, what is gone, and what is refused for the first time."""
    for application, now in after.items():
        then = before.get(application)
        if now is then:
            continue
        active, refused = (then.active, then.refused) if then is not None else ({}, {})
        for surface, version in now.active.items():
            if surface not in active or active[surface].version != version.version:
                detail = f"version {version.version}, {version.manifest.tools} tools"
                yield Change(outcome="serving", application=application, surface=surface, detail=detail)
        for surface, refusal in now.refused.items():
            if refused.get(surface) != refusal:
                yield Change(outcome="refused", application=application, surface=surface, detail=refusal.detail)
        if now.refused_release not in (None, then.refused_release if then is not None else None):
            detail = f"release {now.refused_release} is refused as a whole; release {now.release} stays in force"
            yield Change(outcome="refused", application=application, surface="", detail=detail)
        for surface in sorted({*active, *refused} - {*now.active, *now.refused}):
            detail = "the release in force does not name it"
            yield Change(outcome="gone", application=application, surface=surface, detail=detail)
