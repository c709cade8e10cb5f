"""`rank` and `evaluate` as their user sees them."""

from __future__ import annotations

import gzip
import json
import socket
from contextlib import closing
from pathlib import Path

import pytest

from indexer.adapters.directory_store import DirectoryStore
from indexer.adapters.vector_cache import VectorFile
from indexer.document import documents_of
from indexer.tool_lines import tool_lines_as_they_are
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
    (found,) = json.loads(shown.out)["sets"]
    report = found["rankers"][ranker]
    assert found["tools"] == len(ODD_TOOLS)
    assert report["queries"] == 2
    assert report["recall@1"] == report["ndcg@10"] == report["mrr"] == report["complete@5"] == 1.0
    assert set(report) >= {"recall@3", "recall@5", "recall@8", "recall@10", "p50_ms", "p95_ms", "hard", "abstained"}
    assert shown.out.count("\n") == 1


def test_evaluate_prints_a_row_for_each_set_and_counts_what_cannot_be_found(
    set_files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    catalog, queries = set_files
    assert _run("evaluate", "--catalog", catalog, "--queries", queries, "--ranker", "lexical") == 0
    shown = capsys.readouterr()
    head, row, *_ = shown.out.splitlines()
    assert row.split()[:5] == ["catalog", "lexical", str(len(ODD_TOOLS)), "3", "66.7"]
    assert "false returns" not in head
    assert "catalog: 1 of 3 queries want tools that the catalog does not hold (1 names)" in shown.err


def test_evaluate_compares_two_rankers_on_several_sets_and_keeps_what_each_query_scored(
    set_files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "second"
    folder.mkdir()
    for file, name in zip(set_files, ("catalog.jsonl.gz", "queries.jsonl"), strict=True):
        (folder / name).write_bytes(file.read_bytes())
    catalog, queries = set_files
    kept = tmp_path / "kept.jsonl"
    arguments = ("evaluate", folder, "--catalog", catalog, "--queries", queries, "--fold", "dev,test")
    assert _run(*arguments, "--compare", "lexical,hybrid", "--per-query", kept, "--unserveable", queries) == 0
    ran = capsys.readouterr()
    assert "second: --unserveable: 2 of 3 queries want a tool that this catalog holds" in ran.err
    shown = ran.out
    assert [line.split("  ")[0] for line in shown.splitlines()].count("mean of the sets") == 3
    assert "false returns" in shown
    assert "hybrid minus lexical" in shown
    assert "2,000 resamples, seed 1" in shown
    assert len(kept.read_bytes().splitlines()) == 2 * 2 * 3
    assert _run(*arguments, "--against", kept, "--resamples", 50, "--json") == 0
    comparison = json.loads(capsys.readouterr().out)["comparison"]
    assert (comparison["first"], comparison["second"]) == ("kept.jsonl", "hybrid")
    assert comparison["resamples"] == 50
    assert comparison["mean_over_sets"]["recall@5"] == {"mean": 0.0, "low": 0.0, "high": 0.0}


def test_evaluate_reads_a_surface_of_an_export(
    set_files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = {"name": "file_delete", "description": "Delete a file", "input_schema": {"type": "object"}}
    export = {"version": 1, "application": "shop", "surfaces": {"a": {"tools": [tool]}, "b": {"tools": []}}}
    path = tmp_path / "shop.json"
    path.write_text(json.dumps(export))
    arguments = ("evaluate", "--catalog", path, "--queries", set_files[1], "--ranker", "lexical", "--json")
    assert _run(*arguments, "--surface", "a") == 0
    assert json.loads(capsys.readouterr().out)["sets"][0]["tools"] == 1
    for rest, said in (((), "--surface: say which of shop.json: a, b"), (("--surface", "c"), "it has: a, b")):
        assert _run(*arguments, *rest) == 1
        assert said in capsys.readouterr().err


def test_an_evaluation_remembers_vectors_and_a_damaged_cache_costs_only_time(
    set_files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog, queries = set_files
    cache = tmp_path / "vectors"
    texts = {document.text_digest for document in documents_of(tool_lines_as_they_are(_unpacked(catalog)))}

    def recall() -> float:
        assert _run("evaluate", "--catalog", catalog, "--queries", queries, "--cache", cache, "--json") == 0
        (report,) = json.loads(capsys.readouterr().out)["sets"]
        found = report["rankers"]["hybrid"]["recall@1"]
        assert isinstance(found, float)
        return found

    def remembered() -> set[str]:
        with closing(VectorFile(cache)) as kept:
            return set(kept.find(default_embedder(threads=1).manifest.identity, sorted(texts)))

    built = recall()
    assert remembered() == texts
    assert recall() == built
    cache.write_bytes(cache.read_bytes()[:200] + b"damaged" * 9_999)
    assert recall() == built
    assert remembered() == texts


def _unpacked(path: Path) -> bytes:
    with gzip.open(path) as file:
        return file.read()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "SET: say what to evaluate"),
        (("--catalog", "{catalog}"), "--catalog, --queries: come in pairs"),
        (("--catalog", "{catalog}", "--queries", "{queries}") * 2, "two sets are called catalog"),
        (("{folder}", "--compare", "lexical,dense", "--ranker", "dense"), "--ranker, --compare"),
        (("{folder}", "--compare", "lexical,dense", "--against", "{queries}"), "--compare, --against"),
    ],
)
def test_evaluate_refuses_what_makes_no_sense(
    set_files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    catalog, queries = set_files
    formed = [text.format(catalog=catalog, queries=queries, folder=catalog.parent) for text in arguments]
    assert _run("evaluate", *formed) == 2
    assert said in capsys.readouterr().err


def test_evaluate_says_what_is_wrong_with_a_set_or_an_earlier_run(
    set_files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog, queries = set_files
    twice, other, stranger = tmp_path / "twice.jsonl", tmp_path / "other.jsonl", tmp_path / "stranger.jsonl"
    twice.write_text(queries.read_text() + "\n" + queries.read_text())
    line = {"set": "catalog", "ranker": "lexical", "id": "x"}
    metrics = dict.fromkeys(("recall@1", "recall@3", "recall@5", "recall@8", "recall@10", "ndcg@10", "mrr"), 1.0)
    metrics["complete@5"] = 1.0
    stranger.write_text(json.dumps({**line, "metrics": metrics}))
    other.write_text(json.dumps({**line, "set": "shop", "metrics": metrics}))
    pair = ("--catalog", catalog, "--queries", queries)
    for arguments, said in (
        ((tmp_path,), "holds no catalog; needs one of catalog.jsonl"),
        (("--catalog", catalog, "--queries", twice), "twice.jsonl: id: 3 line(s) repeat"),
        ((*pair, "--against", tmp_path / "nowhere"), "--against"),
        ((*pair, "--against", other), "the file holds nothing of catalog by lexical; it holds shop by lexical"),
        ((*pair, "--against", stranger), "the file holds none of the 3 queries of catalog"),
        ((*pair, "--against", queries), "line 1: set: Field required; needs a file that --per-query wrote"),
        ((*pair, "--per-query", tmp_path / "no" / "folder"), "--per-query"),
        ((*pair, "--per-query", tmp_path), "is no file in a folder that is there"),
        ((tmp_path / "nowhere",), "nowhere: is no folder; needs one with catalog.jsonl and queries.jsonl"),
    ):
        assert _run("evaluate", *arguments, "--ranker", "lexical") == 1
        assert said in capsys.readouterr().err
    assert _run("evaluate", *pair, "--per-query", "-", "--ranker", "lexical") == 2
    assert "--per-query -: standard output has the report; name a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fold", "nope"), "--fold: no query of --queries left; they have dev, test"),
        (("--fold", "dev", "--split", "nope"), "--split: no query of --queries left; they have hard"),
        (("--fold", "test", "--split", "nope"), "left; none of them has that field; leave the option out"),
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
        ((empty, queries), "catalog: the file holds no tool"),
        ((nameless, queries), "catalog: name"),
        ((queries, queries), f"{queries}: 6 faults in the tool set:"),
        ((tmp_path, queries), "is a folder; give the file in it"),
        ((tmp_path / "nowhere", queries), "--catalog"),
        ((broken, queries), "not a whole gzip file"),
        ((catalog, tmp_path / "nowhere"), "--queries"),
    ):
        assert _run("evaluate", "--catalog", files[0], "--queries", files[1], "--ranker", "lexical") == 1
        shown = capsys.readouterr()
        assert said in shown.err
        assert shown.out == ""
