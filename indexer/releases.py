"""Going back and forth between the releases that a store keeps, and proving what it holds.

Rules kept here:

1. A release is activated only after every version of it was read back from the store, sound in every byte, and its
   vectors are where replicas that hold none look for them.
2. Going back means the release that was active before the active one: going back twice ends where it began. What is
   older is activated by its id.

Not done here: making releases (`deploy.py`); which of them a store keeps (`ledger.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from indexer.artefact import Artefact
from indexer.contents import Contents, read_contents
from indexer.errors import MENDED, ActivationConflictError, ArtefactError, UnknownReleaseError
from indexer.ledger import Ledger
from indexer.ports import ArtefactStore, VectorStore
from indexer.release import Release

Switching: TypeAlias = Callable[[Release, Ledger], None]
"""Told of a release that may become active from now on, and of what the ledger is before that."""

SHORTEST_PREFIX = 6
"""Digits of a release's id that are enough to ask for it, where no other kept one begins with them."""


def ignored(release: Release, before: Ledger) -> None:
    """A `Switching` that nobody hears."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched:
    """What is active after a switch."""

    release: Release
    previous: str | None
    """The id of the release that was active before; equal to the release's where nothing changed."""

    @property
    def unchanged(self) -> bool:
        """Whether the release was active already."""
        return self.previous == self.release.id


def kept_release(ledger: Ledger, asked: str) -> Release:
    """The one kept release whose id begins with `asked`; raises `UnknownReleaseError` where that is none or several."""
    found = [
        one
        for one in ledger.releases
        if one.id == asked or (len(asked) >= SHORTEST_PREFIX and one.id.startswith(asked))
    ]
    if len(found) != 1:
        raise UnknownReleaseError(application=ledger.application, asked=asked, kept=[one.id for one in ledger.releases])
    return found[0]


def previous_release(ledger: Ledger) -> Release:
    """The release that was active before the active one; raises `UnknownReleaseError` where none is kept."""
    if len(ledger.releases) < 2:
        raise UnknownReleaseError(application=ledger.application, asked=None, kept=[one.id for one in ledger.releases])
    return ledger.releases[1]


def switch(
    store: ArtefactStore,
    ledger: Ledger,
    release: Release,
    *,
    now: Callable[[], datetime],
    vectors: VectorStore | None = None,
    switching: Switching = ignored,
) -> Switched:
    """Makes a kept release the active one, if the active one is still that of `ledger`.

    `switching` is called once everything is proved, just before the switch; `vectors`: None where replicas hold them.
    Raises `ActivationConflictError` where a third one is active meanwhile, `ArtefactError` and `StoreError` where a
    version of the release is not sound or its vectors cannot be uploaded; what was active is active then.
    """
    active = ledger.active.id if ledger.active is not None else None
    if release.id != active or vectors is not None:
        for surface in sorted(release.surfaces):
            artefact, contents = sound_version(store, release, surface)
            if vectors is not None:
                vectors.upload(artefact.manifest, contents.vectors)
    make_active(store, release, expected=active, at=now(), switching=switching)
    return Switched(release=release, previous=active)


def make_active(
    store: ArtefactStore, release: Release, *, expected: str | None, at: datetime, switching: Switching = ignored
) -> None:
    """Activates a release; that it is active already, because a twin was faster or an answer was lost, is as good.

    Raises `ActivationConflictError` where another release is active, or was once the switch had begun; and what the
    store raises. `switching` is called just before the switch.
    """
    before = store.ledger(release.application)
    switching(release, before)
    try:
        store.activate(release, expected=expected, at=at, history=before.activations)
    except ActivationConflictError as conflict:
        if conflict.found != release.id:
            raise


def sound_version(store: ArtefactStore, release: Release, surface: str) -> tuple[Artefact, Contents]:
    """The version that serves a surface of a release, every promise of it checked.

    Raises `StoreError` where it cannot be read, `ArtefactError` where it is damaged or not what the release says.
    """
    released = release.surfaces[surface]
    artefact = store.load(release.application, surface, released.version)
    contents = read_contents(artefact)
    if artefact.manifest.catalog_digest != released.catalog_digest:
        raise ArtefactError(
            f"application {release.application}, surface {surface}: version {released.version} was built from another "
            f"catalog than the release says; {MENDED}"
        )
    return artefact, contents
