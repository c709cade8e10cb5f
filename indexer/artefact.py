"""The artefact: one immutable, content-addressed index version of one surface.

Rules kept here:

1. An artefact is a manifest and plain files: JSON and `.npy`, no pickle anywhere.
2. Its version is the digest of its manifest, and the manifest holds the sha256 of every file: two artefacts of the
   same version are the same bytes.
3. The counts in a manifest say how large each file is, to the byte where its elements have one size; a manifest that
   says otherwise is refused before any file is opened, so nothing is allocated for a size that cannot be.
4. Nothing parses a file before `verify` has compared every size and sha256 (`contents.py` parses).

Not done here: what the files mean (`contents.py`), where they are kept (`ports.ArtefactStore`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from indexer.calibration import Calibration
from indexer.errors import MENDED, ArtefactError
from indexer.stored_model import read_stored
from models.manifest import MAX_FILES
from surface.canonical import DIGEST_LENGTH, canonical_bytes, digest
from surface.protocol import Digest, Key

FORMAT: Literal[3] = 3
NAMES, DIGESTS, TEXTS, VECTORS = "names.json", "digests.json", "texts.json", "vectors.npy"
WORDS, STARTS, ROWS, IMPACTS = "words.json", "starts.npy", "rows.npy", "impacts.npy"
FILES = frozenset({NAMES, DIGESTS, TEXTS, VECTORS, WORDS, STARTS, ROWS, IMPACTS})
"""Every file of an artefact; a manifest that names another one is refused."""
MANIFEST = "manifest.json"
"""Where the manifest stands beside them."""
MAX_FILE_BYTES = 8 * 1024**3
MAX_ARTEFACT_BYTES = MAX_FILE_BYTES
"""Of all files together: vectors of 384 dimensions for four million tools."""
MAX_WORDS_BYTES = 1024**3
"""Words are as long as authors make them; those of a catalog weigh at most about twice what the catalog may."""
MAX_NAME_BYTES = 6 * 1024 + 3
"""A name of 1,024 characters as JSON, each escaped, with quotes and comma: evaluation sets hold odd ones."""
NPY_HEADER_BYTES = 128
MAX_MANIFEST_BYTES = 256 * 1024
"""Its longest part names the files of a model, at most 256 of them."""

Count = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
Sha256 = Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{64}$")]
ModelFile = Annotated[str, StringConstraints(strict=True, pattern=r"^[\x21-\x7e]{1,200}$")]
Line = Annotated[str, StringConstraints(strict=True, pattern=r"^[\x20-\x7e]{1,256}$")]


class FileEntry(BaseModel):
    """The exact bytes one file must have."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: Sha256
    size: Annotated[int, Field(strict=True, ge=0, le=MAX_FILE_BYTES)]
    """Bytes."""

    @staticmethod
    def of(data: bytes) -> FileEntry:
        """The entry that exactly these bytes satisfy."""
        return FileEntry(sha256=sha256(data).hexdigest(), size=len(data))


class IndexManifest(BaseModel):
    """What an index version is made of, and everything that decides how it ranks."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    format: Literal[3] = FORMAT
    application: Key
    surface: Key
    catalog_digest: Digest
    """The catalog it was built from (CAT-4)."""
    recipe: Line
    """How a tool became a text: `indexer.document.RECIPE`."""
    lexical_rule: Line
    """How words score: `surface.lexical.RULE_VERSION`."""
    model: Line
    """The identity of the embedding model; vectors of two models are never compared."""
    model_revision: Line
    """The publisher's version of the weights; `by digest` where nobody numbers them."""
    model_files: Annotated[Mapping[ModelFile, Sha256], Field(max_length=MAX_FILES), AfterValidator(MappingProxyType)]
    """The sha256 of every file that shapes a vector, by its name in the model's folder; none for a model of code."""
    dimension: Annotated[int, Field(strict=True, ge=1, le=65_536)]
    tools: Count
    words: Count
    """Distinct words of the lexical arrays."""
    postings: Count
    """(word, tool) pairs of the lexical arrays."""
    calibration: Calibration
    """How requests score that have nothing to do with the catalog."""
    files: Annotated[Mapping[str, FileEntry], AfterValidator(MappingProxyType)]

    @property
    def version(self) -> str:
        """The content address: 32 hexadecimal digits."""
        return digest(self.to_plain())

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.size for entry in self.files.values())

    def to_bytes(self) -> bytes:
        """The canonical JSON of this manifest."""
        return canonical_bytes(self.to_plain())

    def to_plain(self) -> dict[str, object]:
        """This manifest as a JSON object."""
        # By hand where pydantic would not know the read-only mappings.
        # An optional block that is absent leaves no trace: versions from before there was one keep their addresses.
        plain = self.model_dump(mode="json", exclude={"files", "model_files"}, exclude_none=True)
        return plain | {
            "files": {name: entry.model_dump() for name, entry in self.files.items()},
            "model_files": dict(self.model_files),
        }


def read_manifest(data: bytes) -> IndexManifest:
    """The manifest that `data` holds; raises `ArtefactError`, and nothing else, naming the field."""
    if len(data) > MAX_MANIFEST_BYTES:
        raise ArtefactError(f"manifest.json: is larger than {MAX_MANIFEST_BYTES} bytes")
    manifest = read_stored(IndexManifest, data, what="manifest.json", format=FORMAT)
    if manifest.files.keys() != FILES:
        raise ArtefactError(f"manifest.json: files: must be exactly {', '.join(sorted(FILES))}")
    for name, (least, most) in _sizes(manifest).items():
        if not least <= manifest.files[name].size <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise ArtefactError(f"manifest.json: files.{name}.size: its counts ask for {wanted} bytes")
    if manifest.size > MAX_ARTEFACT_BYTES:
        raise ArtefactError(f"manifest.json: files: are larger than {MAX_ARTEFACT_BYTES} bytes together")
    return manifest


def _sizes(manifest: IndexManifest) -> Mapping[str, tuple[int, int]]:
    """How small and how large each file can be, from the counts: known before a byte of it is read."""
    tools, words, postings = manifest.tools, manifest.words, manifest.postings

    def array(count: int, width: int) -> tuple[int, int]:
        return (NPY_HEADER_BYTES + count * width,) * 2

    digests = (2, 2) if not tools else (1 + tools * (DIGEST_LENGTH + 3),) * 2
    return {
        NAMES: (2 + 2 * tools, 2 + MAX_NAME_BYTES * tools),
        DIGESTS: digests,
        TEXTS: digests,
        VECTORS: array(tools * manifest.dimension, 4),
        WORDS: (2 + 2 * words, 2 + (MAX_WORDS_BYTES if words else 0)),
        STARTS: array(words + 1, 8),
        ROWS: array(postings, 4),
        IMPACTS: array(postings, 8),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """One index version: its manifest and the bytes of its files."""

    manifest: IndexManifest
    files: Mapping[str, bytes]
    _verified: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", MappingProxyType(dict(self.files)))

    @property
    def version(self) -> str:
        """The content address: 32 hexadecimal digits."""
        return self.manifest.version

    def verify(self) -> None:
        """Compares every file with the manifest; raises `ArtefactError` naming the first one that differs.

        Neither can change, so what was found sound once is not compared again.
        """
        if self._verified:
            return
        if self.manifest.files.keys() != FILES or self.files.keys() != FILES:
            raise ArtefactError(f"version {self.version}: must have exactly the files {', '.join(sorted(FILES))}")
        for name, entry in sorted(self.manifest.files.items()):
            data = self.files[name]
            if len(data) != entry.size:
                raise ArtefactError(
                    f"version {self.version}: {name} has {len(data)} bytes where its manifest says {entry.size}; "
                    f"{MENDED}"
                )
            if sha256(data).hexdigest() != entry.sha256:
                raise ArtefactError(
                    f"version {self.version}: {name} is damaged (its sha256 is not the manifest's); {MENDED}"
                )
        object.__setattr__(self, "_verified", True)


def read_artefact(
    written: bytes,
    read: Callable[[str, int], bytes | None],
    *,
    application: str,
    surface: str,
    version: str,
    where: str,
) -> Artefact:
    """The artefact whose manifest is `written`; `read` gives a file by its name, no larger than a ceiling in bytes.

    Raises `ArtefactError` that begins with `where`, or names the version, where a file is missing or damaged, or it is
    another version than was asked for.
    """
    try:
        manifest = read_manifest(written)
    except ArtefactError as error:
        raise ArtefactError(f"{where}: surface {surface} of application {application}: {error}; {MENDED}") from None
    if (manifest.application, manifest.surface, manifest.version) != (application, surface, version):
        raise ArtefactError(f"{where}: holds another version than its place says; {MENDED}")
    if manifest.to_bytes() != written:  # the same in other bytes, as 1E-05 is 1e-05
        raise ArtefactError(f"{where}: {MANIFEST} is damaged (it says the same in other bytes); {MENDED}")
    files: dict[str, bytes] = {}
    for name, entry in manifest.files.items():
        data = read(name, entry.size)
        if data is None:
            raise ArtefactError(f"{where}: {name} is missing; {MENDED}")
        files[name] = data
    artefact = Artefact(manifest=manifest, files=files)
    artefact.verify()
    return artefact
