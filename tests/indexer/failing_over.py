"""A connection to a real cluster whose primary hangs at the worst moment: it has answered, its replica has nothing."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import redis

from indexer.adapters.redis_link import RedisLink, RedisPlace, RedisWaits
from tests.indexer.redis_cluster import Cluster, until

WAITS = RedisWaits(connect_s=0.5, answer_s=0.5, tries=1, replica_s=0.2)


class FailingOver(RedisLink):
    """Once it is armed, the primary of a prefix hangs for good when the next write below it is to be confirmed."""

    def __init__(self, place: RedisPlace, *, cluster: Cluster, prefix: str) -> None:
        super().__init__(place, waits=WAITS)
        self._prefix = prefix
        self._primary, self._replica = cluster.primary_of(prefix), cluster.replica_of(prefix)
        self._armed = self.failed_over = False

    def arm(self) -> None:
        """From now on the replica gets nothing."""
        self._replica.stop(signal.SIGSTOP)
        with redis.Redis(port=self._primary.port) as client:
            client.execute_command("CLIENT", "KILL", "TYPE", "replica")
        self._armed = True

    @contextmanager
    def node(self, key: str) -> Iterator[redis.Redis]:
        """The server that holds a key now, which is the former replica from the first time on."""
        if self._armed and key.startswith(self._prefix):
            self._armed, self.failed_over = False, True
            self._primary.stop(signal.SIGSTOP)
            self._replica.stop(signal.SIGCONT)
            with redis.Redis(port=self._replica.port) as client:
                until(lambda: client.execute_command("ROLE")[0] == b"master")
        with super().node(key) as node:
            yield node
