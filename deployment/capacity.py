"""How much of what a service needs: surfaces, tools and queries → replicas, shards, memory. Pure arithmetic.

The costs are those of docs/scaling.md: measured on two Zen 3 cores, 384 dimensions, the model in the package. They are
averages of processor time at a load that never queues; `BUSY` leaves room for bursts. A test holds the formulae against
what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

BUSY: Final = 0.7
"""The share of a core that is planned for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What one query, and one tool, costs."""

    encode_ms: float = 15.4
    """Of one core: the query and its clauses become vectors, words are scored, the answer is written. Measured with
    real queries, eight at a time, on a busy machine (docs/decisions/0016)."""
    hit_ms: float = 0.5
    """Of one core, where the ranking is remembered."""
    near_us_per_tool: float = 0.1
    """Of one core: exact search in the replica's own memory."""
    far_ms: float = 0.6
    """Of one core of a shard: a search's fixed part, with 1,024 rows in the answer."""
    far_us_per_tool: float = 0.45
    near_bytes_per_tool: float = 1_536.0
    """768 from 16,384 tools a surface on."""
    words_bytes_per_tool: float = 900.0
    far_bytes_per_tool: float = 2_230.0
    base_bytes: float = 350e6
    """A replica without an index."""
    inserts_s: float = 500.0
    """Vectors a second that one shard takes up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is asked of a service."""

    surfaces: int
    tools: int
    """Of one surface."""
    queries_s: float
    remembered: float = 0.0
    """The share of queries whose ranking a cache knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What that takes."""

    replicas: int
    groups: int
    """Sets of surfaces that different replicas hold; a proxy routes each surface to its group."""
    replica_bytes: float
    """Of one replica of a group."""
    shards: int
    """Primaries; as many replicas of theirs come on top. 0: vectors are in the selectors' memory."""
    shard_bytes: float
    upload_s: float
    """To take up one version of one surface."""


def plan(
    load: Load,
    *,
    far: bool,
    cores: int = 2,
    memory: float = 4e9,
    shard_cores: int = 4,
    shard_memory: float = 25e9,
    costs: Costs = Costs(),
) -> Plan:
    """Replicas of `cores` cores and `memory` bytes; `far`: vectors in Vector Sets, on shards of so much each.

    Raises ValueError where one surface alone is larger than a replica or a shard.
    """
    computed = load.queries_s * (1.0 - load.remembered)
    near_bytes = 0.0 if far else costs.near_bytes_per_tool * (0.5 if load.tools >= 16_384 else 1.0)
    surface_bytes = load.tools * (costs.words_bytes_per_tool + near_bytes)
    # A deploy opens a version beside the one it replaces.
    held = max(0, int((memory - costs.base_bytes) // (2 * surface_bytes)))
    a_shard_holds = max(0, int(shard_memory // (2 * load.tools * costs.far_bytes_per_tool)))
    if not held or (far and not a_shard_holds):
        raise ValueError("tools: one surface is larger than a replica or a shard; give it more memory")
    groups = ceil(load.surfaces / held)
    search_ms = 0.0 if far else load.tools * costs.near_us_per_tool / 1_000
    busy = computed * (costs.encode_ms + search_ms) + load.queries_s * load.remembered * costs.hit_ms
    replicas = max(2 * groups, ceil(busy / 1_000 / (cores * BUSY)))
    shards = 0
    if far:
        far_busy = computed * (costs.far_ms + load.tools * costs.far_us_per_tool / 1_000) / 1_000
        shards = max(3, ceil(load.surfaces / a_shard_holds), ceil(far_busy / (shard_cores * BUSY)))
    return Plan(
        replicas=replicas,
        groups=groups,
        replica_bytes=costs.base_bytes + 2 * surface_bytes * ceil(load.surfaces / groups),
        shards=shards,
        shard_bytes=2 * load.tools * costs.far_bytes_per_tool * load.surfaces / shards if shards else 0.0,
        upload_s=load.tools / costs.inserts_s if far else 0.0,
    )
