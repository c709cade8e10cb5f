"""Whatever ends a deploy or a switch, its exit code and its last words say which release is active."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from indexer.adapters.directory_store import DirectoryStore
from indexer.artefact import Artefact
from indexer.commands import deploy as deploy_command
from indexer.commands import switch as switch_command
from indexer.commands.attempt import Attempt
from indexer.deploying import deploy_catalog
from indexer.errors import ActivationConflictError, StoreUnavailableError
from indexer.ledger import Ledger
from indexer.memory_store import MemoryStore
from indexer.ports import ArtefactStore
from indexer.progress import Progress
from surface.adapters.command_line import run
from surface.adapters.termination import EndingSignals, HungUpError, restored
from tests.indexer.samples import EMBEDDER, NOW, artefact, catalog_json, release, tool_json

BY_SIGNAL = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
OLD, NEW, OTHER = artefact("old"), artefact("new"), artefact("other")
# A deploy with a model that costs nothing, whose output goes where it cannot.
FULL = """
import sys
from indexer.commands import deploy
from surface.adapters.command_line import run
from surface.adapters.termination import restored
from tests.indexer.samples import EMBEDDER
deploy.chosen_embedder = lambda *_, **__: EMBEDDER
sys.exit(run((deploy.DEPLOY,), "toolsurface"))
"""


@pytest.fixture(autouse=True)
def _hearing() -> Iterator[None]:
    """SIGHUP is handled as where nobody has said otherwise, also where the tests run under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def serving(*parts: Any, store: MemoryStore | None = None) -> MemoryStore:
    store = store or MemoryStore()
    for one in (OLD, NEW, OTHER):
        store.publish(one, at=NOW)
    for one in parts:
        active = store.active("app")
        store.activate(release(one), expected=active.id if active else None, at=NOW)
    return store


def end(store: ArtefactStore, error: BaseException, capsys: pytest.CaptureFixture[str], *, begun: bool = True) -> Any:
    def fail() -> None:
        raise error

    attempt = Attempt()
    if begun:
        attempt.begins(store, release(NEW), serving(OLD).ledger("app"))
    with restored(), pytest.raises(BaseException) as caught:  # noqa: PT011 - which one it is, is the question
        attempt.accounted_for(fail, as_json=True)
    told = json.loads(capsys.readouterr().out)
    return (caught.value is error, told["switched"], told["active"], str(caught.value))


class Away(MemoryStore):
    def ledger(self, application: str) -> Ledger:
        raise StoreUnavailableError("the store is away")


@pytest.mark.parametrize(
    "error",
    [
        StoreUnavailableError("no answer"),
        ActivationConflictError(application="app", expected="1" * 32, found="2" * 32),
        KeyboardInterrupt(),
        OSError(28, "No space"),
        MemoryError(),
        ValueError("whatever a library did not foresee"),
    ],
)
def test_what_ends_a_switch_is_told_with_what_is_active(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    new, old, other = release(NEW).id, release(OLD).id, release(OTHER).id
    assert end(serving(OLD), error, capsys, begun=False)[:3] == (True, False, None)
    assert end(serving(OLD), error, capsys)[:3] == (True, False, old)
    *told, words = end(serving(OLD, NEW), error, capsys)
    assert told == [False, True, new]
    assert words.endswith(f"; release {new[:12]} is active nevertheless")
    assert end(serving(OLD, OTHER), error, capsys)[:3] == (True, False, other)
    *told, words = end(serving(OLD, NEW, OTHER), error, capsys)
    assert told == [False, True, other]
    assert words.endswith(f"; release {new[:12]} became active and was replaced: release {other[:12]} is")
    *told, words = end(Away(), error, capsys)
    assert told == [False, None, None]
    assert words.endswith("cannot be told now; ask status")


def test_what_nobody_foresaw_is_told_by_its_kind_alone(capsys: pytest.CaptureFixture[str]) -> None:
    *_, words = end(serving(OLD, NEW), ValueError("list my overdue invoices"), capsys)
    assert words == f"ValueError; release {release(NEW).id[:12]} is active nevertheless"


def test_the_name_of_a_file_that_is_no_text_is_told_nevertheless(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["deploy", "\udcff.json", "--store", "x", "--json"]
    assert run((deploy_command.DEPLOY,), "toolsurface", arguments) == 1
    assert "\ufffd.json" in json.loads(capsys.readouterr().out)["error"]


class AwayOnceItIsRead(MemoryStore):
    """Holds every version, and goes away for good when the first of them is asked for."""

    def load(self, application: str, surface: str, version: str) -> Artefact:
        self.ledger = self.load  # type: ignore[assignment,method-assign]
        raise StoreUnavailableError("the store is away")


def test_going_back_to_what_cannot_be_read_has_changed_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = serving(OLD, NEW, store=AwayOnceItIsRead())
    monkeypatch.setattr(switch_command, "store_of", lambda _: store)
    assert run((switch_command.ROLLBACK,), "toolsurface", ["rollback", "--store", "x", "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["switched"] is False
    assert said.err == "toolsurface rollback: the store is away\n"


@pytest.fixture
def catalogs(memory: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A catalog that is served, and one to deploy."""
    monkeypatch.setattr(deploy_command, "chosen_embedder", lambda *_, **__: EMBEDDER)
    paths = [memory / "d1.json", memory / "d2.json"]
    for path, tools in zip(paths, ("a", "ab"), strict=True):
        path.write_bytes(catalog_json(*map(tool_json, tools), deploy=path.stem))
    deploy_catalog(paths[0], store=memory / "store", embedder=EMBEDDER, remember=False)
    return paths


def arguments(catalog: Path) -> list[str]:
    return ["deploy", str(catalog), "--store", str(catalog.parent / "store"), "--no-cache", "--json"]


def active_deploy(catalogs: list[Path]) -> str:
    active = DirectoryStore(catalogs[0].parent / "store").active("app")
    assert active is not None
    return active.deploy


@pytest.mark.parametrize(
    ("stage", "done", "code"),
    [
        ("reading", 0, None),
        ("reading", 1, None),
        ("embedding", 0, None),
        ("building", 1, None),
        ("publishing", 1, None),
        ("activating", 0, None),
        ("activating", 1, 5),
    ],
)
@pytest.mark.parametrize("how", BY_SIGNAL)
def test_a_signal_that_ends_a_deploy_at_any_stage_says_what_is_active(
    catalogs: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stage: str,
    done: int,
    code: int | None,
    how: signal.Signals,
) -> None:
    struck = (stage, done)
    before = signal.getsignal(how)

    @contextmanager
    def pressing() -> Iterator[Progress]:
        def progress(stage: str, done: int, total: int) -> None:
            if (stage, done) == struck:
                signal.raise_signal(how)

        yield progress

    monkeypatch.setattr(deploy_command, "shown_progress", pressing)
    assert run((deploy_command.DEPLOY,), "toolsurface", arguments(catalogs[1])) == (code or BY_SIGNAL[how])
    assert signal.getsignal(how) is before
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert (told["outcome"], told["reason"], told["switched"]) == ("failed", "interrupted", code == 5)
    assert active_deploy(catalogs) == ("d2" if code == 5 else "d1")
    assert said.err.count("\n") == 1
    assert ("is active nevertheless" in said.err) == (code == 5)


def test_a_shell_that_tells_of_the_closed_terminal_too_cuts_nothing_short() -> None:
    finished: list[bool] = []

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGHUP)
        except KeyboardInterrupt:
            signal.raise_signal(signal.SIGHUP)
            finished.append(True)
            raise

    with restored(), pytest.raises(HungUpError):
        EndingSignals().heard_in(work)
    assert finished == [True]


class Struck(StringIO):
    """An output in which Ctrl-C, SIGTERM and SIGHUP come with whatever is written."""

    def write(self, text: str) -> int:
        for one in BY_SIGNAL:
            signal.raise_signal(one)
        return super().write(text)


def test_further_signals_while_the_last_words_are_said_change_nothing(
    catalogs: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = Struck()
    monkeypatch.setattr(sys, "stdout", output)
    assert run((deploy_command.DEPLOY,), "toolsurface", arguments(catalogs[1])) == 5
    told = json.loads(output.getvalue())
    assert (told["reason"], told["switched"], active_deploy(catalogs)) == ("interrupted", True, "d2")
    assert capsys.readouterr().err.endswith("is active nevertheless\n")


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("place", ["full", "closed"])
def test_an_output_that_cannot_be_written_hides_no_release(catalogs: list[Path], place: str, *, buffered: bool) -> None:
    command = [sys.executable, "-P", "-c", FULL, *arguments(catalogs[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment["PYTHONUNBUFFERED"] = "" if buffered else "1"
    if place == "full":
        output = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, output = os.pipe()
        os.close(reader)
    try:
        process = subprocess.run(
            command, env=environment, check=False, text=True, timeout=120, stdout=output, stderr=subprocess.PIPE
        )
    finally:
        os.close(output)
    assert process.returncode == 5, process.stderr
    assert process.stderr.endswith("is active nevertheless\n")
    assert process.stderr.count("toolsurface deploy: ") == 1
    assert "Traceback" not in process.stderr
    assert active_deploy(catalogs) == "d2"


# The same and rollback, held at one place after the last line until standard input ends.
HELD = """
import atexit, os, sys
from indexer.commands import deploy, switch
from surface.adapters import command_line
from tests.indexer.samples import EMBEDDER
deploy.chosen_embedder = lambda *_, **__: EMBEDDER

class Last:
    def __init__(self):
        self.held, self.say, self.wait = 0, os.write, os.read
    def hold(self, *_):
        self.held += 1
        if self.held == 1:
            self.say(2, b"held\\n")
            self.wait(0, 1)
    __del__ = hold

last, place = Last(), sys.argv.pop(1)
if place == "told":
    told = command_line.print_json
    deploy.print_json = switch.print_json = lambda value: (told(value), last.hold())
elif place == "flushing":
    flush = command_line._flush
    command_line._flush = lambda: (last.hold(), flush())
elif place == "leaving":
    atexit.register(last.hold)
code = command_line.run((deploy.DEPLOY, switch.ROLLBACK), "toolsurface")
if place == "returned":
    last.hold()
elif place == "finalizing":
    import numpy
    numpy.held = last
sys.exit(code)
"""


def held(place: str, *argv: str, how: signal.Signals) -> tuple[int, Any, str]:
    """The exit code, the result and the last words of a command that gets a signal once its result is there."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-c", HELD, place, *argv]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            result = json.loads(process.stdout.readline())
            assert "held\n" in iter(process.stderr.readline, "")
            process.send_signal(how)
            _, words = process.communicate(timeout=120)
        finally:
            process.kill()  # one that is held for ever, where it did not come to the place
    return process.returncode, result, words


@pytest.mark.parametrize("place", ["told", "flushing", "returned", "leaving", "finalizing"])
@pytest.mark.parametrize("how", BY_SIGNAL)
def test_a_signal_after_the_last_line_of_a_switch_leaves_its_exit_code(
    catalogs: list[Path], how: signal.Signals, place: str
) -> None:
    code, result, words = held(place, *arguments(catalogs[1]), how=how)
    assert result["outcome"] == "activated"
    assert (code, words) == ((5, words) if place == "told" else (0, ""))
    assert ("is active nevertheless" in words) == (place == "told")
    assert active_deploy(catalogs) == "d2"


@pytest.mark.parametrize("place", ["told", "returned"])
def test_a_signal_after_the_last_line_of_a_rollback_leaves_its_exit_code(catalogs: list[Path], place: str) -> None:
    deploy_catalog(catalogs[1], store=catalogs[0].parent / "store", embedder=EMBEDDER, remember=False)
    store = str(catalogs[0].parent / "store")
    code, result, _ = held(place, "rollback", "--store", store, "--json", how=signal.SIGTERM)
    assert (code, result["outcome"]) == (5 if place == "told" else 0, "activated")
    assert active_deploy(catalogs) == "d1"
