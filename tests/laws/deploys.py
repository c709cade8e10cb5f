"""The application that random runs are driven on: the same few tools in ever other versions, on two surfaces.

What a tool's description says is its version alone, so that the model of the specification knows digests and weights
without asking the code under test.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from surface.call import CallContext
from surface.protocol import RankedName, RankReply
from surface.ranking import RankRequest
from surface.registry import Surface
from surface.tool import Tool
from tests.laws.model import ModelTool
from tests.surface.shop import SchemaInput

ALWAYS = "always"
NAMES = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf")
UNKNOWN = "zulu"
"""A name that no deploy has."""
SURFACES: Mapping[str, tuple[str, ...]] = {"desk": (ALWAYS, *NAMES), "guest": (ALWAYS, "alpha", "bravo", "echo")}
READ_ONLY = ("alpha", ALWAYS)
IDEMPOTENT = ("bravo",)
SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"note": {"type": "string"}}}
HEAVIEST = 2
"""The last version; each is heavier than the one before."""

Deploy = Mapping[str, int]
"""Tool name → version, for every tool there is."""


@dataclass(slots=True)
class Ledger:
    """What handlers did."""

    ran: list[tuple[str, str, str]] = field(default_factory=list)
    """Tool, call id, idempotency key."""

    def tool(self, name: str, version: int) -> Tool:
        """One version of a tool; its handler notes the call and says what it was told to say."""

        async def handler(arguments: Mapping[str, str], call: CallContext) -> str:
            self.ran.append((name, call.call_id, call.idempotency_key))
            return arguments["note"]

        return Tool(
            name=name,
            description=described(version),
            input=SchemaInput(dict(SCHEMA)),
            handler=handler,
            read_only=name in READ_ONLY,
            idempotent=name in IDEMPOTENT,
        )

    def surfaces(self, deploy: Deploy) -> list[Surface]:
        """Both surfaces of a deploy, as far as it has their tools."""
        tools = {name: self.tool(name, version) for name, version in deploy.items()}
        return [
            Surface(key=key, tools=[tools[name] for name in names if name in tools], always_on=[ALWAYS])
            for key, names in SURFACES.items()
        ]


def described(version: int) -> str:
    """The description of every tool of a version."""
    return f"Takes a note.{' In many words.' * 4 * version}"


def model_tools(deploy: Deploy, surface: str) -> dict[str, ModelTool]:
    """The same tools as the model sees them."""
    return {
        name: ModelTool(version=version, weight=weight(name, version), repeatable=name in READ_ONLY + IDEMPOTENT)
        for name, version in deploy.items()
        if name in SURFACES[surface]
    }


def weight(name: str, version: int) -> int:
    """CAT-5, by another hand."""
    entry = {"name": name, "description": described(version), "input_schema": SCHEMA}
    return len(json.dumps(entry, sort_keys=True, separators=(",", ":")).encode())


def query_for(proposed: tuple[str, ...]) -> str:
    """The query that `ObedientRanker` answers with these names; no word of it stands in a catalog."""
    return " ".join(["please", *(f"q{(*NAMES, ALWAYS, UNKNOWN).index(name)}" for name in proposed)])


class ObedientRanker:
    """Answers with the names that a query stands for."""

    id = "obedient"

    async def rank(self, request: RankRequest) -> RankReply:
        """The names of the query, in its order."""
        places = [int(word[1:]) for word in request.query.split()[1:]]
        return RankReply(
            surface=request.surface,
            index_version="v1",
            catalog_digest=request.catalog_digest or "0" * 32,
            ranked=tuple(RankedName(name=(*NAMES, ALWAYS, UNKNOWN)[place], score=1.0) for place in places),
            abstained=not places,
        )
