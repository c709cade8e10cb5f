"""Ctrl-C before a command has begun, in a real process that is held at one of its imports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HELD = """
import runpy, signal, sys
from importlib.abc import MetaPathFinder

class Held(MetaPathFinder):
    def find_spec(self, name, *_):
        if name == {module!r}:
            open({ready!r}, "w").close()
            signal.pause()  # a handler that raises or ends leaves this; one that only takes notes does not
            signal.pause()

sys.meta_path.insert(0, Held())
sys.argv = ["toolsurface", "deploy", "catalog.json"]
runpy.run_module({program!r}, run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("module", ["surface", "pydantic", "surface.adapters.command_line"])
@pytest.mark.parametrize(
    ("program", "told"),
    [("toolsurface", "toolsurface"), ("indexer", "python -m indexer"), ("selector", "python -m selector")],
)
def test_ctrl_c_while_a_command_is_imported_ends_it_with_130_in_one_line(
    program: str, told: str, module: str, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    code = HELD.format(module=module, ready=str(ready), program=program)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        ready.open().close()  # opens when the import has begun
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, output, errors) == (130, "", f"{told}: interrupted\n")


def test_ctrl_c_that_somebody_else_handles_is_left_to_them() -> None:
    code = (
        "import signal\n"
        "from toolsurface import Importing\n"
        "signal.signal(signal.SIGINT, lambda *_: print('theirs'))\n"
        "with Importing('toolsurface'):\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "print('went on')\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "theirs\nwent on\n"


def test_once_imports_are_done_ctrl_c_is_what_it_was() -> None:
    code = (
        "import signal\n"
        "from toolsurface import Importing\n"
        "with Importing('toolsurface'):\n"
        "    pass\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "True\n"


def test_in_a_thread_where_no_ctrl_c_arrives_nothing_is_changed() -> None:
    code = (
        "import signal, threading\n"
        "from toolsurface import Importing\n"
        "def work():\n"
        "    with Importing('toolsurface'):\n"
        "        print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n"
        "thread = threading.Thread(target=work)\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("True\n", "")
