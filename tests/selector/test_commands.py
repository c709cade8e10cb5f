"""`rank` and `evaluate` as their user sees them."""

from __future__ import annotations

import gzip
import json
import socket
from pathlib import Path

import pytest

from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import default_embedder
from selector.__main__ import COMMANDS
from surface.adapters.command_line import run
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, put

ODD_TOOLS = {**TOOLS, "az vm create": "Create a virtual machine", "名前": "A tool with a name no catalog would take"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    put(DirectoryStore(folder), {SURFACE: TOOLS}, embedder=default_embedder(threads=1))
    return folder


@pytest.fixture(scope="module")
def set_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("set")
    catalog, queries = folder / "catalog.jsonl.gz", folder / "queries.jsonl"
    with gzip.open(catalog, "wt") as file:
        file.writelines(json.dumps({"name": n, "description": d}) + "\n" for n, d in ODD_TOOLS.items())
    judged = [
        {"id": "1", "query": "make a new virtual machine", "relevant": ["az vm create"], "fold": "dev"},
        {"id": "2", "query": "delete a file", "relevant": ["file_delete"], "fold": "dev", "split": "hard"},
        {"id": "3", "query": "delete a file", "relevant": ["no such tool"], "fold": "test"},
    ]
    queries.write_text("\n".join(map(json.dumps, judged)))
    return catalog, queries


def _run(*arguments: object) -> int:
    return run(COMMANDS, "selector", [str(argument) for argument in arguments])


def test_serve_on_a_port_that_is_taken_fails_in_one_line(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert _run("serve", "--store", store, "--port", taken.getsockname()[1]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert "--port" in shown.err


def test_serve_on_a_store_that_is_not_there_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("serve", "--store", tmp_path / "nowhere", "--port", 0) == 2
    assert "--store" in capsys.readouterr().err


def test_rank_prints_the_best_names_with_their_scores(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("rank", SURFACE, "delete a file", "--store", store, "--limit", 2) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == ["file_delete", "file_copy"]


def test_rank_as_json_is_the_reply_of_the_service(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("rank", SURFACE, "delete a file", "--store", store, "--application", APPLICATION, "--json") == 0
    reply = json.loads(capsys.readouterr().out)
    assert reply["surface"] == SURFACE
    assert reply["ranked"][0]["name"] == "file_delete"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((SURFACE, "--store", "{store}/nowhere"), 2, "--store"),
        (("no key!", "--store", "{store}"), 2, "SURFACE"),
        (("nobody", "--store", "{store}"), 1, f"serves: {SURFACE}"),
        ((SURFACE, "--store", "{store}", "--application", "other"), 1, f"serves: {APPLICATION}"),
    ],
)
def test_rank_says_what_is_wrong_without_the_query(
    store: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, said: str
) -> None:
    surface, *rest = (argument.format(store=store) for argument in arguments)
    assert _run("rank", surface, "s3cret-marker", *rest) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert "s3cret-marker" not in shown.err


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_rank_of_a_blank_query_is_wrong_use(store: Path, capsys: pytest.CaptureFixture[str], query: str) -> None:
    assert _run("rank", SURFACE, query, "--store", store) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "QUERY: is blank" in shown.err


@pytest.mark.parametrize("ranker", ["hybrid", "lexical", "dense"])
def test_evaluate_ranks_names_as_they_are(
    set_files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], ranker: str
) -> None:
    catalog, queries = set_files
    files = ("--catalog", catalog, "--queries", queries)
    assert _run("evaluate", *files, "--fold", "dev", "--ranker", ranker, "--json") == 0
    shown = capsys.readouterr()
    report = json.loads(shown.out)
    assert report["tools"] == len(ODD_TOOLS)
    assert report["queries"] == 2
    assert report["recall@1"] == report["ndcg@10"] == report["mrr"] == report["complete@5"] == 1.0
    assert set(report) >= {"recall@3", "recall@5", "recall@8", "recall@10", "build_s", "p50_ms", "p95_ms"}
    assert shown.out.count("\n") == 1


def test_evaluate_prints_a_table_of_all_queries_by_default(
    set_files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    catalog, queries = set_files
    assert _run("evaluate", "--catalog", catalog, "--queries", queries, "--ranker", "lexical") == 0
    table = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert table["queries"] == "3"
    assert table["recall@5"] == "0.667"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fold", "nope"), "--fold: no query left; the queries have dev, test"),
        (("--fold", "dev", "--split", "nope"), "--split"),
    ],
)
def test_evaluate_with_nothing_left_fails_and_says_what_there_is(
    set_files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    catalog, queries = set_files
    assert _run("evaluate", "--catalog", catalog, "--queries", queries, *options) == 1
    assert said in capsys.readouterr().err


def test_evaluate_names_the_file_that_cannot_be_used(
    set_files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog, queries = set_files
    empty, broken = tmp_path / "empty.jsonl", tmp_path / "broken.jsonl.gz"
    empty.write_text("\n")
    nameless = tmp_path / "nameless.jsonl"
    nameless.write_text('{"name": "", "description": "Nothing to call it by"}')
    broken.write_bytes(b"no gzip")
    for files, said in (
        ((empty, queries), "--catalog: the file holds no tool"),
        ((nameless, queries), "--catalog: name"),
        ((tmp_path / "nowhere", queries), "--catalog"),
        ((broken, queries), "not a whole gzip file"),
        ((catalog, tmp_path / "nowhere"), "--queries"),
    ):
        assert _run("evaluate", "--catalog", files[0], "--queries", files[1], "--ranker", "lexical") == 1
        shown = capsys.readouterr()
        assert said in shown.err
        assert shown.out == ""
