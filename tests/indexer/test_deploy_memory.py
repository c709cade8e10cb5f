"""A deploy has a bound for its memory: a ceiling on tools, and what each of them takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from indexer.catalog_file import read_catalog
from indexer.commands.deploy import DEPLOY
from indexer.deploy import deploy
from indexer.deploying import deploy_catalog
from indexer.memory_store import MemoryStore
from indexer.tool_lines import read_tool_lines
from surface.adapters.command_line import run
from surface.errors import CatalogError
from tests.indexer.samples import EMBEDDER, NOW, catalog, catalog_json, tool, tool_json

DIMENSION = 384
FOR_EACH_BYTE, FOR_EACH_TOOL = 6, 8 * DIMENSION + 5 * 1024
"""What the page on deploying says that a deploy takes, beside what the program itself takes."""
SAID = "six times the catalog's file, and for each tool 8 bytes a dimension of the model and 5 KB"
DEPLOYS = f"""
import sys
from pathlib import Path
from indexer.deploying import deploy_catalog
from models.hashing import HashingEmbedder
deploy_catalog(sys.argv[1], store=sys.argv[2], embedder=HashingEmbedder(dimension={DIMENSION}), remember=False)
status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
print(status["VmHWM"].split()[0])
"""
TOOLS = (500, 4_500)


def written(path: Path, tools: int, *, edition: str) -> Path:
    """A catalog of tools as real ones are: some 700 bytes each, most of it descriptions."""

    def one(number: int) -> dict[str, Any]:
        told = f"Number {number} of the {edition} edition lists, changes or removes what an account has of its kind."
        properties = {
            name: {"type": "string", "description": f"The {name} of what number {number} is about, as it is written."}
            for name in ("account", "region", "filter_by", "limit")
        }
        return tool_json(f"tool_{number}", description=told, input_schema={"type": "object", "properties": properties})

    path.write_bytes(catalog_json(*map(one, range(tools)), deploy=edition))
    return path


def peak(path: Path, store: Path) -> int:
    """The most memory that a deploy in a process of its own held, in bytes."""
    ended = subprocess.run(
        [sys.executable, "-P", "-c", DEPLOYS, path, store],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
        capture_output=True,
        text=True,
    )
    return int(ended.stdout) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says what a process held at most")
def test_memory_grows_by_no_more_than_the_page_says_for_each_tool_and_each_byte_of_the_catalog(memory: Path) -> None:
    peaks: dict[tuple[str, int], int] = {}
    sizes: dict[int, int] = {}
    for tools in TOOLS:
        for edition in ("first", "second"):  # the second one finds the first served, and can use nothing of it
            path = written(memory / "catalog.json", tools, edition=edition)
            sizes[tools] = path.stat().st_size
            peaks[edition, tools] = peak(path, memory / f"store-{tools}")
    few, many = TOOLS
    allowed = FOR_EACH_BYTE * (sizes[many] - sizes[few]) + FOR_EACH_TOOL * (many - few)
    assert {edition: peaks[edition, many] - peaks[edition, few] <= allowed for edition in ("first", "second")} == {
        "first": True,
        "second": True,
    }, (peaks, allowed)


def test_more_tools_than_the_ceiling_are_refused_before_anything_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, lines = tmp_path / "catalog.json", tmp_path / "tools.jsonl"
    path.write_bytes(catalog_json(tool_json("a"), tool_json("b")))
    lines.write_bytes(b"".join(json.dumps({"name": name, "description": "Does."}).encode() + b"\n" for name in "ab"))
    named = ("--application", "app", "--surface", "reader")
    for asked in ((path,), (lines, *named)):
        for ceiling, code in (("1", 1), ("2", 0)):
            store = ("--store", tmp_path / "store", "--no-cache", "--max-tools", ceiling)
            assert run((DEPLOY,), "toolsurface", ["deploy", *map(str, (*asked, *store))]) == code
            told = capsys.readouterr().err
            assert ("catalog: holds more than 1 tools" in told) == (code == 1)
            assert ("raise --max-tools (in Python max_tools=)" in told) == (code == 1)
    for given in (path, catalog(reader=[tool("a")], writer=[tool("b")])):  # of all surfaces together
        with pytest.raises(CatalogError, match="holds more than 1 tools"):
            deploy_catalog(given, store=MemoryStore(), embedder=EMBEDDER, remember=False, max_tools=1)


def test_what_is_beyond_the_ceiling_is_not_taken_apart() -> None:
    """Neither a tool that is none nor a broken line is told, for nobody looked at them."""
    with pytest.raises(CatalogError, match="holds more than 1 tools"):
        read_catalog(catalog_json(tool_json("a"), {"name": "no tool"}), max_tools=1)
    with pytest.raises(CatalogError, match="holds more than 1 tools"):
        read_tool_lines(b'{"name": "a"}\n{"name": "b"}\nbroken', application="app", surface="reader", max_tools=1)


def test_the_ceiling_that_nobody_names_is_the_one_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "deploying.md").read_text(encoding="utf-8")
    assert "and 250,000 tools in all its surfaces (`--max-tools`" in page
    assert SAID in " ".join(page.split())
    small = tool("a")
    one = catalog(reader=[small])
    surface = one.surfaces["reader"].model_copy(update={"tools": (small,) * 250_001})
    with pytest.raises(CatalogError, match="holds more than 250,000 tools"):
        deploy(
            one.model_copy(update={"surfaces": {"reader": surface}}),
            embedder=EMBEDDER,
            store=MemoryStore(),
            now=lambda: NOW,
        )
