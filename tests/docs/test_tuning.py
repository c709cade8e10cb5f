"""The worked example of the tuning page, from its files to its last table, in a folder of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from selector.__main__ import COMMANDS
from surface.adapters.command_line import run

PAGE = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text(encoding="utf-8")
EXAMPLE = PAGE.split("## A worked example")[1].split("\n## ")[0]
_BLOCK = re.compile(r"```(json|console)\n(.*?)```", re.DOTALL)


def _steps() -> Iterator[tuple[str, str]]:
    """A file to write, or a command with what it prints, in the order of the page."""
    files = iter(("shop/catalog.jsonl", "shop/queries.jsonl", "shop/catalog.jsonl"))
    for kind, text in _BLOCK.findall(EXAMPLE):
        if kind == "json":
            yield next(files), text
            continue
        for command in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, _, printed = command.partition("\n")
            yield line, printed.rstrip("\n")


def _shape(table: str) -> str:
    """A table without its numbers, which are the ranker's: what the page says of them is asserted in words."""
    return re.sub(r" +", " ", re.sub(r"[+-]?\d[\d.,]*", "N", table))


def test_the_worked_example_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    recall: list[float] = []
    for what, text in _steps():
        if not what.startswith("toolsurface "):
            (tmp_path / what).write_text(text, encoding="utf-8")
            continue
        arguments = what.split()[1:]
        assert run(COMMANDS, "toolsurface", arguments) == 0
        shown = capsys.readouterr().out.rstrip("\n")
        if arguments[0] == "lint":
            assert shown == text
            continue
        assert _shape(shown) == _shape(text)
        assert run(COMMANDS, "toolsurface", [*arguments, "--json"]) == 0
        (report,) = json.loads(capsys.readouterr().out)["sets"]
        recall.append(report["rankers"]["hybrid"]["recall@1"])
    before, after = recall
    assert before < 1.0, "the page says that the rewritten descriptions have helped"
    assert after == 1.0, "the page says that every query has its tool in first place"


def test_the_checks_of_the_page_are_written_as_the_command_knows_them(capsys: pytest.CaptureFixture[str]) -> None:
    for line in re.findall(r"^toolsurface (lint .*)$", PAGE, flags=re.MULTILINE):
        with pytest.raises(SystemExit) as ended:
            run(COMMANDS, "toolsurface", [*line.split(), "--help"])
        assert ended.value.code == 0
        named = re.findall(r"--(?:only|fail-on) (\S+)", line)
        assert named
        assert {code for codes in named for code in codes.split(",")} <= {*re.findall(r"`(\w+)` \|", PAGE), "any"}
