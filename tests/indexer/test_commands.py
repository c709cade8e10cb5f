"""`deploy` and `status` as a person or a script meets them."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from indexer.adapters.vector_cache import usual_place
from indexer.commands.deploy import DEPLOY
from indexer.commands.status import STATUS
from surface.adapters.command_line import run
from tests.indexer.samples import catalog_json, tool_json

MARKER = "zebra-crossing-7731"


def toolsurface(*argv: str | Path) -> int:
    return run((DEPLOY, STATUS), "toolsurface", [str(argument) for argument in argv])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    path = tmp_path / "catalog.json"
    path.write_bytes(catalog_json(tool_json("create_issue"), tool_json("list_files", description=MARKER)))
    return path


def output(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_deploy_says_what_it_did_and_again_that_nothing_changed(
    catalog: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert toolsurface("deploy", catalog, "--store", store) == 0
    first = capsys.readouterr()
    assert first.out.startswith("app, deploy d1\n  reader  2 tools  added")
    assert "is active; embedded 2 texts" in first.out
    assert toolsurface("deploy", catalog, "--store", store) == 0
    assert "unchanged: release" in capsys.readouterr().out
    assert toolsurface("status", "--store", store) == 0
    status = capsys.readouterr()
    assert status.out.startswith("app, deploy d1, release ")
    assert "reader  2 tools" in status.out
    assert MARKER not in first.out + first.err + status.out + status.err


def test_json_is_one_object_on_standard_output(catalog: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert toolsurface("deploy", catalog, "--store", store, "--json", "--threads", "1") == 0
    deployed = output(capsys)
    assert deployed["application"] == "app"
    assert deployed["previous"] is None
    assert not deployed["unchanged"]
    assert [(one["surface"], one["tools"], one["change"]) for one in deployed["surfaces"]] == [("reader", 2, "added")]
    assert toolsurface("status", "--store", store, "--json") == 0
    status = output(capsys)
    assert status["sound"]
    (application,) = status["applications"]
    assert application["release"] == deployed["release"]
    assert application["surfaces"][0]["version"] == deployed["surfaces"][0]["version"]


def test_tool_lines_need_a_name_for_their_application_and_surface(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tools.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"name": "a", "description": "Does it."}\n{"name": "b c", "description": ""}\n'))
    assert toolsurface("deploy", path, "--store", store) == 2
    assert "add --application A --surface S" in capsys.readouterr().err
    named = ("--application", "app", "--surface", "reader")
    assert toolsurface("deploy", path, "--store", store, *named) == 1
    assert "reader/b c: the name must match" in capsys.readouterr().err
    assert not store.exists()
    assert toolsurface("deploy", path, "--store", store, *named, "--skip-invalid") == 0
    told = capsys.readouterr()
    assert "left out 1 tool:\n  - reader/b c: the name must match" in told.err
    assert "1 tool left out" in told.out


def test_wrong_use_is_said_with_the_fix(catalog: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert toolsurface("deploy", catalog, "--store", store, "--surface", "reader") == 2
    assert toolsurface("deploy", catalog, "--store", store, "--no-cache", "--cache", "x") == 2
    assert toolsurface("deploy", catalog, "--store", store, "--rebuild", "--cache", "x") == 2
    assert toolsurface("status", "--store", store) == 2
    assert [line.split(": ")[1] for line in capsys.readouterr().err.splitlines()] == [
        "--application, --surface",
        "--no-cache, --cache",
        "--rebuild, --cache",
        "--store",
    ]
    with pytest.raises(SystemExit) as ended:
        toolsurface("deploy", catalog, "--store", store, "--threads", "0")
    assert ended.value.code == 2
    assert "--threads: needs a whole number from 1 to 256" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "told"), [(None, "No such file"), (b"\x1f\x8b\x08 torn", "damaged gzip"), (b"{", "not JSON")]
)
def test_a_file_that_is_no_catalog_is_said_in_one_message(
    tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str], data: bytes | None, told: str
) -> None:
    path = tmp_path / "catalog.json"
    if data is not None:
        path.write_bytes(data)
    assert toolsurface("deploy", path, "--store", store) == 1
    error = capsys.readouterr().err
    assert told in error
    assert "Traceback" not in error


def test_a_cache_that_is_something_else_ends_the_deploy_and_is_not_touched(
    catalog: Path, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    invoices = tmp_path / "invoices.db"
    invoices.write_bytes(b"who owes us money")
    assert toolsurface("deploy", catalog, "--store", store, "--cache", invoices, "--json") == 1
    told = capsys.readouterr()
    assert json.loads(told.out)["reason"] == "cache_file"
    assert f"--cache {invoices}: is no file of remembered vectors" in told.err
    assert invoices.read_bytes() == b"who owes us money"
    assert not store.exists()


def test_something_else_at_the_usual_place_of_the_cache_is_told_and_done_without(
    catalog: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = usual_place()
    assert place is not None
    place.parent.mkdir()
    place.write_bytes(b"notes")
    assert toolsurface("deploy", catalog, "--store", store) == 0
    assert "going on without it" in capsys.readouterr().err
    assert place.read_bytes() == b"notes"


def test_a_folder_is_no_cache(catalog: Path, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert toolsurface("deploy", catalog, "--store", store, "--cache", tmp_path) == 1
    assert f"--cache {tmp_path}: is a folder; name a file in it" in capsys.readouterr().err
    assert not store.exists()


def test_status_fails_for_an_application_of_which_nothing_is_active(
    catalog: Path, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toolsurface("deploy", catalog, "--store", store)
    assert toolsurface("status", "--store", store, "--application", "app") == 0
    (ledger,) = store.rglob("ledger.json")
    ledger.unlink()
    capsys.readouterr()
    assert toolsurface("status", "--store", store, "--application", "app") == 1
    assert capsys.readouterr().out.startswith("app: has no ledger, though something of it is here")
    assert toolsurface("status", "--store", store, "--application", "other") == 1
    assert capsys.readouterr().out == "other: has no active release\n"


def test_status_tells_what_is_damaged_and_fails(catalog: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toolsurface("deploy", catalog, "--store", store)
    (vectors,) = store.rglob("vectors.npy")
    vectors.write_bytes(b"")
    capsys.readouterr()
    assert toolsurface("status", "--store", store) == 1
    assert "! reader: version" in capsys.readouterr().out
    assert toolsurface("deploy", catalog, "--store", store) == 0
    assert "repaired" in capsys.readouterr().out
    (pointer,) = store.rglob("ledger.json")
    pointer.write_bytes(b"")
    assert toolsurface("status", "--store", store) == 1
    assert "app: " in capsys.readouterr().out
    assert toolsurface("deploy", catalog, "--store", store) == 1


def test_an_empty_store_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert toolsurface("status", "--store", tmp_path) == 0
    assert "nothing is active" in capsys.readouterr().out


def test_ctrl_c_exits_with_130_and_nothing_is_active(tmp_path: Path, store: Path) -> None:
    path = tmp_path / "catalog.json"
    path.write_bytes(catalog_json(*(tool_json(f"tool_{number}", description="Long. " * 40) for number in range(3000))))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-m", "indexer", "deploy", str(path), "--store", str(store)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "embedding: 3,000 to do\n" in iter(process.stderr.readline, "")
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130  # what is under way is kept first, which takes long beside busy neighbours
        assert process.stderr.read().endswith("interrupted\n")
    assert not list(store.rglob("ledger.json"))
