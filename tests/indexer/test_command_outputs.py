"""What commands write where the output takes nothing or not every character, and where names are hostile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from indexer.adapters.directory_store import DirectoryStore
from indexer.artefact import Artefact, FileEntry
from indexer.commands.inspect import INSPECT
from indexer.contents import read_contents, write_contents
from indexer.deploying import deploy_catalog
from selector.commands import rank as rank_command
from surface.adapters.command_line import run
from tests.indexer.samples import EMBEDDER, NOW, catalog_json, release, tool_json

ODD = "b\udcffad"
"""As Python spells the name of a file with a byte that is no UTF-8."""
HOSTILE = "\x1b[2J\x1b[31mPWNED\ninjected line"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog, a store that serves it under two names, and files to import."""
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "d1.json").write_bytes(catalog_json(tool_json("a"), tool_json("b")))
    for store in ("store", ODD):
        deploy_catalog(folder / "d1.json", store=folder / store, embedder=EMBEDDER, remember=False)
    tool = {"name": "list größe", "description": "Lists."}
    for file in ("tools.jsonl", f"{ODD}.jsonl"):
        (folder / file).write_text(json.dumps(tool) + "\n", encoding="utf-8")
    return folder


def ended(
    folder: Path, *argv: str, output: Path | None = None, errors: Path | None = None, how: Mapping[str, str] = {}
) -> tuple[int, bytes, bytes]:
    """The code, the result and the words of a command in a process of its own; to a file where one is given."""
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    said = output.open("wb") if output is not None else None
    told = errors.open("wb") if errors is not None else None
    process = subprocess.run(
        [sys.executable, "-P", "-m", "indexer", *argv],
        cwd=folder,
        env={**os.environ, **path, **how},
        stdout=said or subprocess.PIPE,
        stderr=told or subprocess.PIPE,
        check=False,
        timeout=120,
    )
    for file in (said, told):
        if file is not None:
            file.close()
    return process.returncode, process.stdout or b"", process.stderr or b""


IMPORT = ("import", "tools.jsonl", "--rename", "--application", "app", "--surface", "reader", "-o", "out.json")


@pytest.mark.parametrize("how", [{"PYTHONUNBUFFERED": "1"}, {"PYTHONUNBUFFERED": ""}], ids=["unbuffered", "buffered"])
@pytest.mark.parametrize(
    "argv",
    [
        ("status", "--store", "store"),
        ("status", "--store", "store", "--json"),
        ("inspect", "--store", "store"),
        ("watch", "--store", "store", "--timeout", "0"),
        IMPORT,
        ("--help",),
    ],
    ids=" ".join,
)
def test_an_output_that_takes_nothing_is_said_in_one_line(
    folder: Path, argv: tuple[str, ...], how: Mapping[str, str]
) -> None:
    code, _, words = ended(folder, *argv, output=Path("/dev/full"), how=how)
    command = f" {argv[0]}" if argv != ("--help",) else ""
    told = f"python -m indexer{command}: the output cannot be written: No space left on device\n"
    assert (code, words.decode()) == (1, told)


@pytest.mark.parametrize("how", [{"PYTHONUNBUFFERED": "1"}, {"PYTHONUNBUFFERED": ""}], ids=["unbuffered", "buffered"])
def test_words_that_nobody_takes_leave_the_exit_code(folder: Path, how: Mapping[str, str]) -> None:
    assert ended(folder, "status", "--store", "nowhere", errors=Path("/dev/full"), how=how)[0] == 2


def test_an_unchanged_deploy_that_cannot_say_so_fails_in_one_line(folder: Path) -> None:
    program = (
        "import sys\n"
        "from indexer.commands import deploy\n"
        "from surface.adapters.command_line import run\n"
        "from tests.indexer.samples import EMBEDDER\n"
        "deploy.chosen_embedder = lambda *_, **__: EMBEDDER\n"
        "sys.exit(run((deploy.DEPLOY,), 'toolsurface'))\n"
    )
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUNBUFFERED": "1"}
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            [sys.executable, "-P", "-c", program, "deploy", "d1.json", "--store", "store", "--no-cache"],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
            timeout=120,
        )
    assert process.returncode == 1
    assert process.stderr == "toolsurface deploy: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("encoding", ["ascii", "ascii:strict", "utf-8:strict", "utf-8:surrogateescape"])
@pytest.mark.parametrize("as_json", [True, False], ids=["json", "lines"])
@pytest.mark.parametrize(
    "argv",
    [IMPORT, ("import", f"{ODD}.jsonl", *IMPORT[2:]), ("status", "--store", ODD), ("status", "--store", f"{ODD}2")],
    ids=ascii,
)
def test_what_an_output_cannot_encode_is_written_in_other_characters(
    folder: Path, argv: tuple[str, ...], encoding: str, *, as_json: bool
) -> None:
    code, result, words = ended(folder, *argv, *(["--json"] if as_json else []), how={"PYTHONIOENCODING": encoding})
    assert (code, b"Traceback" in words) == (2 if argv[-1] == f"{ODD}2" else 0, False)
    for said in (result, words):
        assert said.decode("ascii" if as_json and said is result else encoding.partition(":")[0]) is not None
    if as_json and code == 0:
        read = json.loads(result)
        assert "größe" in read["renamed"][0]["where"] if argv[0] == "import" else read["sound"]


@pytest.fixture(scope="module")
def hostile(folder: Path) -> Path:
    """A store in which somebody has written a tool whose name moves the cursor and ends the line."""
    store = DirectoryStore(folder / "store")
    active = store.active("app")
    assert active is not None
    made = store.load("app", "reader", active.surfaces["reader"].version)
    contents = replace(read_contents(made), names=tuple(sorted([HOSTILE, "b"])))
    files = write_contents(contents)
    manifest = made.manifest.model_copy(update={"files": {name: FileEntry.of(data) for name, data in files.items()}})
    one = Artefact(manifest=manifest, files=files)
    place = folder / "hostile"
    there = DirectoryStore(place)
    there.publish(one, at=NOW)
    there.activate(release(one), expected=None, at=NOW)
    return place


def test_a_hostile_name_of_a_store_moves_no_cursor_and_makes_no_line(
    hostile: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rank_command, "chosen_embedder", lambda *_, **__: EMBEDDER)
    store = str(hostile)
    assert run((INSPECT,), "toolsurface", ["inspect", "--store", store]) == 0
    inspected = capsys.readouterr().out
    assert run((rank_command.RANK,), "toolsurface", ["rank", "reader", "a", "--store", store, "--strictness", "0"]) == 0
    ranked = capsys.readouterr().out
    for said in (inspected, ranked):
        assert [line for line in said.splitlines() if "PWNED" in line and line.isprintable()]
        assert "\x1b" not in said
        assert not [line for line in said.splitlines() if line.startswith("injected")]
