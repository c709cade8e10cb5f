"""What can go wrong with an embedding model.

    ModelError
    ├── ManifestError       a manifest breaks its own rules; names the field and the file
    ├── ModelFileError      the bytes of a model are not the pinned ones; names the file
    │   ├── ModelFileMissingError
    │   └── ModelFileMismatchError
    ├── ModelLoadError      the bytes are the pinned ones, and the engine cannot serve them
    ├── InvalidTextsError        the caller's texts are not a sequence of strings; also a TypeError
    └── EmbeddingError      the engine failed on a request

Rules kept here:

1. Each message names what is wrong and what mends it.
2. No message ever holds a text that was to be embedded: those are user data, and errors reach logs.

Not here: catching. Adapters turn the errors of their engine into these.
"""

__all__ = [
    "EmbeddingError",
    "InvalidTextsError",
    "ManifestError",
    "ModelError",
    "ModelFileError",
    "ModelFileMismatchError",
    "ModelFileMissingError",
    "ModelLoadError",
]


class ModelError(Exception):
    """Whatever goes wrong in `models`."""


class ManifestError(ModelError):
    """A model manifest cannot be used."""

    def __init__(self, *, file: str, field: str, problem: str) -> None:
        super().__init__(f"model manifest {file}: {field}: {problem}")
        self.file = file
        """Where the manifest came from, as its reader called it."""
        self.field = field
        """The path of the wrong field, such as `files.model.onnx.sha256`; `-` for the whole file."""
        self.problem = problem
        """What is wrong with it."""


class ModelFileError(ModelError):
    """A file of a model is not the one its manifest pins."""

    def __init__(self, *, model: str, file: str, problem: str) -> None:
        super().__init__(f"model {model}: {file}: {problem}")
        self.model = model
        """The manifest's name of the model."""
        self.file = file
        """The file's name inside the model's folder."""


class ModelFileMissingError(ModelFileError):
    """A pinned file is not there."""


class ModelFileMismatchError(ModelFileError):
    """A file is there with other bytes than the pinned ones, or was never pinned."""


class ModelLoadError(ModelError):
    """A verified model cannot be served by this engine."""


class InvalidTextsError(ModelError, TypeError):
    """The texts to embed are not a sequence of strings: a mistake of the calling code."""


class EmbeddingError(ModelError):
    """The engine failed while embedding. Trying the same texts again gives the same."""
