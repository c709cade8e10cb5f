"""Small builders for tests: a tool that counts, a registry around tools, a receipt as a search would mint it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from surface.decorator import tool
from surface.limits import Limits
from surface.receipt import NEXT, Match, Provenance, Receipt, Status
from surface.registry import CheckedSurface, Surface, build_registry
from surface.search_tool import DEFAULT_NAME
from surface.tool import Service, Tool


def counting_tool(name: str, ran: Counter[str], *, description: str | None = None, read_only: bool = False) -> Tool:
    """A tool that takes an optional ``note``, counts its runs in `ran`, and answers ``<name> ran <note>``."""

    def handler(note: str = "") -> str:
        ran[name] += 1
        return f"{name} ran {note}"

    return tool(name=name, description=description or f"Does {name}.", read_only=read_only)(handler)


def checked_surface(
    tools: Sequence[Tool | Service], *, key: str = "clerk", always_on: Sequence[str] = (), limits: Limits | None = None
) -> CheckedSurface:
    """One surface of an application of its own; raises CatalogError as construction does."""
    declared = Surface(key=key, tools=tools, always_on=always_on)
    return build_registry("test", [declared], limits=limits or Limits(), search_tool=DEFAULT_NAME).surface(key)


def selecting_receipt(surface: CheckedSurface, names: Sequence[str], *, run_id: str) -> Receipt:
    """The receipt of a search that selected these tools of a surface for a run."""
    return Receipt(
        status=Status.SELECTED,
        run_id=run_id,
        surface=surface.key,
        provenance=Provenance(ranker="script"),
        next=NEXT[Status.SELECTED],
        selected=tuple(names),
        digests=tuple(surface.catalog.tools[name].digest for name in names),
        matches=tuple(Match(name=name, description=surface.entry(name).description) for name in names),
    )
