"""What every command ends with, whatever befell it: one table, which the page on deploying shows too.

Each command is run with `--json`. Standard output holds JSON or nothing, standard error one line where it failed.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from indexer.__main__ import COMMANDS
from indexer.adapters.directory_store import DirectoryStore
from indexer.commands import arguments as arguments_of_commands
from indexer.commands import deploy as deploy_command
from indexer.commands import import_files as import_command
from indexer.commands import verify as verify_command
from indexer.deploying import deploy_catalog
from indexer.release import Release
from selector.commands import evaluate as evaluate_command
from selector.commands.evaluate import EVALUATE
from surface.adapters.command_line import run
from tests.indexer.redis_server import free_port
from tests.indexer.samples import EMBEDDER, NOW, catalog_json, tool_json

PAGE = Path(__file__).parents[2] / "docs" / "deploying.md"
OUTCOMES = ("done", "wrong use", "bad file", "no store there", "store away", "refused", "overtaken", "Ctrl-C")
CODES: dict[str, tuple[int | None, ...]] = {
    "import": (0, 2, 1, None, None, 1, None, 130),
    "deploy": (0, 2, 1, 0, 1, 3, 4, 130),
    "status": (0, 2, None, 2, 1, 1, None, 130),
    "activate": (0, 2, None, 2, 1, 1, 4, 130),
    "rollback": (0, 2, None, 2, 1, 1, 4, 130),
    "prune": (0, 2, None, 2, 1, 1, None, 130),
    "watch": (0, 2, None, 2, 1, 1, None, 130),
    "verify": (0, 2, 1, 2, 1, 1, None, 130),
    "inspect": (0, 2, None, 2, 1, 1, None, 130),
    "evaluate": (0, 2, 1, None, None, 1, None, 130),
}
"""By command, in the order of `OUTCOMES`; None where that cannot befall it."""
LINES = {
    ("import", "done"): "import github=tools.jsonl --application app --surface reader -o out.json",
    ("import", "wrong use"): "import github=tools.jsonl --application app",
    ("import", "bad file"): "import broken.json --application app --surface reader -o out.json",
    ("import", "refused"): "import mixed.jsonl --strict --application app --surface reader -o out.json",
    ("deploy", "done"): "deploy d4.json --store store",
    ("deploy", "wrong use"): "deploy d4.json --store store --threads none",
    ("deploy", "bad file"): "deploy broken.json --store store",
    ("deploy", "no store there"): "deploy d4.json --store new",
    ("deploy", "store away"): "deploy d4.json --store {away} --wait 0",
    ("deploy", "refused"): "deploy d4.json --store store --canaries canaries.jsonl",
    ("deploy", "overtaken"): "deploy d4.json --store store",
    ("status", "done"): "status --store store",
    ("status", "wrong use"): "status --store store --what",
    ("status", "no store there"): "status --store new",
    ("status", "store away"): "status --store {away}",
    ("status", "refused"): "status --store store --application nobody",
    ("activate", "done"): "activate {first} --store store",
    ("activate", "wrong use"): "activate nonsense --store store",
    ("activate", "no store there"): "activate {first} --store new",
    ("activate", "store away"): "activate {first} --store {away} --application app",
    ("activate", "refused"): "activate 000000 --store store",
    ("activate", "overtaken"): "activate {first} --store store",
    ("rollback", "done"): "rollback --store store",
    ("rollback", "wrong use"): "rollback --store store --application a/b",
    ("rollback", "no store there"): "rollback --store new",
    ("rollback", "store away"): "rollback --store {away} --application app",
    ("rollback", "refused"): "rollback --store damaged",
    ("rollback", "overtaken"): "rollback --store store",
    ("prune", "done"): "prune --store store --keep 1",
    ("prune", "wrong use"): "prune --store store --keep 0",
    ("prune", "no store there"): "prune --store new",
    ("prune", "store away"): "prune --store {away} --application app",
    ("prune", "refused"): "prune --store damaged",
    ("watch", "done"): "watch --store store --timeout 0",
    ("watch", "wrong use"): "watch --store store --timeout -1",
    ("watch", "no store there"): "watch --store new --timeout 0",
    ("watch", "store away"): "watch --store {away} --timeout 0",
    ("watch", "refused"): "watch --store store --timeout 0 --until 000000",
    ("verify", "done"): "verify --store store",
    ("verify", "wrong use"): "verify --store store --sample 3",
    ("verify", "bad file"): "verify --store store --catalog broken.json",
    ("verify", "no store there"): "verify --store new",
    ("verify", "store away"): "verify --store {away}",
    ("verify", "refused"): "verify --store damaged",
    ("inspect", "done"): "inspect --store store",
    ("inspect", "wrong use"): "inspect nothing --store store",
    ("inspect", "no store there"): "inspect --store new",
    ("inspect", "store away"): "inspect --store {away} --application app",
    ("inspect", "refused"): "inspect --store damaged",
    ("evaluate", "done"): "evaluate set --ranker lexical",
    ("evaluate", "wrong use"): "evaluate set --ranker lexical --compare lexical,hybrid",
    ("evaluate", "bad file"): "evaluate --catalog broken.json --queries set/queries.jsonl --ranker lexical",
    ("evaluate", "refused"): "evaluate set --ranker lexical --split nobody",
}


class Interfering(DirectoryStore):
    """A store in which something happens before a ledger is read, or before an activation."""

    looking: Callable[[], object] = staticmethod(lambda: None)
    switching: Callable[[], object] = staticmethod(lambda: None)

    def _ledger_bytes(self, application: str) -> bytes | None:
        type(self).looking()
        return super()._ledger_bytes(application)

    def activate(self, release: Release, **how: Any) -> None:
        type(self).switching()
        super().activate(release, **how)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files, a store of three releases, and one whose ledger and versions are damaged; for tests to copy."""
    folder = tmp_path_factory.mktemp("made")
    for number in range(1, 5):
        tools = [tool_json("list_files"), tool_json("send_mail")][: 1 + number % 2]
        (folder / f"d{number}.json").write_bytes(catalog_json(*tools, deploy=f"d{number}"))
    for number in range(1, 4):
        deploy_catalog(folder / f"d{number}.json", store=folder / "store", embedder=EMBEDDER, remember=False)
    shutil.copytree(folder / "store", folder / "damaged")
    ledger = folder / "damaged" / "applications" / "app" / "ledger.json"
    ledger.write_bytes(ledger.read_bytes().replace(b"d2", b"d7"))
    (folder / "broken.json").write_bytes(b'{"version": 1')
    (folder / "tools.jsonl").write_bytes(b'{"name": "list_files", "description": "Lists files."}\n')
    (folder / "mixed.jsonl").write_bytes(b'{"name": "a"}\n{"name": "no name"}\n')
    (folder / "canaries.jsonl").write_bytes(b'{"query": "quarterly rain", "tool": "list_files"}\n')
    (folder / "set").mkdir()
    shutil.copy(folder / "tools.jsonl", folder / "set" / "catalog.jsonl")
    (folder / "set" / "queries.jsonl").write_bytes(b'{"id": "1", "query": "list files", "relevant": ["list_files"]}\n')
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for command in (deploy_command, verify_command):
        monkeypatch.setattr(command, "chosen_embedder", lambda *_, **__: EMBEDDER)
    return tmp_path


def ended(line: str, folder: Path) -> int:
    """How a command line ended."""
    first = DirectoryStore(folder / "store").ledger("app").activations[0].release
    argv = shlex.split(line.format(first=first, away=f"redis://127.0.0.1:{free_port()}"))
    try:
        return run((*COMMANDS, EVALUATE), "toolsurface", [*argv, "--json"])
    except SystemExit as raised:  # which is how argparse ends
        return int(raised.code or 0)


def befall(outcome: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets happen what a command line alone does not bring about."""

    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGINT)

    def overtaken() -> None:
        store = DirectoryStore(folder / "store")
        active, *_, oldest = store.ledger("app").releases
        twin = oldest.model_copy(update={"deploy": "faster"})
        store.activate(twin, expected=active.id, at=NOW)

    if outcome == "Ctrl-C":
        monkeypatch.setattr(Interfering, "looking", staticmethod(interrupted))
        monkeypatch.setattr(import_command, "read_catalog_bytes", interrupted)
        monkeypatch.setattr(evaluate_command, "read_set_file", interrupted)
    if outcome == "overtaken":
        monkeypatch.setattr(Interfering, "switching", staticmethod(overtaken))
    if outcome in ("Ctrl-C", "overtaken"):
        monkeypatch.setattr(arguments_of_commands, "open_store", lambda where, **_: Interfering(folder / where))


@pytest.mark.parametrize(
    ("verb", "outcome", "code"),
    [
        (verb, outcome, code)
        for verb, codes in CODES.items()
        for outcome, code in zip(OUTCOMES, codes, strict=True)
        if code is not None
    ],
)
def test_a_command_ends_with_its_code_one_line_and_json_alone(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: str,
    outcome: str,
    code: int,
) -> None:
    befall(outcome, folder, monkeypatch)
    line = LINES[verb, "done" if outcome == "Ctrl-C" else outcome]
    assert ended(line, folder) == code
    said = capsys.readouterr()
    told = [json.loads(one) for one in said.out.splitlines()]
    assert len(told) == (1 if code == 0 else len(told)) <= 1
    if code == 0:
        assert said.err == ""
    else:
        head, *more = said.err.splitlines()
        assert head.startswith(f"toolsurface {verb}: ")
        assert len(head) > len(f"toolsurface {verb}: ")
        # A canary's failures are a list, a line each.
        assert [one for one in more if not one.startswith("  - ")] == []
        assert "Traceback" not in said.err


def test_the_table_on_the_page_is_this_one() -> None:
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    written = {verb: tuple(cell.strip() for cell in cells.split("|")) for verb, cells in rows}
    assert written == {
        verb: tuple("-" if code is None else str(code) for code in codes) for verb, codes in CODES.items()
    }


def test_every_command_of_the_indexer_is_in_the_table() -> None:
    assert {command.name for command in (*COMMANDS, EVALUATE)} == CODES.keys()
