"""The frame that every subcommand shares: exit codes, and how a command speaks."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from surface import __version__
from surface.adapters.command_line import Command, CommandFailedError, WrongUseError, main, print_json, run, say
from tests.surface.export_samples import command, ran, write_application


def command_that(work: Callable[[argparse.Namespace], int | None], *failures: type[Exception]) -> Command:
    return Command(name="work", summary="does work", configure=lambda parser: None, run=work, failures=tuple(failures))


def raising(error: BaseException) -> Callable[[argparse.Namespace], int | None]:
    def work(arguments: argparse.Namespace) -> int | None:
        raise error

    return work


def exit_code(made: Command) -> int:
    return run([made], "prog", ["work"])


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (1, 1), (3, 3)])
def test_what_a_command_returns_is_its_exit_code(returned: int | None, code: int) -> None:
    assert exit_code(command_that(lambda arguments: returned)) == code


class ForeseenError(Exception):
    """A failure whose own message is all a user needs."""


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (CommandFailedError("no room left"), 1),
        (ForeseenError("no room left"), 1),
        (WrongUseError("no room left"), 2),
        (KeyboardInterrupt(), 130),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_expected_end_is_one_line_on_standard_error(
    capsys: pytest.CaptureFixture[str], raised: BaseException, code: int
) -> None:
    assert exit_code(command_that(raising(raised), ForeseenError)) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"prog work: {'interrupted' if code == 130 else 'no room left'}\n"


def test_what_the_system_refuses_is_one_line_with_its_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(command_that(lambda arguments: Path("a" * 300).exists())) == 1
    assert capsys.readouterr().err == f"prog work: {'a' * 300}: File name too long\n"
    assert exit_code(command_that(raising(ConnectionResetError()))) == 1
    assert capsys.readouterr().err == "prog work: ConnectionResetError\n"


def test_an_unexpected_error_is_not_hidden() -> None:
    with pytest.raises(LookupError):
        exit_code(command_that(raising(LookupError("a bug"))))


def test_a_result_is_one_json_line_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"größe": [1, None]})
    say("done")
    told = capsys.readouterr()
    assert told.out == '{"gr\\u00f6\\u00dfe": [1, null]}\n'
    assert told.err == "done\n"


def test_a_result_that_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json(float("nan"))


@pytest.mark.parametrize("arguments", [[], ["nobody"], ["--nobody"]], ids=repr)
def test_wrong_use_is_exit_code_2(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("toolsurface: ")
    assert said.err.endswith("; see toolsurface --help\n")
    assert said.err.count("\n") == 1


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"toolsurface {__version__}\n"


def test_the_one_command_lists_what_every_part_brings(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    listed = capsys.readouterr().out
    assert {"export", "deploy", "status", "serve", "rank", "evaluate"} <= set(listed.split())


def test_a_part_that_is_not_installed_says_which_extra_brings_it(tmp_path: Path) -> None:
    """In a process that cannot import numpy, as after a plain install."""
    code = (
        "import sys\n"
        "sys.modules['numpy'] = None\n"
        "from surface.adapters.command_line import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, "deploy", "catalog.json"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "toolsurface deploy: needs numpy" in ended.stderr
    assert "pip install 'toolsurface[indexer]'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_reader_that_leaves_early_is_no_traceback(tmp_path: Path) -> None:
    write_application(tmp_path)
    with command("export", "shop_agent:make", "-o", "catalog.json", "--json", folder=tmp_path) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        told = process.stderr.read()
    assert process.returncode in {0, 1}
    assert "Traceback" not in told
    assert "BrokenPipe" not in told


def test_an_interrupted_command_ends_with_130(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    source = f"import signal\nopen({str(ready)!r}, 'w').close()\ndef make():\n    signal.pause()\n"
    write_application(tmp_path, source=source)
    with command("export", "shop_agent:make", "-o", "catalog.json", folder=tmp_path) as process:
        ready.open().close()  # opens when the application does
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert process.stderr is not None
        told = process.stderr.read()
    assert told == "python -m surface export: interrupted\n"


def test_a_command_that_is_interrupted_while_a_library_is_imported_ends_with_130() -> None:
    """In a process where numpy is interrupted, and tells it as its own failure, as the native parts of libraries do."""
    code = (
        "import signal, sys\n"
        "from importlib.abc import MetaPathFinder\n"
        "from surface.adapters.command_line import main\n"
        "class Touchy(MetaPathFinder):\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'numpy':\n"
        "            try:\n"
        "                signal.raise_signal(signal.SIGINT)\n"
        "            except KeyboardInterrupt:\n"
        "                raise ImportError('initialization failed')\n"
        "sys.meta_path.insert(0, Touchy())\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, "deploy", "catalog.json"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "toolsurface: interrupted\n")


def test_the_exit_code_of_a_process_of_its_own_stands_whatever_comes_while_it_ends() -> None:
    code = (
        "import atexit, signal, sys\n"
        "from surface.adapters.command_line import main\n"
        "atexit.register(signal.raise_signal, signal.SIGINT)\n"  # as while the interpreter waits for threads
        "atexit.register(signal.raise_signal, signal.SIGTERM)\n"
        "sys.exit(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_part_is_run_as_a_module_too(tmp_path: Path) -> None:
    ended = ran("export", "shop_agent:make", "-o", "catalog.json", "--json", folder=write_application(tmp_path))
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["application"] == "shop"
    assert ended.stderr == ""
