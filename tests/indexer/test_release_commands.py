"""`activate`, `rollback`, `prune`, `watch`, `verify`, `inspect`, and what `deploy` says to a pipeline."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from indexer.__main__ import COMMANDS
from indexer.adapters.directory_store import DirectoryStore
from indexer.artefact import Artefact, IndexManifest
from indexer.commands import verify as verify_command
from indexer.deploying import deploy_catalog
from indexer.errors import BuildError
from indexer.report import failure_json
from models.adapters.local_files import read_packaged_model
from surface.adapters.command_line import run
from tests.indexer.samples import EMBEDDER, NOW, catalog_json, tool_json

QUERY = "zebra crossing 7731"
TOOLS = {"create_issue": "Creates an issue.", "list_files": "Lists files.", "send_mail": "Sends a letter by mail."}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


class Line:
    """The command line over one store."""

    def __init__(self, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.place = place
        self._capsys = capsys
        self.err = ""

    def __call__(self, *argv: str | Path, code: int = 0) -> str:
        """What a command prints, which ends with this code."""
        arguments = [str(argument) for argument in (*argv, "--store", self.place)]
        assert run(COMMANDS, "toolsurface", arguments) == code
        told = self._capsys.readouterr()
        self.err = told.err
        return told.out

    def json(self, *argv: str | Path, code: int = 0) -> Any:
        return json.loads(self(*argv, "--json", code=code))


@pytest.fixture
def line(place: Path, capsys: pytest.CaptureFixture[str]) -> Line:
    return Line(place, capsys)


def written(folder: Path) -> list[Path]:
    """Three catalogs, each with a tool more."""
    paths = [folder / f"catalog-{number}.json" for number in (1, 2, 3)]
    for number, path in enumerate(paths, start=1):
        tools = [tool_json(name, description=text) for name, text in list(TOOLS.items())[:number]]
        path.write_bytes(catalog_json(*tools, deploy=f"d{number}"))
    return paths


@pytest.fixture
def catalogs(tmp_path: Path) -> list[Path]:
    return written(tmp_path)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that three deploys went to, for tests to copy."""
    folder = tmp_path_factory.mktemp("three") / "store"
    for path in written(folder.parent):
        deploy_catalog(path, store=folder, remember=False)
    return folder


@pytest.fixture
def releases(three: Path, place: Path) -> list[str]:
    """The ids of three releases, the oldest first; the last one is active."""
    shutil.copytree(three, place)
    return [line.release for line in DirectoryStore(place).ledger("app").activations]


def active(line: Line) -> str:
    release: str = line.json("status")["applications"][0]["release"]
    return release


def test_rolling_back_twice_ends_where_it_began(line: Line, releases: list[str]) -> None:
    assert line.json("rollback") == {
        "outcome": "activated",
        "application": "app",
        "release": releases[1],
        "deploy": "d2",
        "previous": releases[2],
        "unchanged": False,
    }
    assert active(line) == releases[1]
    assert "is active (deploy d3)" in line("rollback")
    assert active(line) == releases[2]


def test_any_kept_release_can_be_activated_by_the_beginning_of_its_id(line: Line, releases: list[str]) -> None:
    line("activate", releases[0][:6])
    assert active(line) == releases[0]
    assert "was active already" in line("activate", releases[0])
    assert line.json("status")["applications"][0]["releases"] == [releases[0], releases[2], releases[1]]


@pytest.mark.parametrize("asked", ["", "0123", "nonsense", "0" * 33])
def test_what_can_be_no_release_is_wrong_use_of_any_command(line: Line, releases: list[str], asked: str) -> None:
    for argv in (
        ("activate", asked),
        ("watch", "--timeout", "0", "--until", asked),
        ("inspect", "--release", asked),
    ):
        line(*argv, code=2)
        assert "needs the id of a release, 32 hexadecimal digits as status lists them, or its first 6" in line.err
    assert active(line) == releases[2]


@pytest.mark.parametrize(
    "command",
    ["status", "watch", "verify", "prune", "rollback", "activate 000000", "inspect"],
)
def test_what_can_be_no_application_is_wrong_use_of_any_command(line: Line, three: Path, command: str) -> None:
    shutil.copytree(three, line.place)
    argv = command.split()
    for asked in ("", "a/b", "a" * 65):
        line(*argv, "--application", asked, code=2)
        assert line.err.startswith(f"toolsurface {argv[0]}: --application: ")


@pytest.mark.parametrize("asked", ["0" * 32, "0" * 6])
def test_a_release_that_is_not_kept_is_refused_and_those_kept_are_told(
    line: Line, releases: list[str], asked: str
) -> None:
    line("activate", asked, code=1)
    assert f"kept are {releases[2][:12]}, {releases[1][:12]}, {releases[0][:12]}" in line.err
    assert active(line) == releases[2]


def test_there_is_nothing_to_go_back_to_after_one_deploy(line: Line, catalogs: list[Path]) -> None:
    line("deploy", catalogs[0])
    line("rollback", code=1)
    assert "no earlier release is kept" in line.err


def test_a_damaged_release_is_not_activated(line: Line, releases: list[str], place: Path) -> None:
    store = DirectoryStore(place)
    older = store.ledger("app").releases[1]
    version = older.surfaces["reader"].version
    (found,) = place.rglob(f"{version}/vectors.npy")
    found.write_bytes(found.read_bytes()[:-1])
    line("rollback", code=1)
    assert "vectors.npy" in line.err
    assert active(line) == releases[2]


def test_pruning_says_what_goes_and_keeps_what_is_needed(line: Line, releases: list[str], place: Path) -> None:
    assert line.json("prune", "--keep", "3")["versions"] == []
    spared = line.json("prune", "--keep", "1", "--dry-run")  # its versions were published a moment ago
    assert (spared["versions"], len(spared["releases"])) == ([], 2)
    dry = line.json("prune", "--keep", "2", "--spare-hours", "0", "--dry-run")
    assert (len(dry["versions"]), dry["releases"], dry["dry_run"]) == (1, [releases[0]], True)
    assert line.json("status")["applications"][0]["releases"] == releases[::-1]


def test_pruning_frees_the_versions_of_releases_that_are_not_kept(line: Line, releases: list[str], place: Path) -> None:
    said = line("prune", "--keep", "2", "--spare-hours", "0")
    assert said.startswith("app: 1 version, ")
    assert "2 releases kept" in said
    assert f"  release {releases[0][:12]} is kept no longer: nothing goes back to it\n" in said
    line("activate", releases[0], code=1)
    line("rollback")
    assert active(line) == releases[1]
    assert line("verify")


def test_verify_proves_every_kept_release(line: Line, releases: list[str], place: Path) -> None:
    assert line.json("verify")["sound"]
    kept = DirectoryStore(place).ledger("app").releases[-1].surfaces["reader"].version
    (found,) = place.rglob(f"{kept}/words.json")
    found.write_bytes(b"[]")
    assert not line.json("verify", code=1)["sound"]
    assert line.json("status")["sound"]  # of the active release


@pytest.mark.parametrize("data", [b"", b"\xff", b"{}", b"[]"])
def test_a_manifest_that_is_none_is_told_with_its_place_and_the_fix(
    line: Line, releases: list[str], place: Path, data: bytes
) -> None:
    older = DirectoryStore(place).ledger("app").releases[1]
    version = older.surfaces["reader"].version
    (found,) = place.rglob(f"{version}/manifest.json")
    found.write_bytes(data)
    for command in (["rollback"], ["activate", older.id]):
        line(*command, code=1)
        told = line.json(*command, code=1)["error"]
        for said in (told, line.err):
            assert f"{version}: surface reader of application app: manifest.json: " in said
            assert said.rstrip().endswith("; deploy the catalog it came from again")
            assert "instance of" not in said


def test_a_damaged_release_that_is_kept_is_mended_by_its_own_catalog_or_pruned_away(
    line: Line, releases: list[str], place: Path, tmp_path: Path
) -> None:
    catalogs = written(tmp_path)
    kept = DirectoryStore(place).ledger("app").releases[1].surfaces["reader"].version
    (found,) = place.rglob(f"{kept}/words.json")
    sound = found.read_bytes()
    found.write_bytes(b"[]")
    said = line("verify", code=1)
    assert "deploy the catalog it came from again" in said
    assert "nothing serves it; to do without it, prune" in said
    deploy_catalog(catalogs[2], store=place, remember=False)
    assert not line.json("verify", code=1)["sound"]
    deploy_catalog(catalogs[1], store=place, remember=False)
    assert line.json("verify")["sound"]
    assert found.read_bytes() == sound
    line("activate", releases[2])
    found.write_bytes(b"[]")
    line("prune", "--keep", "1", "--spare-hours", "0")
    assert line.json("verify")["sound"]


@pytest.mark.parametrize("command", ["verify", "status"])
def test_a_ledger_that_is_gone_or_changed_is_told_without_being_asked_for(
    line: Line, releases: list[str], place: Path, command: str
) -> None:
    path = place / "applications" / "app" / "ledger.json"
    whole = path.read_text()
    path.write_text(whole.replace('"deploy":"d3"', '"deploy":"d8"'))
    assert "checksum" in line(command, code=1)
    path.unlink()
    assert "app: has no ledger" in line(command, code=1)


def test_verify_makes_the_active_release_again_from_its_catalog(
    line: Line, releases: list[str], catalogs: list[Path]
) -> None:
    compared = line.json("verify", "--catalog", catalogs[2])["compared"]
    assert compared == [{"surface": "reader", "vectors": 3, "problems": []}]
    assert "2 vectors made again" in line("verify", "--catalog", catalogs[2], "--sample", "2")
    assert "holds more than 2 tools" in _told(line, "--catalog", catalogs[2], "--max-tools", "2", code=1)
    said = line("verify", "--catalog", catalogs[1], code=1)
    assert "tools that the catalog does not have: send_mail" in said
    line("verify", "--sample", "2", code=2)


def test_verify_holds_a_catalog_against_no_other_application(line: Line, place: Path, catalogs: list[Path]) -> None:
    deploy_catalog(catalogs[0], store=place, embedder=EMBEDDER, remember=False)
    told = _told(line, "--catalog", catalogs[0], "--application", "other", code=2)
    assert told == "toolsurface verify: --application: the catalog is one of app; leave the option out\n"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"calibration": {"low": 0.999}}, "its calibration, by which a ranking abstains, is not that of its vectors"),
        ({"model_revision": "another"}, "what it says of its model's dimension, revision or files is not so"),
        ({"model_files": {"model.onnx": "0" * 64}}, "what it says of its model's dimension, revision or files"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_manifest_that_was_made_by_hand_is_not_what_the_catalog_makes(
    line: Line, place: Path, catalogs: list[Path], monkeypatch: pytest.MonkeyPatch, changed: Any, told: str
) -> None:
    monkeypatch.setattr(verify_command, "chosen_embedder", lambda *_, **__: EMBEDDER)
    deploy_catalog(catalogs[2], store=place, embedder=EMBEDDER, remember=False)
    store = DirectoryStore(place)
    release = store.active("app")
    assert release is not None
    ((key, made),) = release.surfaces.items()
    artefact = store.load("app", key, made.version)
    plain = artefact.manifest.to_plain() | changed
    plain["calibration"] = artefact.manifest.calibration.model_dump() | changed.get("calibration", {})
    by_hand = Artefact(manifest=IndexManifest.model_validate(plain), files=artefact.files)
    store.publish(by_hand, at=NOW)
    surfaces = {key: made.model_copy(update={"version": by_hand.version})}
    store.activate(release.model_copy(update={"surfaces": surfaces}), expected=release.id, at=NOW)
    line("status")
    (compared,) = line.json("verify", "--catalog", catalogs[2], code=1)["compared"]
    assert [problem.startswith(told) for problem in compared["problems"]] == [True]
    assert "; deploy --rebuild makes all of it anew" in _told(line, "--catalog", catalogs[2], code=1)
    deploy_catalog(catalogs[2], store=place, embedder=EMBEDDER, remember=False)
    line("verify", "--catalog", catalogs[2], code=1)  # what is at hand answers the catalog, as far as a deploy looks
    again = deploy_catalog(catalogs[2], store=place, embedder=EMBEDDER, rebuild=True)
    assert again.embedded == 3
    line("verify", "--catalog", catalogs[2])


def test_verify_makes_vectors_again_with_the_model_it_is_told(
    line: Line, place: Path, catalogs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy_catalog(catalogs[2], store=place, embedder=EMBEDDER, remember=False)
    packaged = read_packaged_model().manifest
    said = line("verify", "--catalog", catalogs[2], "--model", packaged.name, code=1)
    assert EMBEDDER.manifest.identity in said
    assert packaged.identity in said
    assert "; verify with the --model that it was deployed with" in said
    assert "deploy again" not in said
    told = _told(line, "--catalog", catalogs[2], "--model", "org/none", code=1)
    assert "pip install 'toolsurface[sentence-transformers]'" in told
    assert "--model: goes with --catalog" in _told(line, "--model", packaged.name, code=2)
    # Only a model of torch could be named here; `tests/with_torch` names one.
    monkeypatch.setattr(verify_command, "chosen_embedder", lambda *_, **__: EMBEDDER)
    compared = line.json("verify", "--catalog", catalogs[2], "--model", "./hashing")["compared"]
    assert compared == [{"surface": "reader", "vectors": 3, "problems": []}]


def _told(line: Line, *argv: str | Path, code: int) -> str:
    line("verify", *argv, code=code)
    return line.err


def test_inspect_prints_an_index_version(line: Line, releases: list[str]) -> None:
    said = line("inspect")
    model = read_packaged_model().manifest
    for part in (
        "app/reader",
        f"{model.identity}, 384 dimensions, revision {model.revision}",
        "the model's 2 files, by sha256",
        model.files["model.onnx"].sha256[:12],
        model.files["tokenizer.json"].sha256[:12],
        "3, of 3 distinct texts",
        "vectors.npy",
        "send_mail",
    ):
        assert part in said
    older = line.json("inspect", "reader", "--release", releases[0], "--tools", "5")
    assert [tool["name"] for tool in older["tools"]] == ["create_issue"]
    assert older["manifest"]["tools"] == 1
    assert older["manifest"]["model_revision"] == model.revision
    assert older["manifest"]["model_files"] == {name: pin.sha256 for name, pin in model.files.items()}
    line("inspect", "nothing", code=2)
    assert "needs one of reader" in line.err


def test_a_release_of_another_versions_format_is_said_and_the_next_deploy_puts_it_right(
    line: Line, place: Path, releases: list[str], catalogs: list[Path]
) -> None:
    for path in place.rglob("manifest.json"):
        path.write_text(json.dumps(json.loads(path.read_bytes()) | {"format": 2}))
    for command, told in (("inspect", "err"), ("status", "out")):
        out = line(command, code=1)
        assert "written by another version of toolsurface" in (line.err if told == "err" else out)
        assert "deploy the catalog it came from again" in (line.err if told == "err" else out)
    assert "is active; embedded 3 texts" in line("deploy", catalogs[-1])
    line("inspect")


def test_watch_tells_what_is_active_and_ends_with_what_it_waits_for(line: Line, releases: list[str]) -> None:
    told = json.loads(line("watch", "--until", releases[2], "--json"))
    assert (told["release"], told["deploy"], told["application"]) == (releases[2], "d3", "app")
    assert releases[2][:12] in line("watch", "--timeout", "0")
    assert releases[2][:12] in line("watch", "--until", releases[2][:6])
    line("watch", "--until", "0" * 32, "--timeout", "0", code=1)
    assert "has not become active within 0 s" in line.err
    line("watch", "--until", "2a", "--timeout", "0", code=2)
    assert line.err.startswith("toolsurface watch: --until: needs the id of a release")


def test_an_application_that_is_not_alone_has_to_be_named(line: Line, catalogs: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_bytes(catalog_json(tool_json("a"), application="other"))
    for path in (catalogs[0], catalogs[1], other):
        line("deploy", path)
    line("rollback", code=2)
    assert "the store serves: app, other" in line.err
    line("rollback", "--application", "app")
    line("rollback", "--application", "nobody", code=1)


def canaries(tmp_path: Path, *lines: dict[str, Any]) -> Path:
    path = tmp_path / "canaries.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in lines))
    return path


def test_a_canary_that_fails_has_an_exit_code_of_its_own_and_its_query_is_told_nowhere(
    line: Line, catalogs: list[Path], tmp_path: Path
) -> None:
    good = {"query": "lists the files", "tool": "list_files", "first": 1}
    bad = {"query": QUERY, "tool": "list_files", "first": 1} | {"query": f"send_mail {QUERY}"}
    line("deploy", catalogs[0])
    told = line.json("deploy", catalogs[2], "--canaries", canaries(tmp_path, good, bad), code=3)
    assert (told["outcome"], told["reason"]) == ("failed", "canaries")
    assert [(one["line"], one["tool"]) for one in told["canaries"]] == [(2, "list_files")]
    assert "line 2: list_files of surface reader" in line.err
    assert QUERY not in json.dumps(told) + line.err
    assert line.json("status")["applications"][0]["deploy"] == "d1"
    said = line("deploy", catalogs[2], "--canaries", canaries(tmp_path, good))
    assert "found what every canary asked for (1)" in said


@pytest.mark.usefixtures("releases")
@pytest.mark.parametrize("command", [["rollback"], ["activate", "ffffff"]])
def test_a_release_that_is_not_kept_is_a_reason_of_its_own(line: Line, command: list[str]) -> None:
    told = line.json(*command, "--application", "other", code=1)
    assert (told["outcome"], told["reason"], told["switched"]) == ("failed", "release", False)
    assert line.err.rstrip().endswith("none is kept")


def test_vectors_that_no_model_may_make_are_the_models_fault() -> None:
    assert failure_json(BuildError("not of length 1"))["reason"] == "model"


def test_what_failed_is_one_json_object_too(line: Line, catalogs: list[Path], tmp_path: Path, place: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_bytes(catalog_json(tool_json("a b")))
    told = line.json("deploy", broken, code=1)
    assert told["reason"] == "catalog"
    assert "a b" in told["faults"][0]["where"]
    told = line.json("deploy", tmp_path / "nothing.json", code=1)
    assert (told["outcome"], told["reason"], told["switched"]) == ("failed", "catalog", False)
    assert (
        line.json("deploy", catalogs[0], "--canaries", canaries(tmp_path, {QUERY: 1}), code=1)["reason"]
        == "canary_file"
    )
    place.write_bytes(b"")
    assert line.json("deploy", catalogs[0], code=1)["reason"] == "store"


def test_a_dry_run_writes_nothing_and_the_deploy_after_it_recalls_its_vectors(
    line: Line, catalogs: list[Path], place: Path
) -> None:
    dry = line.json("deploy", catalogs[0], "--dry-run")
    assert (dry["outcome"], dry["embedded"]) == ("dry_run", 1)
    assert not place.exists()
    deployed = line.json("deploy", catalogs[0])
    assert (deployed["outcome"], deployed["embedded"], deployed["recalled"]) == ("activated", 0, 1)
    assert deployed["release"] == dry["release"]
    assert line.json("deploy", catalogs[0])["outcome"] == "unchanged"


def test_every_command_has_a_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            run(COMMANDS, "toolsurface", [command.name, "--help"])
        assert ended.value.code == 0
    assert "Exit codes: 0" in capsys.readouterr().out
