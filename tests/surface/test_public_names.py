"""What `import surface` brings, and what it costs somebody else's process. The names: `test_exported_members`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import surface

REPOSITORY = Path(__file__).parents[2]
HEAVY = (
    "numpy faiss onnxruntime tokenizers torch fastapi starlette uvicorn redis httpx2 httpx rich jsonschema anthropic"
    " openai opentelemetry botocore indexer selector models"
).split()


def imported_by(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after a statement."""
    code = (
        f"import sys\n{statement}\nimport json\nprint(json.dumps(sorted({{n.partition('.')[0] for n in sys.modules}})))"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    names: list[str] = json.loads(ended.stdout)
    return set(names)


def test_a_star_import_brings_exactly_the_public_names() -> None:
    brought: dict[str, object] = {}
    exec("from surface import *", brought)  # noqa: S102 - a star import is only allowed at the top of a module
    assert set(brought) - {"__builtins__"} == set(surface.__all__)


def test_every_public_object_says_what_it_is() -> None:
    undocumented = [
        name
        for name in surface.__all__
        if not name.startswith("_") and not (getattr(surface, name).__doc__ or "").strip()
    ]
    assert undocumented == []


def test_importing_the_surface_loads_nothing_heavy() -> None:
    assert imported_by("import surface").isdisjoint(HEAVY)


def test_the_anthropic_dialect_needs_no_sdk() -> None:
    assert imported_by("import surface.adapters.anthropic_messages").isdisjoint(HEAVY)


def test_the_command_line_loads_no_part_that_is_not_asked_for() -> None:
    assert imported_by("import surface.adapters.command_line").isdisjoint(HEAVY)
