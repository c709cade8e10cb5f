"""The ledger: everything a store knows of one application, apart from the bytes of its index versions.

    activations   which release became active when, oldest first; the last line is what is served
    releases      the releases that can be activated again, the most recently active first
    versions      the index versions that are published and not pruned
    writing       copies of versions that are being written, and no version names yet
    leaving       copies that are to be deleted, and no version will ever name again

Rules kept here:

1. A store keeps one ledger per application and replaces it as a whole, if nobody else replaced it meanwhile: so an
   activation and a pruning can never both succeed on contradicting terms, whatever the store is made of.
2. A release is activated only if every version of it is published; a version is dropped only if no kept release
   names it. So what is active is always whole.
3. Order is the order of the lines, never of the clocks: a clock that jumps changes what a line says, not what is
   active. What stands in the ledger when a line is added is not younger than it, whatever a clock that ran ahead said.
4. It does not grow for ever: the oldest lines and releases are forgotten.

Not done here: its bytes (`sealed_ledger.py`), where they are kept, and where those of the versions are
(`ports.ArtefactStore`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from indexer.artefact import IndexManifest, Line
from indexer.errors import ActivationConflictError, NotPublishedError, StoreError
from indexer.release import Release, Version
from surface.identity import is_key
from surface.protocol import Key

KEPT_ACTIVATIONS = 256
KEPT_RELEASES = 64
"""The most releases that can be activated again, the active one included."""
KEPT_SURFACES = 100_000
"""The most surfaces that the kept releases may have in all, the active one apart."""

LATE_WRITER = timedelta(days=1)
"""For how long a copy that was taken from its writer is deleted again: the writer may not be dead but slow."""

Place = Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{0,32}$")]
"""For stores without locks: what makes one copy of a version different from every other, earlier or later one."""
Moment = Annotated[AwareDatetime, AfterValidator(lambda moment: moment.astimezone(UTC))]
_FROZEN = ConfigDict(frozen=True, extra="forbid")


class Activation(BaseModel):
    """One line of the history."""

    model_config = _FROZEN

    release: Version
    """The id of the release that became active."""
    deploy: Line
    """What the application calls the deploy that made it."""
    at: Moment


class KeptVersion(BaseModel):
    """One index version that is in the store."""

    model_config = _FROZEN

    surface: Key
    version: Version
    published: Moment
    """When it was published last, at the latest when a release became active after that; a deploy that finds it there
    publishes it again."""
    size: Annotated[int, Field(strict=True, ge=0)]
    """Bytes of its files."""
    place: Place = ""


class Copy(BaseModel):
    """One copy of an index version that no `KeptVersion` names."""

    model_config = _FROZEN

    surface: Key
    version: Version
    place: Place
    since: Moment
    """When its writing began; or when the version it was a copy of was published; or of one that a pruning took from
    its writer, what that pruning called long unused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """What a pruning takes away."""

    ledger: Ledger
    """What is left."""
    releases: tuple[str, ...]
    """Ids of the releases that cannot be activated again."""
    versions: tuple[KeptVersion, ...]
    """The versions whose bytes go."""
    leaving: tuple[Copy, ...]
    """The copies to delete, once no ledger can name them any more."""
    watched: frozenset[str]
    """The places of those that may still be written to; `Ledger.cleared` of the others follows."""

    @property
    def size(self) -> int:
        """Bytes that become free."""
        return sum(one.size for one in self.versions)


class Ledger(BaseModel):
    """See the head of this file."""

    model_config = _FROZEN

    application: Key
    activations: tuple[Activation, ...] = ()
    releases: tuple[Release, ...] = ()
    versions: tuple[KeptVersion, ...] = ()
    writing: tuple[Copy, ...] = ()
    leaving: tuple[Copy, ...] = ()

    @property
    def active(self) -> Release | None:
        """The release that is active; None before the first activation."""
        return self.releases[0] if self.releases else None

    def release(self, release_id: str) -> Release | None:
        """The kept release of this id."""
        return next((one for one in self.releases if one.id == release_id), None)

    def version(self, surface: str, version: str) -> KeptVersion | None:
        """The kept version of a surface."""
        return next((one for one in self.versions if (one.surface, one.version) == (surface, version)), None)

    def since(self, earlier: Ledger) -> tuple[Activation, ...]:
        """The activations after those of an earlier ledger of the application; all it has where it has none of them."""
        before, now = earlier.activations, self.activations
        known = next(
            many for many in range(min(len(before), len(now)), -1, -1) if before[len(before) - many :] == now[:many]
        )
        return now[known:]

    def announced(self, manifest: IndexManifest, *, at: datetime, place: str) -> Ledger:
        """With a copy that is about to be written."""
        copy = Copy(surface=manifest.surface, version=manifest.version, place=place, since=moment(at))
        return self.model_copy(update={"writing": (*self.writing, copy)})

    def is_announced(self, place: str) -> bool:
        """Whether the copy in this place may still become a version's; a `pruned` in between says no."""
        return any(one.place == place for one in self.writing)

    def cleared(self, places: Collection[str]) -> Ledger:
        """Without the leaving copies in these places, which are deleted."""
        leaving = tuple(one for one in self.leaving if one.place not in places)
        return self if len(leaving) == len(self.leaving) else self.model_copy(update={"leaving": leaving})

    def published(self, manifest: IndexManifest, *, at: datetime, place: str = "") -> Ledger:
        """With a version that was published at this moment; one that is there is the newer for it.

        A copy of it that was named before leaves.
        """
        known = self.version(manifest.surface, manifest.version)
        entry = KeptVersion(
            surface=manifest.surface,
            version=manifest.version,
            published=max(moment(at), known.published) if known is not None else moment(at),
            size=sum(file.size for file in manifest.files.values()),
            place=place,
        )
        others = (one for one in self.versions if one is not known)
        versions = sorted((*others, entry), key=lambda one: (one.surface, one.version))
        writing = tuple(one for one in self.writing if one.place != place)
        leaving = self.leaving if known is None or known.place == place else (*self.leaving, _copy(known))
        return self.model_copy(update={"versions": tuple(versions), "writing": writing, "leaving": leaving})

    def withdrawn(self, place: str) -> Ledger:
        """With an announced copy that nobody needs any more leaving."""
        writing = tuple(one for one in self.writing if one.place != place)
        needless = tuple(one for one in self.writing if one.place == place)
        return self.model_copy(update={"writing": writing, "leaving": (*self.leaving, *needless)})

    def activated(
        self,
        release: Release,
        *,
        expected: str | None,
        at: datetime,
        history: Sequence[Activation] | None = None,
    ) -> Ledger:
        """With another release active; the same ledger where it is active already.

        Raises `ActivationConflictError` where the active one is not `expected`, or where there is a `history` and the
        activations are not those; `NotPublishedError` where a version of the release is not published, or not any more.
        """
        found = self.active.id if self.active is not None else None
        if found != expected or (history is not None and tuple(history) != self.activations):
            raise ActivationConflictError(application=self.application, expected=expected, found=found)
        there = {(one.surface, one.version) for one in self.versions}
        missing = sorted(named_by([release]) - there)
        if missing:
            raise NotPublishedError(application=self.application, missing=missing)
        if release.id == found:
            return self
        line = Activation(release=release.id, deploy=release.deploy, at=moment(at))
        versions = [one.model_copy(update={"published": min(one.published, line.at)}) for one in self.versions]
        others = [one for one in self.releases if one.id != release.id]
        return self.model_copy(
            update={
                "activations": (*self.activations, line)[-KEPT_ACTIVATIONS:],
                "releases": (release, *_affordable(others, room=KEPT_SURFACES)[: KEPT_RELEASES - 1]),
                "versions": tuple(versions),
                "writing": _begun_by(line.at, self.writing),
                "leaving": _begun_by(line.at, self.leaving),
            }
        )

    def pruned(self, *, keep: int, unused_since: datetime) -> Pruning:
        """Without all but the `keep` most recently active releases, and without the versions none of these names.

        A version that was published since `unused_since` stays: it may belong to a deploy that is about to activate
        it. Raises ValueError where `keep` is below 1.
        """
        if keep < 1:
            raise ValueError("keep: needs 1 or more; the active release stays")
        limit = moment(unused_since)
        kept, dropped = self.releases[:keep], self.releases[keep:]
        used = named_by(kept)
        left, gone = list[KeptVersion](), list[KeptVersion]()
        for one in self.versions:
            stays = (one.surface, one.version) in used or one.published >= limit
            (left if stays else gone).append(one)
        abandoned = [one.model_copy(update={"since": limit}) for one in self.writing if one.since < limit]
        writing = tuple(one for one in self.writing if one.since >= limit)
        watched = [*(one for one in self.leaving if one.since > limit - LATE_WRITER), *abandoned]
        leaving = (*self.leaving, *abandoned, *(_copy(one) for one in gone if one.place))
        update = {"releases": kept, "versions": tuple(left), "writing": writing, "leaving": leaving}
        return Pruning(
            ledger=self.model_copy(update=update),
            releases=tuple(one.id for one in dropped),
            versions=tuple(gone),
            leaving=leaving,
            watched=frozenset(one.place for one in watched),
        )


def empty_ledger(application: str) -> Ledger:
    """The ledger before anything was published; raises `StoreError` for a name that no application may have."""
    if not is_key(application):
        raise StoreError("application: needs 1-64 characters of A-Z a-z 0-9 _ . -")
    return Ledger(application=application)


def moment(at: datetime) -> datetime:
    """The same moment in UTC; raises ValueError for one without a time zone."""
    if at.tzinfo is None:
        raise ValueError("at: needs a time zone; say datetime.now(UTC)")
    return at.astimezone(UTC)


def named_by(releases: Iterable[Release]) -> set[tuple[str, str]]:
    """The versions that releases are made of: (surface, version)."""
    return {(surface, released.version) for one in releases for surface, released in one.surfaces.items()}


def _copy(version: KeptVersion) -> Copy:
    return Copy(surface=version.surface, version=version.version, place=version.place, since=version.published)


def _begun_by(at: datetime, copies: Iterable[Copy]) -> tuple[Copy, ...]:
    return tuple(one.model_copy(update={"since": min(one.since, at)}) for one in copies)


def _affordable(releases: Iterable[Release], *, room: int) -> list[Release]:
    total = 0

    def fits(release: Release) -> bool:
        nonlocal total
        total += len(release.surfaces)
        return total <= room

    return list(takewhile(fits, releases))
