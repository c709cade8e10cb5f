"""Every error the indexer raises on purpose.

    ToolSurfaceError
    └── IndexerError
        ├── CatalogFileError          the file of a catalog cannot be opened or unpacked
        │   └── FileTooLargeError     it is larger than one may be
        ├── CacheFileError            the file that is to remember vectors is somebody's own; it was not touched
        ├── CanaryFileError           the file of canary queries holds something else; lists every fault by line
        ├── CanaryError               a release does not find what its canaries say it must
        ├── RehearsalError            a version could not be asked before it was activated
        ├── UnknownReleaseError       a release was asked for that the store does not keep, or that is not the only one
        ├── BuildError                the embedder answered something that is no set of unit vectors
        ├── ArtefactError             the bytes of an index version or a release are not what they should be
        ├── StoreError                the store cannot be read or written; names the place and the fix
        │   ├── NotPublishedError     a release names versions that the store does not hold (any more)
        │   └── StoreUnavailableError it cannot be reached just now; trying again may help
        └── ActivationConflictError   another deploy became active in between

A wrong catalog is `surface.errors.CatalogError`; what the embedding model raises is `models.errors.ModelError`.
No message holds a description, a schema or a query (EVD-2).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from surface.errors import ToolSurfaceError

MENDED = "deploy the catalog it came from again"
"""What puts any version right, and back into a store. The catalog of the active release leaves the versions of other
kept releases alone, so "deploy again" is said only of what any deploy mends, such as a ledger."""
_SHOWN = 20
_SECRET_PARTS = re.compile(r"(?<=://)\S*@|\?[^\s\"'>)]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryFailure:
    """A canary whose tool was not found, or not soon enough."""

    line: int
    """Where the canary stands in its file, from 1. Its query is told nowhere."""
    surface: str
    tool: str
    first: int
    """Among how many names the tool has to stand."""
    place: int | None
    """Where it stands, from 1; None where the ranking does not name it."""

    def __str__(self) -> str:
        found = f"stands at {self.place}" if self.place is not None else "was not found"
        return f"line {self.line}: {self.tool} of surface {self.surface} {found}, must be in the first {self.first}"


class IndexerError(ToolSurfaceError):
    """Whatever goes wrong in the indexer."""


class CatalogFileError(IndexerError):
    """The file of a catalog cannot be opened or unpacked; what it holds was not looked at."""


class FileTooLargeError(CatalogFileError):
    """The file of a catalog is larger than one may be."""


class CacheFileError(IndexerError):
    """The file that is to remember vectors is something else; it was left as it is and nothing was built."""


class CanaryFileError(IndexerError):
    """The file of canary queries cannot be used; nothing was built."""


class CanaryError(IndexerError):
    """Canaries failed, so nothing was activated."""

    def __init__(self, failures: Sequence[CanaryFailure], *, canaries: int) -> None:
        self.failures = tuple(failures)
        self.canaries = canaries
        """How many there were."""
        lines = [f"  - {failure}" for failure in self.failures[:_SHOWN]]
        if len(self.failures) > _SHOWN:
            lines.append(f"  … and {len(self.failures) - _SHOWN} more")
        head = f"{len(self.failures)} of {canaries} canaries failed, so nothing was activated:"
        super().__init__("\n".join([head, *lines]))


class RehearsalError(IndexerError):
    """A version could not be asked the way it will be asked when it serves."""


class UnknownReleaseError(IndexerError):
    """A release was asked for that the store does not keep, or not under this beginning alone; nothing was changed."""

    def __init__(self, *, application: str, asked: str | None, kept: Sequence[str]) -> None:
        self.application = application
        self.asked = asked
        """What the release's id had to begin with; None where the one before the active was asked for."""
        self.kept = tuple(kept)
        """Ids of the releases there are, the most recently active first."""
        wanted = (
            "no earlier release is kept"
            if asked is None
            else "no kept release, or more than one, has this id (32 hexadecimal digits, or the first 6 or more)"
        )
        listed = ", ".join(each[:12] for each in self.kept[:_SHOWN])
        kept_are = f"kept are {listed} (the first is active)" if listed else "none is kept"
        super().__init__(f"application {application}: {wanted}; {kept_are}")


class BuildError(IndexerError):
    """An index version cannot be built."""


class ArtefactError(IndexerError):
    """An index version or a release is damaged, or was never one."""


class StoreError(IndexerError):
    """The store cannot do what it was asked."""


class NotPublishedError(StoreError):
    """A release names versions that are not in the store: never published, or pruned; nothing was changed."""

    def __init__(self, *, application: str, missing: Sequence[tuple[str, str]]) -> None:
        self.application = application
        self.missing = tuple(missing)
        """(surface, version), sorted."""
        surface, version = self.missing[0]
        more = f" (and {len(self.missing) - 1} more)" if len(self.missing) > 1 else ""
        super().__init__(
            f"application {application}, surface {surface}: version {version}{more} is not in the store, so its "
            f"release is not activated; {MENDED}"
        )


class StoreUnavailableError(StoreError):
    """The store cannot be reached just now; the same call, made again, may succeed."""


class ActivationConflictError(IndexerError):
    """The active release is not the one this activation was prepared against, or not any more without a break.

    This call has changed nothing; one before it, whose answer was lost, may have: the ledger's history says.
    """

    def __init__(self, *, application: str, expected: str | None, found: str | None) -> None:
        self.application = application
        self.expected = expected
        """The release id that should have been active; None for no release."""
        self.found = found
        """The release id that is active."""
        if found == expected:
            said = f"{found or 'no release'} is active again, after others were in between; see status, and try again"
        else:
            said = (
                f"expected {expected or 'no release'} to be active and found {found or 'no release'}; another deploy "
                "or switch was faster: see status, and try again"
            )
        super().__init__(f"application {application}: {said}")


def kind_of(error: Exception) -> str:
    """The kind of somebody else's error and how its message begins, in one line; the rest may quote whole answers.

    Of a URL in it the parts that may be secret are left out: user, password and query.
    """
    first = _SECRET_PARTS.sub("…", str(error)).strip().splitlines()[:1]
    return f"{type(error).__name__}: {first[0][:200]}" if first else type(error).__name__
