"""Writing small applications as modules of their own, for tests that start real processes in their folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

APPLICATION = '''\
"""A small application."""
from pydantic import BaseModel

from surface import PydanticInput, Service, Surface, Tool, create_deferred_agent_tool_surface, tool
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES


@tool(read_only=True)
def list_files(folder: str) -> list[str]:
    """Lists the files of a folder, even in größere Ordner."""
    return []


@tool(name="send", idempotent=True)
def send(to: str) -> None:
    """Sends an invoice."""


def make():
    return create_deferred_agent_tool_surface(
        application="shop",
        surfaces=[
            Surface(key="writer", tools=[list_files, Service(name="invoices", tools=[send])]),
            Surface(key="reader", tools=[list_files], always_on=["list_files"]),
        ],
        dialect=ANTHROPIC_MESSAGES,
    )


class inside:
    controller = make()


registry = inside.controller.registry
not_one = 7


def fails():
    raise RuntimeError("the application's own")


def faulty():
    return create_deferred_agent_tool_surface(
        application="sh op",
        surfaces=[Surface(key="reader", tools=[list_files, list_files], always_on=["nobody"])],
        dialect=ANTHROPIC_MESSAGES,
    )
'''


def write_application(folder: Path, *, name: str = "shop_agent", source: str = APPLICATION) -> Path:
    """Puts the application into a folder; the folder."""
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    return folder


def command(*arguments: str | Path, folder: Path) -> subprocess.Popen[str]:
    """`python -m surface` with these arguments, started in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "surface", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "error"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ran(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The same, to its end."""
    with command(*arguments, folder=folder) as process:
        out, err = process.communicate(timeout=30)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)
