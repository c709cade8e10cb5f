"""The manifest of one embedding model: what it is, and which bytes it is made of.

Rules kept here:

1. A manifest checks itself when made; a wrong one is one `ManifestError` naming the field and the file.
2. `identity` changes whenever vectors may change, and never when only prose (licence, source) does.
   Vectors of different identities are never compared.
3. No byte of a model is parsed before its size and sha256 equal the pinned ones: engines take a
   `VerifiedModel`, and making one verifies it.

Not here: reading files (`adapters/local_files.py`).
"""

import hashlib
import hmac
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import field, fields
from types import MappingProxyType
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from models.errors import ManifestError, ModelFileMismatchError, ModelFileMissingError

__all__ = ["MAX_DIMENSION", "MAX_FILES", "FilePin", "ModelManifest", "VerifiedModel", "is_file_name", "parse_manifest"]

_CONFIG: Final = ConfigDict(extra="forbid")
MAX_DIMENSION: Final = 65_536
MAX_FILES: Final = 256
"""Of one model; the largest on a hub has some hundred, the shards of its weights among them."""

_Line = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=300, pattern=r"^[^\r\n]+$")]
# Printable ASCII, as an index repeats it.
_Revision = Annotated[str, StringConstraints(strict=True, pattern=r"^[\x20-\x7e]{1,256}$")]
_Prefix = Annotated[str, StringConstraints(strict=True, max_length=2_000)]
# A name is also a folder and part of every identity.
_Name = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=100, pattern=r"^[a-z0-9][a-z0-9._-]*$")]
# Plain names, each of which begins with a letter or digit: joined to a folder they cannot leave it.
_FILE_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*"
_MAX_FILE_NAME: Final = 200
_FileName = Annotated[
    str, StringConstraints(strict=True, min_length=1, max_length=_MAX_FILE_NAME, pattern=f"^{_FILE_NAME}$")
]
_Sha256 = Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class FilePin:
    """The exact bytes one file must have."""

    sha256: _Sha256
    """64 lower-case hexadecimal digits."""
    size: Annotated[int, Field(strict=True, gt=0)]
    """Bytes. Readers read no further."""


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class ModelManifest:
    """One pinned embedding model."""

    name: _Name
    revision: _Revision
    """The publisher's version of the weights; the version of the code for a model without weights."""
    licence: _Line
    """SPDX expression of the weights."""
    source: _Line
    """Where the weights were taken from, for people."""
    dimension: Annotated[int, Field(strict=True, ge=1, le=MAX_DIMENSION)]
    max_tokens: Annotated[int, Field(strict=True, ge=3, le=131_072)]
    """Longest input in tokens, special tokens included; the rest of a longer text is not read."""
    query_prefix: _Prefix
    """Put before every query, exactly as written; many models were trained with one."""
    document_prefix: _Prefix
    metric: Literal["inner_product"]
    files: Annotated[Mapping[_FileName, FilePin], Field(max_length=MAX_FILES), AfterValidator(MappingProxyType)] = (
        field(hash=False)
    )
    """By file name; empty for a model that is only code."""

    @property
    def identity(self) -> str:
        """`name@` and 16 hexadecimal digits over everything that shapes a vector."""
        shaping = {
            "revision": self.revision,
            "dimension": self.dimension,
            "max_tokens": self.max_tokens,
            "query_prefix": self.query_prefix,
            "document_prefix": self.document_prefix,
            "metric": self.metric,
            "files": {name: pin.sha256 for name, pin in self.files.items()},
        }
        canonical = json.dumps(shaping, sort_keys=True, separators=(",", ":"))
        return f"{self.name}@{hashlib.sha256(canonical.encode()).hexdigest()[:16]}"

    def to_toml(self) -> str:
        """What `parse_manifest` reads this manifest from."""
        plain = {name: getattr(self, name) for name in _PLAIN_FIELDS}
        # A JSON string or whole number is a TOML one.
        lines = [f"{name} = {json.dumps(value)}" for name, value in plain.items()]
        for name, pin in sorted(self.files.items()):
            lines += ["", f'[files."{name}"]', f'sha256 = "{pin.sha256}"', f"size = {pin.size}"]
        return "\n".join(lines) + "\n"

    def verify(self, files: Mapping[str, bytes]) -> None:
        """Accept exactly the pinned bytes, no file less and no file more.

        Raises `ModelFileMissingError` or `ModelFileMismatchError`, naming the first wrong file.
        """
        for name, pin in sorted(self.files.items()):
            if name not in files:
                raise ModelFileMissingError(
                    model=self.name, file=name, problem="the file is missing; install or copy the model again"
                )
            content = files[name]
            if len(content) != pin.size:
                raise ModelFileMismatchError(
                    model=self.name,
                    file=name,
                    problem=f"{len(content)} bytes where {pin.size} are pinned; install or copy the model again",
                )
            found = hashlib.sha256(content).hexdigest()
            if not hmac.compare_digest(found, pin.sha256):
                raise ModelFileMismatchError(
                    model=self.name,
                    file=name,
                    problem=f"sha256 is {found}, pinned is {pin.sha256}; install or copy the model again",
                )
        for name in sorted(files):
            if name not in self.files:
                raise ModelFileMismatchError(
                    model=self.name, file=name, problem="the manifest does not pin this file; remove it or pin it"
                )


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class VerifiedModel:
    """A manifest and exactly the bytes it pins. Making one verifies it, so holding one proves it.

    Raises what `ModelManifest.verify` raises.
    """

    manifest: ModelManifest
    files: Annotated[Mapping[str, bytes], AfterValidator(MappingProxyType)] = field(repr=False, hash=False)
    """By file name: a copy, so that nobody can change it after it was verified."""

    def __post_init__(self) -> None:
        self.manifest.verify(self.files)


_MANIFEST: Final = TypeAdapter(ModelManifest)
_PLAIN_FIELDS: Final = tuple(each.name for each in fields(ModelManifest) if each.name != "files")


def is_file_name(name: str) -> bool:
    """Whether a manifest can pin a file of this name."""
    return len(name) <= _MAX_FILE_NAME and re.fullmatch(_FILE_NAME, name) is not None


def parse_manifest(text: str, *, file: str) -> ModelManifest:
    """The manifest written in `text`, which is TOML; `file` is what errors call it.

    Raises `ManifestError` for the first wrong field.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ManifestError(file=file, field="-", problem=f"not TOML: {error}") from error
    try:
        return _MANIFEST.validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = ".".join(str(part) for part in first["loc"]) or "-"
        raise ManifestError(file=file, field=path, problem=first["msg"]) from error
