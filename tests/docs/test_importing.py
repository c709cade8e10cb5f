"""The example of the page on importing runs as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT, example, page


def test_the_example_imports_a_file(tmp_path: Path) -> None:
    code = example(page("importing.md"))
    (tmp_path / "github.json").write_text(
        '{"tools": [{"name": "a b", "inputSchema": {"type": "object"}}, {"name": "c"}]}'
    )
    command = [sys.executable, "-W", "error", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("1 (Fault(where='github.json: tools[0] a b'")
