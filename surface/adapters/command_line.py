"""The frame every subcommand shares: the one `toolsurface` command, its exit codes, and how it speaks.

    0  done        1  it failed        2  wrong use        130  interrupted        143  ended by SIGTERM
    129  the terminal was closed (SIGHUP)                  others: what the help of a command says

A part declares its subcommands as `Command` values and registers them as entry points of the group
``toolsurface.commands``; ``python -m <part>`` runs the same values through `run`. Results go to standard output by
`show` (one JSON object under ``--json``, by `print_json`), everything else to standard error by `say`. Whatever a name
holds, none of them fails of it, and none hands a terminal what it would obey.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

from surface._version import __version__
from surface.adapters.termination import (
    HungUpError,
    TerminatedError,
    ignored_from_now_on,
    interrupted_later,
    restored,
)

GROUP = "toolsurface.commands"
DONE, FAILED, WRONG_USE, HUNG_UP, INTERRUPTED, TERMINATED = 0, 1, 2, 129, 130, 143

_BY_SIGNAL: Mapping[type[KeyboardInterrupt], int] = {TerminatedError: TERMINATED, HungUpError: HUNG_UP}

# What the bytes of a file's name become that are no text, and no output can take.
_NO_TEXT, _INSTEAD = re.compile("[\ud800-\udfff]"), "\N{REPLACEMENT CHARACTER}"
_NO_ASCII = re.compile(r"[^ -~]")
# What a terminal obeys or orders lines by, beside the end of a line.
_OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

# Which extra brings a part, for the one who asks for a part that is not installed.
_PARTS = ("surface", "indexer", "selector", "models")
_EXTRAS = {"indexer": "indexer", "selector": "service"}


class CommandFailedError(Exception):
    """The command could not do its work; the message is all that its user sees. Exit code 1."""


class WrongUseError(Exception):
    """The command was asked for something that cannot be; the message names the argument and the fix. Exit code 2."""


class OutputError(OSError):
    """Standard output takes no more; the command has told its result to nobody. Exit code 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One subcommand."""

    name: str
    summary: str
    """One line for the list of commands."""
    configure: Callable[[argparse.ArgumentParser], None]
    """Adds the command's own arguments."""
    run: Callable[[argparse.Namespace], int | None]
    """Does the work; None is exit code 0."""
    failures: tuple[type[Exception], ...] = ()
    """Errors whose own message is all a user needs: printed without a traceback, exit code 1."""
    exit_codes: Mapping[type[Exception], int] = field(default_factory=dict)
    """Other exit codes for some of the failures: those that a program tells apart."""


class _Parser(argparse.ArgumentParser):
    """Tells wrong use in one line, as every other failure is told."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # No option begins with a digit, so ``--memory -5MB`` is a value for that option to refuse, not a missing one.
        self._negative_number_matcher = re.compile(r"-(\.?[0-9]|inf$|nan$)")

    def error(self, message: str) -> NoReturn:
        """Ends with code 2."""
        self.exit(WRONG_USE, f"{self.prog}: {message}; see {self.prog} --help\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        # The help and the version are results; argparse would drop what cannot be written, or fail at the very end.
        if message and file is not None:
            _put(message, end="") if file is sys.stdout else say(message.removesuffix("\n"))


def say(message: str) -> None:
    """One line for the person at the terminal, on standard error. Where nobody listens, nothing is said."""
    if sys.stderr is not None:  # a daemon may have closed it, and print would then use standard output
        with suppress(OSError):
            print(_plain(message), file=sys.stderr, flush=True)


def show(lines: Iterable[str], *, aside: bool = False) -> None:
    """The command's result as lines for people, on standard output, or `aside` on standard error, where the result is
    something else. Raises `OutputError`.
    """
    text = "".join(_plain(line).replace("\n", "\\n") + "\n" for line in lines)
    if aside:
        say(text.removesuffix("\n"))
    else:
        _put(text, end="")


def print_json(value: Any) -> None:
    """The command's result as one JSON object of ASCII, on standard output; what is no text, as in a file's name, is
    U+FFFD. Raises `OutputError`.
    """
    text = _NO_TEXT.sub(_INSTEAD, json.dumps(value, ensure_ascii=False, allow_nan=False))
    _put(_NO_ASCII.sub(lambda one: json.dumps(one[0])[1:-1], text))


def _plain(text: str) -> str:
    return _OBEYED.sub(lambda one: ascii(one[0])[1:-1], _NO_TEXT.sub(_INSTEAD, text))


def _put(text: str, end: str = "\n") -> None:
    try:
        print(text, end=end, flush=True)
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from error


def run(commands: Sequence[Command], prog: str, argv: Sequence[str] | None = None) -> int:
    """Runs one of a part's own commands: ``python -m <part>``.

    Without `argv` the command is this process's own, which ends with it: its exit code stands, whatever signal comes.
    """
    with restored() if argv is not None else _own_process():
        return _run({command.name: command for command in commands}, prog, sys.argv[1:] if argv is None else argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs whichever installed subcommand is asked for: ``toolsurface``. `argv` as for `run`."""
    try:
        with restored() if argv is not None else _own_process():
            return _main(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        # Also while a part is being imported, which takes a second.
        say("toolsurface: interrupted")
        return INTERRUPTED


def _main(arguments: list[str]) -> int:
    offered = {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}
    commands: dict[str, Command] = {}
    missing: dict[str, str] = {}
    # Only the command asked for is imported; the list of commands needs them all.
    wanted = [offered[arguments[0]]] if arguments and arguments[0] in offered else list(offered.values())
    with interrupted_later():
        for entry in wanted:
            try:
                commands[entry.name] = entry.load()
            except ModuleNotFoundError as error:
                missing[entry.name] = _how_to_install(entry, error)
    if arguments and arguments[0] in missing:
        say(f"toolsurface {arguments[0]}: {missing[arguments[0]]}")
        return WRONG_USE
    return _run(commands, "toolsurface", arguments, missing)


@contextmanager
def _own_process() -> Iterator[None]:
    """Whatever the environment says of them, the outputs show what they cannot encode in other characters.

    After the block the exit code stands: who presses Ctrl-C again while threads end changes it no more.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        ignored_from_now_on()


def _run(commands: dict[str, Command], prog: str, argv: Sequence[str], missing: dict[str, str] | None = None) -> int:
    try:
        chosen = _chosen(commands, prog, argv, missing or {})
        prog = f"{prog} {chosen.command}"
        return _ended(commands[chosen.command], chosen, prog)
    except OutputError as error:
        if error.errno != errno.EPIPE:  # whoever read our output may have left (``| head``)
            say(f"{prog}: the output cannot be written: {error.strerror}")
        return FAILED
    finally:
        _flush()


def _chosen(
    commands: dict[str, Command], prog: str, argv: Sequence[str], missing: dict[str, str]
) -> argparse.Namespace:
    parser = _Parser(prog=prog, description="Deferred tools for agents.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"toolsurface {__version__}")
    listed = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    parsers: dict[str, argparse.ArgumentParser] = {}
    for command in commands.values():
        parsers[command.name] = listed.add_parser(
            command.name, help=command.summary, description=command.summary, allow_abbrev=False
        )
        command.configure(parsers[command.name])
    for name, hint in missing.items():
        listed.add_parser(name, help=hint)
    chosen, unknown = parser.parse_known_args(argv)
    if unknown:
        parsers[chosen.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    return chosen


def _ended(command: Command, chosen: argparse.Namespace, prog: str) -> int:
    expected: tuple[type[Exception], ...] = (CommandFailedError, *command.failures)
    try:
        return command.run(chosen) or DONE
    except WrongUseError as error:
        say(f"{prog}: {error}")
        return WRONG_USE
    except expected as error:
        say(f"{prog}: {error}")
        return next((code for kind, code in command.exit_codes.items() if isinstance(error, kind)), FAILED)
    except OutputError:
        raise
    except OSError as error:  # a path that the system refuses to look at, say: it is not a program's fault
        place = f"{error.filename}: " if isinstance(error.filename, str | Path) else ""
        say(f"{prog}: {place}{error.strerror or type(error).__name__}")
        return FAILED
    except KeyboardInterrupt as error:
        say(f"{prog}: interrupted")
        return next((code for kind, code in _BY_SIGNAL.items() if isinstance(error, kind)), INTERRUPTED)


def _flush() -> None:
    """What an output did not take is given up, so that the interpreter does not complain of it when it ends."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _how_to_install(entry: EntryPoint, error: ModuleNotFoundError) -> str:
    top = (error.name or "").partition(".")[0]
    if top in _PARTS and top in sys.modules:
        where = getattr(sys.modules[top], "__file__", None) or "nobody knows where"
        return f"needs our own package {top}, but another module of that name comes first: {where}"
    extra = _EXTRAS.get(entry.module.split(".", maxsplit=1)[0], "all")
    return f"needs {error.name}, which the extra brings: pip install 'toolsurface[{extra}]'"
