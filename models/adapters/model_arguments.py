"""The arguments by which a command is told its model, the same for every command that embeds."""

import argparse

__all__ = ["add_model"]


def add_model(parser: argparse.ArgumentParser) -> None:
    """The arguments `--model` and `--model-download`, which `choice.chosen_embedder` takes."""
    parser.add_argument(
        "--model",
        metavar="NAME_OR_PATH",
        help="a model in the package, a sentence-transformers folder, or ORG/NAME[@REVISION] in the local hub cache;"
        " the same for deploy and serve (default: the package's own)",
    )
    parser.add_argument(
        "--model-download", action="store_true", help="fetch --model ORG/NAME@COMMIT first, where it is not there yet"
    )
