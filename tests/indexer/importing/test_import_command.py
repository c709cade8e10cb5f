"""`import` as a person or a script meets it."""

from __future__ import annotations

import gzip
import json
from io import BufferedReader, BytesIO, TextIOWrapper, UnsupportedOperation
from pathlib import Path
from typing import Any

import pytest

from indexer.commands.deploy import DEPLOY
from indexer.commands.import_files import IMPORT
from surface.adapters.command_line import run
from tests.indexer.importing.samples import mcp_tool, openapi, operation

MARKER = "zebra-crossing-7731"
NAMED = ("--application", "shop", "--surface", "clerk")


def toolsurface(*argv: str | Path) -> int:
    return run((IMPORT, DEPLOY), "toolsurface", [str(argument) for argument in argv])


@pytest.fixture
def mcp(tmp_path: Path) -> Path:
    path = tmp_path / "github.json"
    path.write_text(json.dumps({"tools": [mcp_tool(description=MARKER), mcp_tool("bad name", description=MARKER)]}))
    return path


def test_files_become_a_catalog_that_deploys(mcp: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    api = tmp_path / "api.yaml.gz"
    api.write_bytes(gzip.compress(json.dumps(openapi({"/": {"get": operation("act")}})).encode()))
    out = tmp_path / "catalog.json"
    assert toolsurface("import", f"hub={mcp}", api, *NAMED, "-o", out, "--deploy", "d1") == 0
    told = capsys.readouterr()
    *counts, heading, refused, done = told.out.splitlines()
    assert counts == ["github.json (mcp): 1 tool, 1 refused", "api.yaml.gz (openapi): 1 tool"]
    assert heading == "refused:"
    assert refused.startswith("  - github.json: tools[1] bad name: the name must match")
    assert refused.endswith("; rename the tool, or say --rename")
    assert done == f"wrote shop to {out}: clerk 2 tools"
    assert MARKER not in told.out + told.err
    tools = json.loads(out.read_bytes())["surfaces"]["clerk"]["tools"]
    assert [(tool["name"], tool.get("service")) for tool in tools] == [("act", None), ("search", "hub")]
    assert toolsurface("deploy", out, "--store", tmp_path / "store") == 0


@pytest.mark.parametrize("name", ["", "größe", "d" * 129])
def test_a_deploy_that_cannot_be_called_so_is_one_fault(
    mcp: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    out = tmp_path / "catalog.json"
    assert toolsurface("import", mcp, *NAMED, "-o", out, "--deploy", name) == 1
    assert "  - deploy: needs 1-128 characters of printable ASCII" in capsys.readouterr().err
    assert not out.exists()


def test_an_output_that_the_system_cannot_name_is_one_line(
    mcp: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to("circle")
    for out, told in (
        (tmp_path / ("a" * 300), "File name too long"),
        (circle, "Too many levels of symbolic links"),
    ):
        assert toolsurface("import", mcp, *NAMED, "-o", out) == 1
        said = capsys.readouterr().err
        assert said.startswith("toolsurface import: ")
        assert told in said
        assert said.count("\n") == 1
    assert circle.is_symlink()
    long = "x=" + "a" * 300
    assert toolsurface("import", long, *NAMED, "-o", tmp_path / "out.json") == 1
    assert "File name too long" in capsys.readouterr().err


def test_the_same_import_writes_the_same_bytes(mcp: Path, tmp_path: Path) -> None:
    outs = [tmp_path / name for name in ("a.json", "b.json")]
    for out in outs:
        assert toolsurface("import", mcp, *NAMED, "--rename", "-o", out) == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_json_is_one_object_on_standard_output(mcp: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "catalog.json"
    assert toolsurface("import", mcp, *NAMED, "-o", out, "--json", "--rename") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["file"] == str(out)
    assert told["files"] == [{"file": "github.json", "format": "mcp", "taken": 2, "refused": 0}]
    assert told["renamed"] == [{"where": "github.json: tools[1] bad name", "old": "bad name", "new": "bad_name"}]
    assert (told["taken"], told["refused_tools"], told["refused"]) == (2, 0, [])


def test_strict_writes_nothing_where_a_tool_is_refused(
    mcp: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "catalog.json"
    out.write_text("the old one")
    assert toolsurface("import", mcp, *NAMED, "-o", out, "--strict") == 1
    told = capsys.readouterr()
    assert "nothing was written" in told.out
    assert "--strict, and tools were refused" in told.err
    assert out.read_text() == "the old one"


def test_an_import_that_takes_nothing_fails_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([mcp_tool("a b"), mcp_tool("c d")]))
    assert toolsurface("import", path, *NAMED, "-o", tmp_path / "catalog.json") == 1
    told = capsys.readouterr()
    assert told.out.count("the name must match") == 2
    assert "no tool could be taken" in told.err
    assert not (tmp_path / "catalog.json").exists()


def test_an_equals_sign_in_a_files_own_name_is_no_namespace(
    mcp: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "a=b.json"
    odd.write_bytes(mcp.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert toolsurface("import", "a=b.json", *NAMED, "-o", "catalog.json") == 0
    assert "service" not in json.loads(Path("catalog.json").read_bytes())["surfaces"]["clerk"]["tools"][0]


@pytest.mark.parametrize(
    ("data", "told"), [(None, "No such file"), (b"\x1f\x8b\x08 torn", "damaged gzip"), (b"{", "not JSON at line 1")]
)
def test_a_file_that_cannot_be_read_is_said_in_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: Any, told: str
) -> None:
    path = tmp_path / "tools.json"
    if data is not None:
        path.write_bytes(data)
    assert toolsurface("import", path, *NAMED, "-o", tmp_path / "catalog.json") == 1
    error = capsys.readouterr().err
    assert told in error
    assert "Traceback" not in error


def test_what_cannot_be_written_is_said(mcp: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert toolsurface("import", mcp, *NAMED, "-o", tmp_path / "none" / "catalog.json") == 1
    assert "cannot be written (No such file or directory)" in capsys.readouterr().err


@pytest.mark.parametrize(("service", "told"), [("a b", "'a b'"), ("a=b", "a=b"), ("", "''")])
def test_a_service_that_cannot_have_its_name_is_said(
    mcp: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], service: str, told: str
) -> None:
    where = ("--application", "shop", "--surface", "clerk", "-o", tmp_path / "catalog.json")
    assert toolsurface("import", f"{service}={mcp}", *where) == 2
    error = capsys.readouterr().err
    assert "SERVICE=FILE: the service " in error
    assert "needs 1-64 of A-Z a-z 0-9 _ . -" in error
    assert told.strip("'") in error


def test_an_import_does_not_write_over_what_it_reads(
    mcp: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = mcp.read_bytes()
    (tmp_path / "link").symlink_to(mcp)
    for output in (mcp, tmp_path / "link"):
        assert toolsurface("import", mcp, "--application", "shop", "--surface", "clerk", "-o", output) == 2
        assert "is one of the files to import" in capsys.readouterr().err
    assert mcp.read_bytes() == before


def test_a_dash_is_standard_output_and_the_report_goes_beside_it(
    mcp: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert toolsurface("import", mcp, *NAMED, "-o", tmp_path / "catalog.json") == 0
    report = capsys.readouterr().out
    assert toolsurface("import", mcp, *NAMED, "-o", "-") == 0
    told = capsys.readouterr()
    assert told.out == (tmp_path / "catalog.json").read_text()
    assert told.err == report.replace(str(tmp_path / "catalog.json"), "standard output")
    assert not (tmp_path / "-").exists()


def test_standard_output_that_is_taken_is_not_for_a_second_result(
    mcp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert toolsurface("import", mcp, *NAMED, "-o", "-", "--json") == 2
    told = capsys.readouterr()
    assert (told.out, "-o -, --json: both are for standard output" in told.err) == ("", True)


def test_where_nothing_is_written_standard_output_stays_empty(mcp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert toolsurface("import", mcp, *NAMED, "-o", "-", "--strict") == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "nothing was written" in told.err


@pytest.mark.parametrize("packed", [False, True])
def test_a_dash_is_standard_input_from_one_command_to_the_next(
    mcp: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, packed: bool
) -> None:
    def piped(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BufferedReader(Piped(gzip.compress(data) if packed else data))))

    piped(mcp.read_bytes())
    assert toolsurface("import", "hub=-", *NAMED, "-o", "-") == 0
    told = capsys.readouterr()
    assert told.err.startswith("standard input (mcp): 1 tool, 1 refused\n")
    piped(told.out.encode())
    assert toolsurface("deploy", "-", "--store", tmp_path / "store", "--json", "--no-cache") == 0
    assert json.loads(capsys.readouterr().out)["surfaces"][0]["tools"] == 1
    piped(json.dumps({"name": "a", "description": "A."}).encode() + b"\n")
    assert toolsurface("deploy", "-", *NAMED, "--store", tmp_path / "store", "--json", "--no-cache") == 0
    assert json.loads(capsys.readouterr().out)["embedded"] == 1


class Piped(BytesIO):
    """What goes by once."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise UnsupportedOperation


def test_standard_input_is_read_once(mcp: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert toolsurface("import", "a=-", "b=-", *NAMED, "-o", tmp_path / "catalog.json") == 2
    assert "FILE -: standard input can be read once" in capsys.readouterr().err
