"""``python -m demo``: the whole path once, on real AWS operations, in real processes.

Joins the story, the judgement and the screen. Exit status: 0 all six points held, 1 one did not or a process failed,
2 wrong use, 130 interrupted (143 for SIGTERM). Whatever happens, no process is left behind.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import signal
import sys
from pathlib import Path

from demo.application import services_of
from demo.aws_operations import SERVICES, AwsService
from demo.child import ChildFailedError
from demo.facts import Facts
from demo.folder import Folder
from demo.jobs import REQUIRED_SERVICES
from demo.points import judge
from demo.result import failure, result
from demo.screen import Screen
from demo.story import Story, services_without

HELD, FAILED, WRONG_USE = 0, 1, 2


class _StoppedError(Exception):
    """Somebody told the demo to stop."""

    def __init__(self, number: signal.Signals) -> None:
        self.status = 128 + number
        super().__init__(f"stopped by {number.name}; every process it had started has ended")


def main() -> int:
    """Runs the command line; returns its exit status."""
    arguments = _parser().parse_args()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    screen = Screen.standard()
    folder = Folder(arguments.keep)
    try:
        folder.begin()
    except OSError as error:
        screen.tell("demo", f"--keep {folder.path}: {error.strerror}")
        return FAILED
    story = Story(folder=folder, services=arguments.services, tell=screen.tell)
    try:
        facts = asyncio.run(_interruptible(story))
    except ChildFailedError as error:
        screen.failure(error)
        if arguments.json:
            print(json.dumps(failure(error), ensure_ascii=False))
        return FAILED
    except _StoppedError as stopped:
        screen.give_back()
        screen.tell("demo", str(stopped))
        return stopped.status
    points = judge(facts)
    if arguments.json:
        print(json.dumps(result(facts, points), ensure_ascii=False))
    else:
        screen.show(facts, points)
    return HELD if all(point.held for point in points) else FAILED


async def _interruptible(story: Story) -> Facts:
    """The story, ended in good order by the first signal; later ones do not disturb the ending."""
    telling = asyncio.ensure_future(story.facts())
    received: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        if not received:
            telling.cancel()
        received.append(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    try:
        return await telling
    except asyncio.CancelledError:
        if not received:
            raise
        raise _StoppedError(received[0]) from None


def _parser() -> argparse.ArgumentParser:
    keys = ", ".join(service.key for service in SERVICES)
    parser = argparse.ArgumentParser(
        prog="python -m demo",
        description="The whole path once, on real AWS operations: export a catalog, index it, start the ranking "
        "service, and run a scripted agent that searches, calls what it found, is killed and comes back. Everything "
        "runs in real processes on this machine; nothing is ever sent to AWS.",
        epilog=f"Services: {keys}. Exit status: 0 all six points held, 1 one did not or a process failed, "
        "2 wrong use, 130 interrupted.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output instead of the table")
    parser.add_argument(
        "--keep",
        type=Path,
        default=Path(".demo"),
        metavar="DIR",
        help="the folder for catalog, store, transcripts and logs; an index that is there is used again "
        "(default: %(default)s, which `make serve` serves)",
    )
    parser.add_argument(
        "--services",
        type=_services,
        default=SERVICES,
        metavar="KEY,KEY,...",
        help=f"fewer services, for a quicker first run; at least {','.join(REQUIRED_SERVICES)} (default: all). "
        "The index of the folder becomes theirs",
    )
    return parser


def _services(keys: str) -> tuple[AwsService, ...]:
    try:
        services = services_of(keys)
    except KeyError as error:
        raise argparse.ArgumentTypeError(f"there is no service {error.args[0]} here") from None
    if missing := services_without(services, REQUIRED_SERVICES):
        raise argparse.ArgumentTypeError(f"the scripts need {', '.join(missing)} too")
    return services


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        # Whoever read the output has left (``| head``); keep the interpreter from complaining when it closes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
