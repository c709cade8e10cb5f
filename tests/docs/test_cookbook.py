"""The cookbook's blocks run, in order, as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_blocks_of_the_cookbook_run_in_order() -> None:
    page = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL))
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
