"""Which model a command embeds with: one in the package, a folder, or one of a hub, as `--model` names it."""

from pathlib import Path

from models.adapters.extra import extra_needed, lacking_of_extra
from models.adapters.hub_cache import find_on_disk, hub_name
from models.adapters.local_files import packaged_models
from models.adapters.model_folder import pins_of
from models.adapters.onnx import default_embedder, load_embedder
from models.embedder import Embedder
from models.errors import ModelLoadError

__all__ = ["chosen_embedder"]


def chosen_embedder(model: str | None, *, threads: int | None, download: bool = False) -> Embedder:
    """The model of that name or path; `download` lets a hub's model be fetched.

    Raises `ModelError`, naming what was asked for and the fix.
    """
    # No name is what a variable gives that is not set, and not the folder that this runs in.
    local = model is None or model in packaged_models() or _is_folder(model)
    if download and local:
        raise ModelLoadError("--model-download: needs --model ORG/NAME@COMMIT; leave it out for what is on this disk")
    if model is None:
        return default_embedder(threads=threads)
    if model in packaged_models():
        return load_embedder(model, threads=threads)
    if local:
        return _from_folder(model, Path(model).resolve(), threads=threads)
    wanted = hub_name(model)
    if wanted is None:
        known = ", ".join(packaged_models())
        raise ModelLoadError(
            f"--model {model}: neither in the package ({known}) nor a folder, nor a name that a hub could have"
        )
    lacking = lacking_of_extra()
    if lacking is not None:  # before a model is looked for that could not be loaded
        taken_for = f"none of the package ({', '.join(packaged_models())}) and no folder; a hub's model "
        raise extra_needed(model, lacking, found=taken_for)
    found = find_on_disk(wanted, download=download)
    return _from_folder(model, found.folder, threads=threads, name=found.name, revision=found.revision)


def _is_folder(model: str) -> bool:
    try:
        return model != "" and Path(model).is_dir()
    except OSError as error:
        raise ModelLoadError(f"--model {model}: cannot be looked at ({error.strerror})") from error


def _from_folder(asked: str, folder: Path, *, threads: int | None, **known: str) -> Embedder:
    try:
        from models.adapters.sentence_transformer import SentenceTransformerEmbedder  # noqa: PLC0415 - torch is an extra
    except ModuleNotFoundError as error:
        pins_of(folder)  # whoever names a folder that is no model's has nothing to install
        raise extra_needed(asked, error.name) from error
    return SentenceTransformerEmbedder(folder, threads=threads or 1, **known)
