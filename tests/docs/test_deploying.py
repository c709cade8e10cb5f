"""The page on deploying says what is there: its Python runs as it stands, and its command lines are understood."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from indexer.__main__ import COMMANDS
from indexer.adapters.directory_store import DirectoryStore
from indexer.commands.exit_codes import CANARY_FAILED, LOST_THE_RACE, SWITCHED
from indexer.report import REASONS
from tests.docs.pages import example, page
from tests.indexer.samples import catalog_json, tool_json

PAGE = page("deploying.md")
LINES = [line for line in re.findall(r"^(?:\s*run: )?toolsurface (.+)$", PAGE, re.MULTILINE) if "export" not in line]


def test_the_three_lines_of_python_deploy_a_catalog(tmp_path: Path) -> None:
    code = example(PAGE)
    assert len(list(filter(None, code.splitlines()))) == 3
    (tmp_path / "catalog.json").write_bytes(catalog_json(tool_json("a"), tool_json("b")))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run(
        [sys.executable, "-c", code.replace("/srv/toolsurface", "store")],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    active = DirectoryStore(tmp_path / "store").active("app")
    assert active is not None
    assert ran.stdout == f"{active.id} 2\n"


@pytest.mark.parametrize("line", sorted(set(LINES)))
def test_every_command_line_is_understood(line: str) -> None:
    name, *arguments = shlex.split(line)
    (command,) = (command for command in COMMANDS if command.name == name)
    parser = argparse.ArgumentParser(allow_abbrev=False)
    command.configure(parser)
    parser.parse_args(arguments)


def test_every_command_of_the_indexer_but_import_stands_on_the_page() -> None:
    assert {line.split()[0] for line in LINES} == {command.name for command in COMMANDS} - {"import"}


def test_the_codes_and_reasons_are_those_of_the_program() -> None:
    assert f"| {CANARY_FAILED} | a canary failed" in PAGE
    assert f"| {LOST_THE_RACE} | another deploy or switch was faster" in PAGE
    assert f"| {SWITCHED} | it failed or was interrupted once the switch had begun" in PAGE
    flowing = " ".join(PAGE.split())
    assert all(f"`{reason}`" in flowing for _, reason in REASONS)
