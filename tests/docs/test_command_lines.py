"""Every command line of the documentation is one that its command takes, and every option it names is one of ours."""

from __future__ import annotations

import argparse
import io
import re
import shlex
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from surface.adapters.command_line import GROUP, Command

ROOT = Path(__file__).parents[2]
PAGES = {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
SERVICE = ("service", "observability", "scaling", "stores", "models", "deployment")
"""The pages on running the service."""
COMMANDS: Mapping[str, Command] = {entry.name: entry.load() for entry in entry_points(group=GROUP)}
_LINE = re.compile(r"^(?:\$ |\s*run: )?toolsurface ([a-z].*)$", re.MULTILINE)
_OTHERS = re.compile(r"(?:docker|make|pip|python) ")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def _fenced(page: str) -> str:
    return "\n".join(re.findall(r"^```\w*\n(.*?)^```", page, re.DOTALL | re.MULTILINE))


LINES = sorted({line for page in PAGES.values() for line in _LINE.findall(_fenced(page))})


def _parser(command: Command) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    command.configure(parser)
    return parser


@cache
def _options(name: str) -> frozenset[str]:
    """The options that the help of a command tells."""
    told = io.StringIO()
    with redirect_stdout(told), pytest.raises(SystemExit):
        _parser(COMMANDS[name]).parse_args(["new", "--help"] if name == "key" else ["--help"])
    return frozenset(_OPTION.findall(told.getvalue()))


@pytest.mark.parametrize("line", LINES)
def test_every_command_line_of_the_documentation_is_one_that_the_command_takes(line: str) -> None:
    name, *arguments = shlex.split(line, comments=True)
    _parser(COMMANDS[name]).parse_args(arguments)


def test_every_command_stands_in_a_command_line_of_the_documentation() -> None:
    assert {line.split()[0] for line in LINES} == COMMANDS.keys()


@pytest.mark.parametrize("page", sorted(PAGES.keys() - {"docs/benchmarks.md"}))
def test_every_option_that_a_page_names_is_one_of_a_command(page: str) -> None:
    known = frozenset[str]().union(*map(_options, COMMANDS))
    outside = re.sub(r"^```\w*\n.*?^```", "", PAGES[page], flags=re.DOTALL | re.MULTILINE)
    named = {
        option
        for span in re.findall(r"`([^`]+)`", outside)
        if not _OTHERS.match(span)
        for option in _OPTION.findall(span)
    }
    assert named <= known | {"--help", "--version"}


def test_every_option_of_the_service_stands_on_one_of_its_pages() -> None:
    pages = "\n".join(PAGES[f"docs/{page}.md"] for page in SERVICE)
    assert _options("serve") - {"--help"} <= set(_OPTION.findall(pages))
