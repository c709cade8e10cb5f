"""A deployer may be killed anywhere, and a store be away for thirty seconds: the old release or the new one is active,
whole, and the next deploy succeeds. The thirty seconds pass while deployers are killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.faults.long_outages import OUTAGES, Outage
from tests.indexer.redis_server import BINARIES, running
from tests.indexer.s3_server import s3_settings, serving_s3

REPOSITORY = Path(__file__).parents[2]
OLD = {"sound": True, "deploy": "old", "surfaces": ["gone", "keeper", "reader"]}
NEW = {"sound": True, "deploy": "new", "surfaces": ["keeper", "reader", "writer"]}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serving_s3("bucket") as url:
        yield url


@pytest.fixture
def bucket(endpoint: str, memory: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a prefix that no other test has, for the processes that a test starts."""
    for name, value in s3_settings(endpoint).items():
        monkeypatch.setenv(name, value)
    return f"s3://bucket/{memory.name}"


@pytest.fixture(scope="module", autouse=True)
def outages() -> Iterator[subprocess.Popen[str]]:
    """Every outage of `long_outages`, begun before the first test here and asked for by the last one."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.long_outages", folder],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        with process:
            yield process
            with suppress(ProcessLookupError):  # its children and their servers are of its group
                os.killpg(process.pid, signal.SIGKILL)


def deaths(kind: str, folder: Path, *url: str) -> list[dict[str, Any]]:
    """What each death left, the first place first; the last one is of the deployer that got through."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.faults.deployers", kind, str(folder), *url],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.mark.parametrize(("kind", "places"), [("stages", 9), ("files", 40)])
def test_whatever_a_killed_deployer_leaves_is_one_release_and_the_next_deploy_succeeds(
    kind: str, places: int, memory: Path
) -> None:
    check(deaths(kind, memory), places)


def test_the_same_holds_where_the_store_is_a_redis(memory: Path, tmp_path: Path) -> None:
    with running(BINARIES["redis-8"], tmp_path) as redis:
        check(deaths("stages", memory, redis.url), 9)


@pytest.mark.parametrize(("kind", "places"), [("stages", 9), ("puts", 9)])
def test_the_same_holds_where_the_store_is_of_objects_behind_s3(
    kind: str, places: int, bucket: str, memory: Path
) -> None:
    check(deaths(kind, memory, bucket), places)


def test_a_store_or_a_place_of_vectors_that_is_away_for_thirty_seconds_is_waited_for_and_what_it_serves_is_one_release(
    outages: subprocess.Popen[str],
) -> None:
    said, problems = outages.communicate(timeout=200)
    assert outages.returncode == 0, problems
    told = [json.loads(line) for line in said.splitlines()]
    assert len(told) == len(OUTAGES)
    for one in told:
        outage = Outage(**one["outage"])
        assert one["away_s"] >= 30, outage
        assert one["left"] == (NEW if one["ended"] else OLD), outage
        assert one["unchanged"] == (one["left"] == NEW), outage
        assert one["after"] == NEW, outage
        if outage.wait_s:
            assert one["ended"] == "new", outage
        elif outage.how == "dies":
            assert one["ended"] is None, outage  # so the others were away for longer than a call takes
    assert any("waiting for it, up to 120 s" in line for one in told for line in one["said"])


def check(told: list[dict[str, Any]], places: int) -> None:
    *died, last = told
    assert len(died) >= places
    assert {one["ended"] for one in died} == {-signal.SIGKILL}
    assert last["ended"] == 0
    left = [one["left"] for one in died]
    assert [one for one in left if one not in (OLD, NEW)] == []
    # Once the new release is active it stays so, and nearly all places lie before that.
    assert left == sorted(left, key=lambda one: one == NEW)
    assert left[0] == OLD
    assert last["left"] == NEW
    assert [one["again"] for one in died] == [0] * len(died)
    assert [one["after"] for one in died] == [NEW] * len(died)
