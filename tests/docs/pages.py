"""The pages of the documentation, and their examples as programs of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.docs.scripted_api import ScriptedApi

ROOT = Path(__file__).parents[2]


def page(name: str) -> str:
    """What stands on a page."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def example(text: str) -> str:
    """The one block of Python of a page."""
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert isinstance(code, str)
    return code


def printed_by(code: str, api: ScriptedApi, *options: str) -> str:
    """What a program prints that asks this server; `options` are the interpreter's."""
    ran = subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=False,
        env=api.environment,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()
