"""A release: one index version for each surface of an application, switched together.

A surface that a release does not name is gone once the release is active. Releases are content-addressed like
artefacts: the same application, deploy and versions are the same release.

Not done here: deciding which release is active (`ports.ArtefactStore`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from indexer.catalog_file import Line
from indexer.errors import ArtefactError
from indexer.strict_json import NotJsonError, parse_json
from surface.canonical import canonical_bytes, digest
from surface.protocol import Digest, Key

MAX_RELEASE_BYTES = 16 * 1024 * 1024
"""The most a stored release may weigh: a hundred thousand surfaces."""

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
        return digest(self._plain())

    def to_bytes(self) -> bytes:
        """The canonical JSON of this release."""
        return canonical_bytes(self._plain())

    def _plain(self) -> dict[str, Any]:
        plain = self.model_dump(mode="json", exclude={"surfaces"})
        return plain | {"surfaces": {key: surface.model_dump() for key, surface in self.surfaces.items()}}


def read_release(data: bytes) -> Release:
    """The release that `data` holds; raises `ArtefactError`, and nothing else, naming the field."""
    try:
        return Release.model_validate(parse_json(data))
    except NotJsonError as error:
        raise ArtefactError(f"release: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(ascii(step)[1:-1] if isinstance(step, str) else str(step) for step in first["loc"])
        raise ArtefactError(f"release: {field}: {first['msg']}") from None
