"""What is said where the extra that brings torch is not installed."""

from models.errors import ModelError

__all__ = ["extra_needed"]


def extra_needed(asked: object, error: ModuleNotFoundError) -> ModelError:
    """The error for `--model asked`, which needs the module that `error` names."""
    return ModelError(
        f"--model {asked}: needs {error.name}, which the extra brings: pip install 'toolsurface[sentence-transformers]'"
    )
