"""The benchmark of ranking in process: one whole run on a small set."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from benchmarks.ranking import Asked, main, medians
from tests.selector.builders import TOOLS


def _put(folder: Path, *queries: str) -> None:
    folder.mkdir()
    with gzip.open(folder / "catalog.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"name": name, "description": text}) + "\n" for name, text in TOOLS.items())
    judged = [{"id": text, "query": text, "relevant": ["file_delete"], "fold": "dev"} for text in queries]
    with gzip.open(folder / "queries.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(query) + "\n" for query in judged)


def test_a_run_asks_what_fits_and_what_does_not_and_gives_the_cores_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _put(tmp_path / "mine", "delete a file", "copy a file and send an invoice")
    _put(tmp_path / "metatool", "a lullaby about the moon for my daughter")
    cores = os.sched_getaffinity(0)
    assert main(["--bench", str(tmp_path), "--set", "mine", "--rounds", "2"]) == 0
    assert os.sched_getaffinity(0) == cores
    *table, line = capsys.readouterr().out.splitlines()
    assert [row.split("|")[1].strip() for row in table[2:]] == ["all", "one clause", "answered", "refused"]
    found = json.loads(line)["medians"]
    assert {name: part["queries"] for name, part in found.items()} == {
        "all": 3,
        "one clause": 2,
        "answered": 2,
        "refused": 1,
    }
    for part in found.values():
        assert 0.0 < part["beyond embed"] < part["ranking"]
        assert part["vectors"] + part["words"] < part["ranking"]


def test_medians_are_of_each_part_over_the_queries_that_have_it() -> None:
    took = ({"ranking": 2.0, "beyond embed": 1.0}, {"ranking": 7.0, "beyond embed": 2.0}, {"ranking": 19.0})
    asked = [Asked(query=str(at), answered=True, took=each) for at, each in enumerate(took)]
    assert medians(asked) == {"queries": 3, "ranking": 7.0, "beyond embed": 1.5}


def test_without_its_sets_it_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--bench", str(tmp_path)]) == 0
    assert "left out, awscli is not at" in capsys.readouterr().err
