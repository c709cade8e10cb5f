"""A deployer may be killed anywhere: the old release or the new one is active, whole, and the next deploy succeeds."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
