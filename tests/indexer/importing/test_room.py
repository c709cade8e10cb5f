"""A small file cannot become a large catalog: what an import brings together has a ceiling, said in one error."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from indexer.commands import import_files
from indexer.commands.import_files import IMPORT
from indexer.importing import room
from surface.adapters.command_line import run
from surface.errors import CatalogError
from tests.indexer.importing.samples import imported, mcp_tool, openapi, operation, source

LARGE = {"type": "object", "description": "x" * 900_000, "properties": {}}
NAMED = ("--application", "shop", "--surface", "clerk")


def _body(schema: Any) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _by_schema(count: int) -> Any:
    """Each operation reaches the same large definition."""
    paths = {
        f"/{number}": {"post": operation(f"act_{number}", requestBody=_body({"allOf": [{"$ref": REF}]}))}
        for number in range(count)
    }
    return openapi(paths, components={"schemas": {"Large": LARGE}})


REF = "#/components/schemas/Large"


def _by_parameter(count: int) -> Any:
    """Each operation names the same parameter, whose large schema stands in it."""
    parameters = [{"$ref": "#/components/parameters/large"}]
    paths = {f"/{number}": {"get": operation(f"act_{number}", parameters=parameters)} for number in range(count)}
    return openapi(paths, components={"parameters": {"large": {"name": "a", "in": "query", "schema": LARGE}}})


def _by_path(count: int) -> Any:
    """Each path refers to the same one, which describes itself at length."""
    paths: dict[str, Any] = {"/0": {"get": {"description": "y" * 900_000, "responses": {}}}}
    paths |= {f"/{number}": {"$ref": "#/paths/~10"} for number in range(1, count)}
    return openapi(paths)


@pytest.mark.parametrize("hostile", [_by_schema, _by_parameter, _by_path])
def test_references_of_one_file_do_not_expand_without_end(hostile: Callable[[int], Any]) -> None:
    assert imported(hostile(5)).taken == 5
    with pytest.raises(
        CatalogError, match=r"^[^\n]*\n?[^\n]*tools\.json: .*134,217,728 bytes .*import less at a time$"
    ) as refused:
        imported(hostile(400))
    assert len(refused.value.faults) == 1


def test_the_ceiling_holds_for_all_files_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_IMPORTED_BYTES", 1_000)
    files = [source([mcp_tool(f"tool_{number}", description="z" * 300)], f"{number}.json") for number in range(5)]
    assert imported(*files[:2]).taken == 2
    with pytest.raises(CatalogError, match=r"2\.json: with it the import holds tools of more than 1,000 bytes"):
        imported(*files)


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ([mcp_tool(f"a{number}") for number in range(4)], "tools.json"),
        ([7, 7, 7, 7], "tools.json"),
        ({f"server-{number}": {"tools": [mcp_tool()]} for number in range(4)}, "tools.json"),
        ({"tools": [{"functionDeclarations": [{"name": f"a{number}"} for number in range(4)]}]}, "tools.json"),
        ({"tools": [{"type": "namespace", "name": "n", "tools": [7, 7, 7, 7]}]}, "tools.json"),
        (openapi({f"/{number}": 7 for number in range(4)}), "tools.json"),
    ],
)
def test_entries_are_counted_whatever_they_are_and_wherever_they_stand(
    monkeypatch: pytest.MonkeyPatch, document: Any, name: str
) -> None:
    monkeypatch.setattr(room, "MAX_ENTRIES", 3)
    with pytest.raises(CatalogError, match="more than 3 tools and entries that are none; import less at a time"):
        imported(document, format="mcp" if document == [7, 7, 7, 7] else None)


def test_a_file_of_endless_lines_is_refused_in_the_memory_of_its_size(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    path.write_bytes(b"7\n" * 3_000_000)
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from indexer.__main__ import COMMANDS\n"
        "from surface.adapters.command_line import run\n"
        "ended = run(COMMANDS, 'toolsurface', sys.argv[1:])\n"
        # What the kernel calls the peak of a process counts from before it was another program.
        "status = dict(line.split(':', 1) for line in Path('/proc/self/status').read_text().splitlines())\n"
        "print(ended, status['VmHWM'].split()[0])\n"
    )
    command = [
        sys.executable,
        "-c",
        code,
        "import",
        str(path),
        *NAMED,
        "--format",
        "plain",
        "-o",
        str(tmp_path / "out"),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    code_of, peak_kb = map(int, ended.stdout.split())
    assert code_of == 1
    assert "more than 250,000 tools and entries that are none" in ended.stderr
    assert peak_kb < 500_000


def test_files_are_read_up_to_what_they_may_weigh_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / f"{number}.json" for number in range(3)]
    for number, path in enumerate(paths):
        path.write_text(json.dumps([mcp_tool(f"tool_{number}")]))
    size = paths[0].stat().st_size
    out = tmp_path / "out.json"

    def ended() -> int:
        return run((IMPORT,), "toolsurface", ["import", *map(str, paths), *NAMED, "-o", str(out)])

    monkeypatch.setattr(import_files, "MAX_CATALOG_BYTES", 2 * size + 1)
    assert ended() == 1
    assert "2.json: with it the files are larger than" in capsys.readouterr().err
    monkeypatch.setattr(import_files, "MAX_CATALOG_BYTES", 3 * size)
    assert ended() == 1
    assert "out.json: would be larger than a deploy reads" in capsys.readouterr().err
    assert not out.exists()
