"""The quality benchmark: the rankers it compares with, the queries it makes, and one whole run on a small set."""

from __future__ import annotations

import asyncio
import gzip
import json
from math import log
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.quality.__main__ import main
from benchmarks.quality.bm25 import PlainBm25
from benchmarks.quality.encoder import read_encoder
from benchmarks.quality.fusion import RankFusion
from benchmarks.quality.names import name_queries
from indexer.catalog_file import CatalogTool
from models.adapters.local_files import DEFAULT_MODEL
from surface.ranking import Ranker
from surface.testing import ScriptedRanker
from tests.selector.builders import TOOLS, ask
from tests.strategies import LAW

WEIGHTS = Path(__file__).parents[2] / "models" / "weights" / DEFAULT_MODEL


def _tool(name: str, description: str, **parameters: str) -> CatalogTool:
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    return CatalogTool(name=name, description=description, input_schema={"type": "object", "properties": properties})


def _ranked(ranker: Ranker, query: str, *, limit: int = 5) -> dict[str, float]:
    reply = asyncio.run(ranker.rank(ask(query, limit=limit)))
    assert reply.abstained is not bool(reply.ranked)
    return {ranked.name: ranked.score for ranked in reply.ranked}


def test_bm25_is_the_formula_it_says_it_is() -> None:
    """`one` is 2 words long and `two` 4, so 3 on average; `copy` stands in one of them, once."""
    ranker = PlainBm25([_tool("one", "copy"), _tool("two", "move old files")], parameters=False)
    idf = log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    assert _ranked(ranker, "COPY") == {"one": pytest.approx(idf / (1 + 1.2 * (0.25 + 0.75 * 2 / 3)))}
    assert _ranked(ranker, "copy copy") == {"one": pytest.approx(2 * idf / (1 + 1.2 * (0.25 + 0.75 * 2 / 3)))}


def test_bm25_counts_words_without_function_words_and_plural_endings() -> None:
    ranker = PlainBm25([_tool("listCities", "All the boxes of us"), _tool("other", "Nothing else")], parameters=False)
    for query in ("city", "Boxes", "LIST"):
        assert list(_ranked(ranker, query)) == ["listCities"]
    assert _ranked(ranker, "of the us") == {}


def test_bm25_reads_parameters_only_where_it_is_told_to() -> None:
    tools = [_tool("send", "Send it", recipientName="Who gets the parcel"), _tool("wait", "Do nothing")]
    for query in ("recipient", "parcel"):
        assert _ranked(PlainBm25(tools, parameters=False), query) == {}
        assert list(_ranked(PlainBm25(tools, parameters=True), query)) == ["send"]


def test_rank_fusion_adds_what_each_position_is_worth() -> None:
    first, second = ScriptedRanker(answers={"q": ["a", "b"]}), ScriptedRanker(answers={"q": ["b", "c"]})
    found = _ranked(RankFusion(first, second), "q")
    assert found == {"b": pytest.approx(1 / 62 + 1 / 61), "a": pytest.approx(1 / 61), "c": pytest.approx(1 / 62)}
    assert list(found) == ["b", "a", "c"]
    assert list(_ranked(RankFusion(first, second), "q", limit=1)) == ["b"]
    assert _ranked(RankFusion(first, second), "nothing") == {}


@LAW
@given(st.lists(st.text(min_size=1, max_size=20).filter(str.strip), unique=True, max_size=8))
def test_a_typo_is_never_a_name_and_differs_by_one_edit(names: list[str]) -> None:
    for query in name_queries(names, sample=10)["typo"]:
        (name,) = query.relevant
        assert query.query not in names
        assert abs(len(query.query) - len(name)) <= 1
        start = next((at for at, (a, b) in enumerate(zip(name, query.query, strict=False)) if a != b), len(name))
        assert name[start + 2 :] in query.query[start:]


def test_only_names_that_a_catalog_may_hold_are_asked_for_and_in_a_sentence_only_those_of_several_parts() -> None:
    made = name_queries(["find", "file_copy", "sendMail", "az vm create"], sample=10)
    assert {query.id for query in made["sentence"]} == {"file_copy", "sendMail"}
    assert all(query.id in query.query and query.id != query.query for query in made["sentence"])
    assert {query.query for query in made["exact"]} == {"find", "file_copy", "sendMail"}
    assert name_queries(list(TOOLS), sample=3) == name_queries(list(TOOLS)[::-1], sample=3)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`metatool`, with folds and parts; `azurecli`, whose queries nothing in `metatool` fits; `mine`, for transfer."""
    folder = tmp_path_factory.mktemp("bench")
    single = {"query": "delete a file", "relevant": ["file_delete"], "fold": "test"}
    multi = {"query": "copy a file and send the invoice", "relevant": ["file_copy", "invoices_send"], "fold": "test"}
    sets = {
        "metatool": [{"id": "1", **single}, {"id": "2", **multi}, {"id": "3", **single, "fold": "dev"}],
        "azurecli": [{"id": str(at), **single} for at in range(4)],
        "mine": [{"id": "1", **single, "fold": "transfer"}],
    }
    for name, queries in sets.items():
        (folder / name).mkdir()
        with gzip.open(folder / name / "catalog.jsonl.gz", "wt") as file:
            file.writelines(json.dumps({"name": tool, "description": text}) + "\n" for tool, text in TOOLS.items())
        with gzip.open(folder / name / "queries.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(query) + "\n" for query in queries)
    return folder


def test_a_run_measures_every_group_with_both_encoders(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--bench", str(bench), "--sets", "metatool,mine", "--fold", "test", "--names", "3"]
    assert main([*arguments, "--baseline-model", str(WEIGHTS)]) == 0
    shown = capsys.readouterr()
    *tables, line = shown.out.rstrip("\n").splitlines()
    found = json.loads(line)
    assert [group["group"] for group in found["groups"]] == ["metatool single", "metatool multi", "mine"]
    assert [group["fold"] for group in found["groups"]] == ["test", "test", "transfer"]
    rankers = found["groups"][0]["rankers"]
    assert {"hybrid", "bm25", "lexical", f"dense, {DEFAULT_MODEL}", f"rrf bm25, {DEFAULT_MODEL}"} < set(rankers)
    assert f"lexical, {DEFAULT_MODEL}" not in rankers
    assert found["groups"][1]["rankers"]["hybrid"]["complete@5"] == 1.0
    assert {(one["queries_of"], one["catalog"], one["queries"]) for one in found["false_returns"]} == {
        ("azurecli", "metatool", 4)
    }
    assert {one["first"] for one in found["names"] if one["kind"] == "exact"} == {1.0}
    titles = [text for text in tables if text.startswith("###")]
    assert len(titles) == 9
    assert any(text.startswith("| **mean, transfer** |") for text in tables)
    assert "mine: 8 tools, 1 queries" in shown.err


def test_a_run_without_sets_is_left_out_and_an_unknown_set_is_wrong_use(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--bench", str(tmp_path / "nowhere")]) == 0
    assert "left out" in capsys.readouterr().err
    for arguments in (["--sets", "nope"], ["--rankers", "magic"]):
        with pytest.raises(SystemExit) as ended:
            main(["--bench", str(bench), *arguments])
        assert ended.value.code == 2
    assert "needs some of azurecli, metatool, mine" in capsys.readouterr().err


def test_a_folder_without_a_model_is_named(bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--bench", str(bench), "--baseline-model", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "model.onnx: is not in the folder" in shown.err


def test_a_folder_of_an_export_is_read_as_it_is() -> None:
    encoder = read_encoder(WEIGHTS)
    assert encoder.manifest.name == DEFAULT_MODEL
    assert encoder.embed_queries(["delete a file"]).shape == (1, encoder.manifest.dimension)
