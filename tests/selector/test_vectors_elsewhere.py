"""Replicas that hold no vectors: what they answer, what they hold, and what happens when a primary dies."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from indexer.adapters.directory_store import DirectoryStore
from indexer.adapters.redis_link import read_redis_url
from indexer.adapters.redis_vectors import RedisVectorIndex, RedisVectors
from indexer.memory_store import MemoryStore
from indexer.releases import previous_release
from models.hashing import HashingEmbedder
from selector.commands.opening import library_over
from selector.library import Library
from selector.service import Selector
from surface.adapters.command_line import FAILED, WRONG_USE, main
from surface.ranking import RankRequest
from tests.indexer.looking import nobody_goes_on_looking  # noqa: F401 - a fixture of this module
from tests.indexer.redis_cluster import Cluster, running_cluster
from tests.indexer.redis_server import BINARIES, running
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, put

EXAMPLE = Path(__file__).parents[2] / "deployment" / "example" / "catalog.json"
EMBEDDER = HashingEmbedder()
QUERY = "list the invoices of a customer"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    put(store, {SURFACE: TOOLS})
    return store


def asked() -> RankRequest:
    return RankRequest(application=APPLICATION, surface=SURFACE, query=QUERY, limit=5, catalog_digest=None)


def selector_over(library: Library, executor: ThreadPoolExecutor) -> Selector:
    return Selector(indexes=library, embedder=EMBEDDER, executor=executor, strictness=0.0)


async def test_a_replica_without_vectors_ranks_as_one_with_them_and_weighs_less(
    cluster: Cluster, store: MemoryStore
) -> None:
    vectors = RedisVectors(read_redis_url(f"{cluster.url}?namespace=parity"))
    here, there = library_over(store, EMBEDDER), library_over(store, EMBEDDER, vectors=vectors)
    with ThreadPoolExecutor(1) as executor:
        ours, theirs = [await selector_over(library, executor).rank(asked()) for library in (there, here)]
    assert ours.degraded is None
    assert [one.name for one in ours.ranked] == [one.name for one in theirs.ranked]
    assert [one.score for one in ours.ranked] == pytest.approx([one.score for one in theirs.ranked], abs=1e-4)
    index = await there.opened(there.find(APPLICATION, SURFACE, None))
    assert isinstance(index.vectors, RedisVectorIndex)
    manifest = index.manifest
    assert here.residency.bytes - there.residency.bytes == 4 * manifest.tools * manifest.dimension


async def test_words_answer_while_a_primary_is_dead_and_meaning_answers_again_once_its_replica_took_over(
    tmp_path: Path, store: MemoryStore
) -> None:
    seen: list[str | None] = []
    with running_cluster(tmp_path) as cluster, ThreadPoolExecutor(1) as executor:
        library = library_over(store, EMBEDDER, vectors=RedisVectors(read_redis_url(cluster.url)))
        version = library.find(APPLICATION, SURFACE, None).version
        selector = selector_over(library, executor)
        assert (await selector.rank(asked())).degraded is None
        cluster.primary_of(f"toolsurface:{{{APPLICATION}/{SURFACE}/{version}}}:vectors").stop()
        deadline = time.monotonic() + 60
        while not seen or seen[-1] is not None:
            assert time.monotonic() < deadline
            reply = await selector.rank(asked())
            assert reply.ranked
            seen.append(reply.degraded)
    assert seen[0] == "dense_failed"


def test_a_place_for_vectors_that_cannot_be_one_is_wrong_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--store", str(tmp_path), "--vectors", "s3://bucket"]) == WRONG_USE
    assert "--vectors: needs one of redis://" in capsys.readouterr().err


def test_a_deploy_uploads_before_it_activates_and_prune_takes_away_what_is_not_kept(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"{cluster.url}?namespace=commands"
    place = ["--store", str(tmp_path / "store"), "--vectors", url]
    catalog = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    kept = []
    for edition in ("overdue invoices", "invoices that are late"):
        catalog["surfaces"]["clerk"]["tools"][0]["description"] = f"Lists {edition}."
        (tmp_path / "catalog.json").write_text(json.dumps(catalog), encoding="utf-8")
        assert main(["deploy", str(tmp_path / "catalog.json"), *place, "--no-cache", "--json"]) == 0
        kept.append(json.loads(capsys.readouterr().out)["surfaces"][0]["version"])
    sizes = [_vectors_of(cluster, f"commands:{{shop/clerk/{version}}}:vectors") for version in kept]
    assert sizes == [8, 8]
    assert main(["prune", *place, "--keep", "1", "--spare-hours", "0"]) == 0
    sizes = [_vectors_of(cluster, f"commands:{{shop/clerk/{version}}}:vectors") for version in kept]
    assert sizes == [0, 8]


def test_a_rollback_uploads_what_is_gone_before_it_activates(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--store", str(tmp_path / "store"), "--vectors", f"{cluster.url}?namespace=rolled"]
    catalog = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    for edition in ("overdue invoices", "invoices that are late"):
        catalog["surfaces"]["clerk"]["tools"][0]["description"] = f"Lists {edition}."
        (tmp_path / "catalog.json").write_text(json.dumps(catalog), encoding="utf-8")
        assert main(["deploy", str(tmp_path / "catalog.json"), *place, "--no-cache"]) == 0
    ledger = DirectoryStore(tmp_path / "store").ledger("shop")
    before = previous_release(ledger)
    key = f"rolled:{{shop/clerk/{before.surfaces['clerk'].version}}}:vectors"
    with redis.Redis(port=cluster.primary_of(key).port) as client:
        assert client.delete(key) == 1
    with running(BINARIES["valkey-9"], tmp_path) as valkey:
        assert main(["rollback", *place[:2], "--vectors", valkey.url]) == FAILED
    assert DirectoryStore(tmp_path / "store").active("shop") == ledger.active
    assert main(["rollback", *place]) == 0
    assert DirectoryStore(tmp_path / "store").active("shop") == before
    assert _vectors_of(cluster, key) == 8


def test_a_deploy_to_a_server_without_vector_sets_activates_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(BINARIES["valkey-9"], tmp_path) as valkey:
        place = ["--store", str(tmp_path / "store"), "--vectors", valkey.url]
        assert main(["deploy", str(EXAMPLE), *place, "--no-cache"]) == FAILED
    assert "knows no vector sets; they need Redis 8 or newer" in capsys.readouterr().err
    assert DirectoryStore(tmp_path / "store").active("shop") is None


def _vectors_of(cluster: Cluster, key: str) -> int:
    with redis.Redis(port=cluster.primary_of(key).port) as client:
        return int(client.execute_command("VCARD", key))
