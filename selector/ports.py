"""The port of the selector: where an open index comes from."""

from __future__ import annotations

from typing import Protocol

from indexer.index import SurfaceIndex


class Indexes(Protocol):
    """The indexes that are open now."""

    def find(self, application: str, surface: str, catalog_digest: str | None) -> SurfaceIndex:
        """The open index of exactly that catalog, else the active one of the surface.

        Raises `surface.errors.RankerUnavailable`: `unknown_surface` where there is no such surface,
        `index_unusable` where there is one and no index of it could be opened. Never waits.
        """
        ...
