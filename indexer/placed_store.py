"""A store over a technology without locks: every promise rests on the ledger's compare-and-swap.

Rules kept here:

1. A copy of a version is written to a place of its own, which is never used again. So whoever deletes late, however
   late, deletes what nobody can name any more, and not what was published meanwhile.
2. A copy is announced in the ledger before it is written, and named by a version there once it is whole. Deleting goes
   the other way: the ledger says that the copy leaves, it is deleted, the ledger forgets it. So a process that dies
   at any point leaves copies that a `prune` finds, and nothing that a reader can name is ever half there.
3. A writer that a prune believed dead and that is only slow deletes what it wrote. Should it die before that, prunes
   delete its copy again for another day, as its place is still in the ledger.
4. What the ledger says, read or written, counts once it is there to stay (`Shelf.confirm`), however often an answer was
   lost before; what is gone again, as a failover undid it, is told as not done.
5. A reader that finds a copy gone looks into the ledger again: either the version has another copy, or it was pruned.

Not done here: the bytes (`shelf.Shelf`), and what may be activated or pruned (`ledger.Ledger`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from indexer.artefact import MANIFEST, MAX_MANIFEST_BYTES, Artefact, IndexManifest, read_artefact
from indexer.errors import MENDED, ActivationConflictError, ArtefactError, StoreError, StoreUnavailableError
from indexer.ledger import Activation, Copy, KeptVersion, Ledger, Pruning, empty_ledger
from indexer.release import Release
from indexer.sealed_ledger import MAX_LEDGER_BYTES, ActiveReleases, LastLedger, sealed
from indexer.shelf import Address, Shelf

_TRIES = 100
"""Each lost compare-and-swap means that somebody else's succeeded."""
_COPIES = 3
"""How often a copy may be pruned away under a reader or a writer before it gives up."""


class PlacedStore:
    """Implements `indexer.ports.ArtefactStore` over a shelf; threads may share it where they may share the shelf."""

    def __init__(self, shelf: Shelf, *, new_place: Callable[[], str]) -> None:
        """`new_place` gives 1-32 hexadecimal digits that it never gives again."""
        self._shelf = shelf
        self._new_place = new_place
        self._active = ActiveReleases()
        self._last = LastLedger()

    def applications(self) -> tuple[str, ...]:
        """Every application that has an active release or an unreadable ledger, sorted; raises `StoreError`.

        Ledgers may lie on several servers: once one of those is away all the rest are named, and nobody waits for each.
        """
        found, away = list[str](), False
        for name in sorted(self._shelf.applications()):
            try:
                served = away or self.active(name) is not None
            except ArtefactError:
                served = True  # whoever asks for it is told what is wrong
            except StoreUnavailableError:
                served = away = True
            if served:
                found.append(name)
        return tuple(found)

    def without_ledger(self) -> tuple[str, ...]:
        """Every application that the shelf knows of and has no ledger of, sorted; raises `StoreError`."""
        named = self._shelf.applications()
        return tuple(sorted(name for name in named if not self._shelf.has_ledger(name)))

    def ledger(self, application: str) -> Ledger:
        """Everything about an application at this moment; raises `StoreError`, `ArtefactError`."""
        nothing = empty_ledger(application)  # refuses what no application may be called
        data = self._shelf.read_ledger(application).data
        return nothing if data is None else self._parsed(data, application)

    def active(self, application: str) -> Release | None:
        """The release that is active now; raises `StoreError`, `ArtefactError`. It parses no bytes twice."""
        nothing = empty_ledger(application)
        data = self._shelf.read_ledger(application).data
        return nothing.active if data is None else self._active.of(application, data, self._parsed)

    def prepare(self, application: str, *, size: int) -> None:
        """Raises `StoreError` where the shelf takes no writes or is known to have no room."""
        empty_ledger(application)
        self._shelf.prepare(application, size=size)

    def publish(self, artefact: Artefact, *, at: datetime) -> None:
        """Keeps an index version; one that is there and sound is left alone. Raises `StoreError`, `ArtefactError`."""
        artefact.verify()
        manifest = artefact.manifest
        for _ in range(_COPIES):
            known = self.ledger(manifest.application).version(manifest.surface, manifest.version)
            try:
                sound = known is not None and self._is_sound(manifest, known)
                place = known.place if known is not None and sound else self._written(artefact, at=at)
            except _CopyGoneError:
                continue
            try:
                self._record(manifest, at=at, place=place, damaged=known.place if known is not None else None)
            except _CopyGoneError:
                self._shelf.delete(_address(manifest, place))
            else:
                return
        raise StoreUnavailableError(
            f"{self._shelf.name}: version {manifest.version} of surface {manifest.surface} was pruned each time it was "
            "published; prune when no deploy runs, or leave younger versions alone"
        )

    def load(self, application: str, surface: str, version: str) -> Artefact:
        """An index version, every byte verified.

        Raises `StoreError` where it is not there or is pruned meanwhile, `ArtefactError` where it is damaged.
        """
        for _ in range(_COPIES):
            known = self.ledger(application).version(surface, version)
            if known is None:
                break
            try:
                return self._loaded(application, known)
            except ArtefactError:
                now = self.ledger(application).version(surface, version)
                if now is not None and now.place == known.place:
                    raise
        raise StoreError(
            f"{self._shelf.name}: application {application}, surface {surface}: version {version} is not in the store; "
            f"{MENDED}"
        )

    def activate(
        self,
        release: Release,
        *,
        expected: str | None,
        at: datetime,
        history: Sequence[Activation] | None = None,
    ) -> None:
        """Compare-and-swap of the ledger; raises `ActivationConflictError`, `NotPublishedError`, `StoreError`."""
        conflict: ActivationConflictError | None = None

        def activated(ledger: Ledger) -> Ledger:
            nonlocal conflict
            conflict = None
            try:
                return ledger.activated(release, expected=expected, at=at, history=history)
            except ActivationConflictError as found:
                if found.found != release.id:
                    raise
                conflict = found  # ours, whose answer was lost, or a twin's: whoever asks takes it as good
                return ledger

        self._change(release.application, activated)
        self._shelf.announce(release.application)
        if conflict is not None:
            raise conflict

    def prune(self, application: str, *, keep: int, unused_since: datetime) -> Pruning:
        """Deletes what `Ledger.pruned` takes away, and what dead processes left.

        Answers with all that is gone, also where a try took it whose answer was lost. Raises `StoreError`,
        `ArtefactError`.
        """
        tries: list[Pruning] = []

        def pruned(ledger: Ledger) -> Ledger:
            tries.append(ledger.pruned(keep=keep, unused_since=unused_since))
            return ledger if tries[-1].ledger == ledger else tries[-1].ledger

        self._change(application, pruned)
        last = tries[-1]
        self._delete(application, last.leaving, but=last.watched)
        left = {one.id for one in last.ledger.releases}
        releases = (one for each in tries for one in each.releases if one not in left)
        versions = {(one.surface, one.version): one for each in tries for one in each.versions}
        gone = (one for one in versions.values() if last.ledger.version(one.surface, one.version) is None)
        return replace(last, releases=tuple(dict.fromkeys(releases)), versions=tuple(gone))

    def wait_for_change(self, timeout_s: float) -> None:
        """Returns when an activation may have happened, at the latest after `timeout_s` seconds."""
        self._shelf.wait_for_change(timeout_s)

    def _written(self, artefact: Artefact, *, at: datetime) -> str:
        """The place of a new copy, announced and whole; one that could not be written is withdrawn as far as can be.

        Raises `_CopyGoneError` where a prune has taken the copy meanwhile.
        """
        manifest, place = artefact.manifest, self._new_place()
        self._change(manifest.application, lambda ledger: ledger.announced(manifest, at=at, place=place))
        address = _address(manifest, place)
        try:
            self._shelf.write(address, {MANIFEST: manifest.to_bytes(), **artefact.files})
        except StoreError as error:
            pruned = False
            with suppress(StoreError):  # else a prune finds it, once it is old enough
                pruned = not self.ledger(manifest.application).is_announced(place)
                self._change(manifest.application, lambda ledger: ledger.withdrawn(place))
                self._shelf.delete(address)  # and again by the next prune: some of it may still be on its way
            if pruned:  # what could not be found again was deleted under the writer's hands
                raise _CopyGoneError from error
            raise
        return place

    def _record(self, manifest: IndexManifest, *, at: datetime, place: str, damaged: str | None) -> None:
        """Names the copy in the ledger, or another one that somebody published meanwhile; raises `_CopyGoneError`."""

        def published(ledger: Ledger) -> Ledger:
            known = ledger.version(manifest.surface, manifest.version)
            if known is not None and known.place not in (place, damaged):
                return ledger.published(manifest, at=at, place=known.place).withdrawn(place)
            if (known is None or known.place != place) and not ledger.is_announced(place):
                raise _CopyGoneError
            return ledger.published(manifest, at=at, place=place)

        ledger = self._change(manifest.application, published)
        superseded = {place, damaged}
        self._delete(manifest.application, [one for one in ledger.leaving if one.place in superseded])

    def _delete(self, application: str, copies: Iterable[Copy], *, but: Collection[str] = ()) -> None:
        """Deletes copies, and has the ledger forget their places, `but` for some."""
        gone = set[str]()
        for one in copies:
            address = Address(application=application, surface=one.surface, version=one.version, place=one.place)
            self._shelf.delete(address)
            gone.add(one.place)
        gone.difference_update(but)
        if gone:
            self._change(application, lambda ledger: ledger.cleared(gone))

    def _change(self, application: str, update: Callable[[Ledger], Ledger]) -> Ledger:
        """Replaces the ledger by what `update` makes of it, however often others are faster."""
        nothing = empty_ledger(application)
        for _ in range(_TRIES):
            found = self._shelf.read_ledger(application)
            before = nothing if found.data is None else self._parsed(found.data, application)
            after = update(before)
            if after is before:
                if found.data is not None:
                    self._shelf.confirm(application, found.data)
                return after
            data = sealed(after)
            if len(data) > MAX_LEDGER_BYTES:
                raise StoreError(
                    f"{self._shelf.name}: application {application}: the ledger would be larger than "
                    f"{MAX_LEDGER_BYTES:,} bytes; prune the application first"
                )
            if self._shelf.replace_ledger(application, data, tag=found.tag):
                self._last.wrote(after, data)
                self._shelf.confirm(application, data)
                return after
        raise StoreUnavailableError(
            f"{self._shelf.name}: application {application}: others were faster {_TRIES} times in a row; try again"
        )

    def _parsed(self, data: bytes, application: str) -> Ledger:
        where = f"{self._shelf.name}: {self._shelf.ledger_name(application)}"
        return self._last.of(data, application=application, where=where, remedy="delete it")

    def _loaded(self, application: str, known: KeptVersion) -> Artefact:
        where = f"{self._shelf.name}: version {known.version}"
        address = Address(application=application, surface=known.surface, version=known.version, place=known.place)
        written = self._shelf.read(address, MANIFEST, ceiling=MAX_MANIFEST_BYTES)
        if written is None:
            raise ArtefactError(f"{where}: {MANIFEST} is missing; {MENDED}")
        return read_artefact(
            written,
            lambda name, ceiling: self._shelf.read(address, name, ceiling=ceiling),
            application=application,
            surface=known.surface,
            version=known.version,
            where=where,
        )

    def _is_sound(self, manifest: IndexManifest, known: KeptVersion) -> bool:
        try:
            self._loaded(manifest.application, known)
        except ArtefactError:
            return False
        return True


class _CopyGoneError(Exception):
    """A prune that believed its writer dead has deleted the copy."""


def _address(manifest: IndexManifest, place: str) -> Address:
    return Address(application=manifest.application, surface=manifest.surface, version=manifest.version, place=place)
