"""What is said where the extra that brings torch is not installed."""

from importlib.util import find_spec
from typing import Final

from models.errors import ModelError

__all__ = ["extra_needed", "lacking_of_extra"]

_BROUGHT: Final = ("sentence_transformers", "torch")
"""What no other extra brings; the hub's client comes with others too."""


def lacking_of_extra() -> str | None:
    """A module of the extra that is not installed, None where all are; found without importing any."""
    return next((name for name in _BROUGHT if find_spec(name) is None), None)


def extra_needed(asked: str, lacking: str | None, *, found: str = "") -> ModelError:
    """The error for `--model asked`, which needs the module `lacking`; `found` says first what it was taken for."""
    fix = "pip install 'toolsurface[sentence-transformers]'"
    return ModelError(f"--model {asked}: {found}needs {lacking}, which the extra brings: {fix}")
