"""Every error the indexer raises on purpose.

    ToolSurfaceError
    └── IndexerError
        ├── CatalogFileError          the file of a catalog cannot be opened or unpacked
        ├── BuildError                the embedder answered something that is no set of unit vectors
        ├── ArtefactError             the bytes of an index version or a release are not what they should be
        ├── StoreError                the store cannot be read or written; names the place and the fix
        │   └── NotPublishedError     a release names versions that the store does not hold (any more)
        └── ActivationConflictError   another deploy became active in between

A wrong catalog is `surface.errors.CatalogError`; what the embedding model raises is `models.errors.ModelError`.
No message holds a description, a schema or a query (EVD-2).
"""

from __future__ import annotations

from collections.abc import Sequence

from surface.errors import ToolSurfaceError


class IndexerError(ToolSurfaceError):
    """Whatever goes wrong in the indexer."""


class CatalogFileError(IndexerError):
    """The file of a catalog cannot be opened or unpacked; what it holds was not looked at."""


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
            f"application {application}, surface {surface}: version {version}{more} is not in the store; publish it "
            "before it is activated: deploy again"
        )


class ActivationConflictError(IndexerError):
    """The active release is not the one this activation was prepared against; nothing was changed."""

    def __init__(self, *, application: str, expected: str | None, found: str | None) -> None:
        self.application = application
        self.expected = expected
        """The release id that should have been active; None for no release."""
        self.found = found
        """The release id that is active."""
        super().__init__(
            f"application {application}: expected {expected or 'no release'} to be active and found "
            f"{found or 'no release'}; another deploy was faster, so deploy again"
        )
