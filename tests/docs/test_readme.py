"""The README's example runs as it stands, with the real Anthropic SDK against a server on loopback.

What is tested is that the lines a newcomer copies work against the SDK as installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.scripted_api import ScriptedApi, scripted_api

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

TURNS: list[list[dict[str, Any]]] = [
    [{"type": "tool_use", "id": "call-1", "name": "search_tools", "input": {"query": "overdue invoices"}}],
    [{"type": "tool_use", "id": "call-2", "name": "overdue_invoices", "input": {"days": 10}}],
    [{"type": "text", "text": "Ada and Grace owe us money."}],
]


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    with scripted_api(TURNS) as server:
        yield server


def example() -> str:
    (code,) = re.findall(r"```python\n(import asyncio\n.*?)```", README, flags=re.DOTALL)
    assert isinstance(code, str)
    return code


def test_the_example_of_the_first_screen_runs_as_it_stands(api: ScriptedApi) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", example()],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
        env=api.environment,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "Ada and Grace owe us money."
    advertised = [[tool["name"] for tool in request["tools"]] for request in api.requests]
    receipt = json.loads(api.requests[1]["messages"][-1]["content"][0]["content"][0]["text"])
    assert f'"digests": ["{receipt["digests"][0]}"]' in README
    assert advertised == [["search_tools"], ["search_tools", "overdue_invoices"], ["search_tools", "overdue_invoices"]]
    result = api.requests[2]["messages"][-1]["content"][0]["content"][0]["text"]
    assert json.loads(result) == ["Ada", "Grace"]


def test_the_example_is_short_and_stands_on_the_first_screen() -> None:
    first_screen = README.split("## How it works")[0]
    assert example() in first_screen
    assert len([line for line in example().splitlines() if line.strip()]) <= 32


def test_every_link_of_the_documentation_leads_to_a_file() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_every_test_that_the_documentation_names_exists() -> None:
    known = {
        name
        for folder in ("tests", "surface/testing")
        for file in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"def (test_\w+)", file.read_text(encoding="utf-8"))
    }
    for page in (ROOT / "docs").rglob("*.md"):
        named = set(re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8")))
        assert named <= known, f"{page.name} names {sorted(named - known)}"


def test_every_command_of_the_readme_exists() -> None:
    listed = subprocess.run(
        [str(Path(sys.executable).parent / "toolsurface"), "--help"], capture_output=True, text=True, check=True
    ).stdout
    for command in set(re.findall(r"^toolsurface +(\w+)", README, flags=re.MULTILINE)):
        assert f"    {command}" in listed
