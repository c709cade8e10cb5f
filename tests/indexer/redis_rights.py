"""A Redis user with the rights that the documentation names and no others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import redis

from indexer.placed_store import PlacedStore
from tests.contracts.artefact_store_contract import loaded
from tests.indexer.redis_server import RedisServer
from tests.indexer.samples import NOW, artefact, release

_PAGE = Path(__file__).parents[2] / "docs" / "stores.md"


def documented_rights() -> list[list[str]]:
    """What every user needs; what it had better have too, where servers know it, and anywhere; what a cluster asks."""
    block = re.search(r"```\n(\+ping .*?)```", _PAGE.read_text("utf-8"), re.DOTALL)
    assert block is not None
    return [line.partition("#")[0].split() for line in block[1].splitlines()]


def grant(server: RedisServer, user: str, namespace: str, rights: Sequence[str]) -> None:
    """Makes the user anew, with the password "open"."""
    with redis.Redis(port=server.port) as client:
        where = (f"~{namespace}:*", f"&{namespace}:*")
        client.execute_command("ACL", "SETUSER", user, "reset", "on", ">open", *where, "-@all", *rights)


def use_everything(store: PlacedStore) -> None:
    """Every call of the port; raises where one of them is refused."""
    one, other = artefact("one"), artefact("other")
    store.prepare("app", size=10)
    before = store.active("app")
    for each in (one, other):
        store.publish(each, at=NOW)
        store.activate(release(each), expected=before.id if before is not None else None, at=NOW)
        before = release(each)
        assert loaded(store, each).files == each.files
    store.wait_for_change(0.01)
    assert store.prune("app", keep=1, unused_since=NOW + timedelta(days=1)).versions
    assert store.applications() == ("app",)
