"""A release: one index version for each surface of an application, switched together.

A surface that a release does not name is gone once the release is active. Releases are content-addressed like
artefacts: the same application, deploy and versions are the same release.

Not done here: deciding which release is active (`ledger.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from indexer.catalog_file import Line
from surface.canonical import digest
from surface.protocol import Digest, Key

Version = Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{32}$")]


class ReleasedSurface(BaseModel):
    """The index version that serves a surface."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Version
    catalog_digest: Digest


class Release(BaseModel):
    """What an application serves, or could serve."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    application: Key
    deploy: Line
    """What the application calls the deploy this release came from."""
    surfaces: Annotated[Mapping[Key, ReleasedSurface], Field(min_length=1), AfterValidator(MappingProxyType)]

    @property
    def id(self) -> str:
        """The content address: 32 hexadecimal digits."""
        return digest(self.to_plain())

    def to_plain(self) -> dict[str, Any]:
        """This release as a JSON object."""
        plain = self.model_dump(mode="json", exclude={"surfaces"})
        return plain | {"surfaces": {key: surface.model_dump() for key, surface in self.surfaces.items()}}
