"""The table of `make test-frameworks` against the folder: no file of tests is left out of it unseen."""

from __future__ import annotations

from pathlib import Path

from tests.frameworks.matrix import ROOT, TABLE

NEEDS_EVERY_FRAMEWORK = {"test_story.py"}


def test_every_file_of_tests_stands_in_one_row_but_those_that_need_all_frameworks_at_once() -> None:
    folder = Path(__file__).parent
    here = {path.name for path in folder.glob("test_*.py")} - NEEDS_EVERY_FRAMEWORK - {Path(__file__).name}
    told = [ROOT / each for row in TABLE for each in row.tests]
    assert sorted(path.name for path in told) == sorted(here)
    assert {path.parent for path in told} == {folder}
