"""Which model a command embeds with: the one in the package, or a folder that `--model` names."""

import argparse
from pathlib import Path

from models.adapters.local_files import packaged_models
from models.adapters.onnx import default_embedder, load_embedder
from models.embedder import Embedder
from models.errors import ModelError, ModelLoadError

__all__ = ["add_model", "chosen_embedder"]


def add_model(parser: argparse.ArgumentParser) -> None:
    """The argument `--model`."""
    parser.add_argument(
        "--model",
        metavar="NAME_OR_PATH",
        help="a model in the package, or a sentence-transformers folder; the same for deploy and serve"
        " (default: the package's own)",
    )


def chosen_embedder(model: str | None, *, threads: int | None) -> Embedder:
    """The model of that name or path. Raises `ModelError`, naming what was asked for and the fix."""
    if model is None:
        return default_embedder(threads=threads)
    if model in packaged_models():
        return load_embedder(model, threads=threads)
    folder = Path(model)
    if not folder.is_dir():
        known = ", ".join(packaged_models())
        raise ModelLoadError(f"--model {model}: neither in the package ({known}) nor a folder; download it first")
    try:
        from models.adapters.sentence_transformer import SentenceTransformerEmbedder  # noqa: PLC0415 - torch is an extra
    except ModuleNotFoundError as error:
        raise ModelError(
            f"--model {model}: needs {error.name}, which the extra brings: pip install"
            " 'toolsurface[sentence-transformers]'"
        ) from error
    return SentenceTransformerEmbedder(folder.resolve(), threads=threads or 1)
