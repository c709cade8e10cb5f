"""`export`: an application's surfaces as the catalog file that a deploy ships. Real processes where it matters."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from surface.__main__ import EXPORT
from surface.adapters.application_object import load_registry
from surface.adapters.command_line import run
from surface.adapters.output_file import write_whole
from surface.export import export_catalog
from surface.registry import SurfaceRegistry
from tests.surface.export_samples import ran, write_application


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with the application in it, as the current one; imports from it are forgotten afterwards."""
    path = list(sys.path)
    with chdir(write_application(tmp_path)):
        yield tmp_path
    sys.path[:] = path
    sys.modules.pop("shop_agent", None)


def export(*arguments: str | Path) -> int:
    return run([EXPORT], "toolsurface", ["export", *map(str, arguments)])


def exported(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_installed_command_exports_the_surfaces_of_an_application(tmp_path: Path) -> None:
    write_application(tmp_path)
    toolsurface = Path(sys.executable).parent / "toolsurface"
    ended = subprocess.run(
        [toolsurface, "export", "shop_agent:make", "-o", "catalog.json", "--deploy", "1234abc", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(ended.stdout) == {
        "file": "catalog.json",
        "application": "shop",
        "tools": {"reader": 1, "writer": 2},
    }
    catalog = exported(tmp_path / "catalog.json")
    assert catalog["version"] == 1
    assert catalog["application"] == "shop"
    assert catalog["deploy"] == "1234abc"
    assert list(catalog["surfaces"]) == ["reader", "writer"]
    assert catalog["surfaces"]["reader"]["always_on"] == ["list_files"]
    assert [tool["name"] for tool in catalog["surfaces"]["writer"]["tools"]] == ["invoices_send", "list_files"]
    send, files = catalog["surfaces"]["writer"]["tools"]
    assert send["service"] == "invoices"
    assert send["annotations"] == {"read_only": False, "idempotent": True}
    assert files["description"] == "Lists the files of a folder, even in größere Ordner."
    assert files["input_schema"]["properties"] == {"folder": {"type": "string"}}
    assert "service" not in files


def test_without_json_a_person_is_told_on_standard_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export("shop_agent:make", "-o", "catalog.json") == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "exported shop to catalog.json: " in told.err
    assert "reader 1 tools" in told.err
    assert "writer 2 tools" in told.err


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_a_dash_is_standard_output(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert export("shop_agent:make", "-o", "catalog.json") == 0
    capsys.readouterr()
    assert export("shop_agent:make", "-o", name) == 0
    told = capsys.readouterr()
    assert told.out == (folder / "catalog.json").read_text(encoding="utf-8")
    assert told.err.startswith("exported shop to standard output: ")
    assert not (folder / "-").exists()
    assert export("shop_agent:make", "-o", name, "--json") == 2
    told = capsys.readouterr()
    assert (told.out, "-o -, --json: both are for standard output" in told.err) == ("", True)


def test_a_standard_output_that_takes_nothing_is_said_in_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [Path(sys.executable).parent / "toolsurface", "export", "shop_agent:make", "-o", "-"],
            cwd=write_application(tmp_path),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr.endswith("the output cannot be written: No space left on device\n")
    assert ended.stderr.count("\n") == 1


@pytest.mark.rule("CAT-3")
def test_the_same_application_gives_the_same_bytes(folder: Path) -> None:
    for name in ("a.json", "b.json"):
        assert export("shop_agent:make", "-o", name) == 0
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()


@pytest.mark.parametrize("reference", ["shop_agent:make", "shop_agent:inside.controller", "shop_agent:registry"])
def test_the_object_may_be_a_surface_a_registry_or_what_makes_one(folder: Path, reference: str) -> None:
    assert list(export_catalog(load_registry(reference))["surfaces"]) == ["reader", "writer"]
    assert isinstance(load_registry(reference), SurfaceRegistry)


BAD_REFERENCES = {
    "shop_agent": "needs the form MODULE:OBJECT",
    ":make": "needs the form MODULE:OBJECT",
    "shop_agent:": "needs the form MODULE:OBJECT",
    "no_such_module:make": "there is no module no_such_module",
    "shop_agent.deeper:make": "there is no module shop_agent.deeper",
    "shop_agent:nobody": "shop_agent has no nobody",
    "shop_agent:make.nobody": "shop_agent has no make.nobody",
    "shop_agent:not_one": "needs a DeferredAgentToolSurface",
}


@pytest.mark.parametrize(("reference", "message"), BAD_REFERENCES.items(), ids=BAD_REFERENCES)
def test_a_reference_that_leads_nowhere_is_wrong_use_and_says_which_part_is_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str], reference: str, message: str
) -> None:
    assert export(reference, "-o", "catalog.json") == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("toolsurface export: ")
    assert reference in told.err
    assert message in told.err
    assert not (folder / "catalog.json").exists()


def test_a_faulty_catalog_fails_and_lists_every_fault(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export("shop_agent:faulty", "-o", "catalog.json") == 1
    told = capsys.readouterr().err
    assert "application: needs 1-64 characters" in told
    assert "list_files: 2 tools have this name" in told
    assert "Traceback" not in told


def test_an_error_of_the_application_itself_is_not_hidden(tmp_path: Path) -> None:
    ended = ran("export", "shop_agent:fails", "-o", "catalog.json", folder=write_application(tmp_path))
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr
    assert "RuntimeError: the application's own" in ended.stderr


def test_a_module_that_the_application_itself_lacks_is_not_taken_for_a_bad_reference(tmp_path: Path) -> None:
    write_application(tmp_path, source="import no_such_dependency\n")
    ended = ran("export", "shop_agent:make", "-o", "catalog.json", folder=tmp_path)
    assert ended.returncode == 1
    assert "No module named 'no_such_dependency'" in ended.stderr
    assert "there is no module" not in ended.stderr


@pytest.mark.parametrize("output", ["missing/catalog.json", "folder", "shop_agent.py/catalog.json"])
def test_an_output_that_cannot_be_written_fails_without_a_trace(
    folder: Path, capsys: pytest.CaptureFixture[str], output: str
) -> None:
    (folder / "folder").mkdir()
    before = sorted(folder.iterdir())
    assert export("shop_agent:make", "-o", output) == 1
    told = capsys.readouterr().err
    assert f"{output}: cannot be written" in told
    assert "Traceback" not in told
    assert sorted(path for path in folder.iterdir() if path.name != "__pycache__") == before


@pytest.mark.parametrize(
    "arguments",
    [[], ["shop_agent:make"], ["-o", "catalog.json"], ["shop_agent:make", "-o"], ["shop_agent:make", "--out", "x"]],
    ids=" ".join,
)
def test_wrong_use_is_exit_code_2_and_says_how_it_is_used(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        export(*arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.endswith("; see toolsurface export --help\n")
    assert said.count("\n") == 1


def test_an_export_replaces_the_file_that_was_there_as_a_whole(folder: Path) -> None:
    old = folder / "catalog.json"
    old.write_text("the old one")
    with old.open() as reader:
        assert export("shop_agent:make", "-o", "catalog.json") == 0
        assert reader.read() == "the old one"
    assert exported(old)["application"] == "shop"


def test_a_file_that_was_there_stays_whole_when_the_export_fails(folder: Path) -> None:
    (folder / "catalog.json").write_text("the old one")
    assert export("shop_agent:faulty", "-o", "catalog.json") == 1
    assert (folder / "catalog.json").read_text() == "the old one"


def test_a_written_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    write_whole(tmp_path / "written", b"data")
    (tmp_path / "plain").write_bytes(b"data")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("written", "plain")}
    assert len(modes) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plain", "written"]


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(tmp_path / "pipe", b"data")
        assert os.read(reading, 100) == b"data"
    finally:
        os.close(reading)
    assert (tmp_path / "pipe").is_fifo()


def test_a_pipe_that_the_shell_has_opened_is_written_to() -> None:
    """As in ``-o >(gzip > catalog.json.gz)``: its path leads to no place in the file system."""
    reading, writing = os.pipe()
    try:
        write_whole(Path(f"/dev/fd/{writing}"), b"data")
        assert os.read(reading, 100) == b"data"
    finally:
        os.close(reading)
        os.close(writing)


def test_the_longest_file_name_can_be_written(tmp_path: Path) -> None:
    write_whole(tmp_path / ("n" * 255), b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["n" * 255]
