"""The table of `make test-frameworks` against the folder: no file of tests is left out of it unseen."""

from __future__ import annotations

from pathlib import Path

from tests.frameworks.matrix import ROOT, TABLE

ELSEWHERE = {
    "test_matrix.py",
    "test_native_tool_search.py",  # of the newest pydantic-ai alone: what a decision rests on
    "test_story.py",  # needs every framework at once
}


def test_every_file_of_tests_stands_in_one_row_but_those_that_no_single_framework_can_run() -> None:
    folder = Path(__file__).parent
    here = {path.name for path in folder.glob("test_*.py")} - ELSEWHERE
    told = [ROOT / each for row in TABLE for each in row.tests]
    assert sorted(path.name for path in told) == sorted(here)
    assert {path.parent for path in told} == {folder}
