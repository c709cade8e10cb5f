"""A store in memory: for one process and for tests, with every promise of the port kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from threading import Condition

from indexer.artefact import Artefact
from indexer.errors import MENDED, StoreError
from indexer.ledger import Activation, Ledger, Pruning, empty_ledger
from indexer.release import Release


class MemoryStore:
    """Implements `indexer.ports.ArtefactStore`; threads may share it."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._activations = 0
        self._artefacts: dict[tuple[str, str, str], Artefact] = {}
        self._ledgers: dict[str, Ledger] = {}

    def applications(self) -> tuple[str, ...]:
        """Every application that has an active release, sorted."""
        with self._changed:
            return tuple(sorted(name for name, ledger in self._ledgers.items() if ledger.active is not None))

    def without_ledger(self) -> tuple[str, ...]:
        """Every application whose versions are here and whose ledger is not, sorted."""
        with self._changed:
            return tuple(sorted({name for name, *_ in self._artefacts} - self._ledgers.keys()))

    def ledger(self, application: str) -> Ledger:
        """Everything about an application at this moment."""
        with self._changed:
            return self._ledgers.get(application) or empty_ledger(application)

    def active(self, application: str) -> Release | None:
        """The release that is active now."""
        return self.ledger(application).active

    def prepare(self, application: str, *, size: int) -> None:
        """Memory is always ready."""

    def publish(self, artefact: Artefact, *, at: datetime) -> None:
        """Keeps an index version; raises `ArtefactError` where it is damaged already."""
        artefact.verify()
        manifest = artefact.manifest
        with self._changed:
            self._ledgers[manifest.application] = self.ledger(manifest.application).published(manifest, at=at)
            self._artefacts[manifest.application, manifest.surface, artefact.version] = artefact

    def load(self, application: str, surface: str, version: str) -> Artefact:
        """An index version, verified; raises `StoreError` where there is none, `ArtefactError` where it is damaged."""
        with self._changed:
            artefact = self._artefacts.get((application, surface, version))
        if artefact is None:
            where = f"application {application}, surface {surface}"
            raise StoreError(f"{where}: version {version} is not in the store; {MENDED}")
        artefact.verify()
        return artefact

    def activate(
        self,
        release: Release,
        *,
        expected: str | None,
        at: datetime,
        history: Sequence[Activation] | None = None,
    ) -> None:
        """Compare-and-swap of the active release; raises `ActivationConflictError`, `NotPublishedError`."""
        with self._changed:
            ledger = self.ledger(release.application)
            ledger = ledger.activated(release, expected=expected, at=at, history=history)
            self._ledgers[release.application] = ledger
            self._activations += 1
            self._changed.notify_all()

    def prune(self, application: str, *, keep: int, unused_since: datetime) -> Pruning:
        """Forgets what `Ledger.pruned` takes away."""
        with self._changed:
            pruning = self.ledger(application).pruned(keep=keep, unused_since=unused_since)
            self._ledgers[application] = pruning.ledger
            for gone in pruning.versions:
                self._artefacts.pop((application, gone.surface, gone.version), None)
            return pruning

    def wait_for_change(self, timeout_s: float) -> None:
        """Returns when somebody activates a release, at the latest after `timeout_s` seconds."""
        with self._changed:
            seen = self._activations
            self._changed.wait_for(lambda: self._activations != seen, timeout_s)
