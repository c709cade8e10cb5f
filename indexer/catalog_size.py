"""How many tools are deployed at once: with the ceiling of a catalog's bytes, what bounds the memory of a deploy."""

from __future__ import annotations

from surface.errors import CatalogError, Fault

MAX_TOOLS = 250_000
"""Of all surfaces together, where nobody says otherwise: more than ten times the largest real catalog known."""


def refuse_too_many(tools: int, *, most: int | None) -> None:
    """Raises `CatalogError` where there are more tools than `most`; None is no ceiling."""
    if most is not None and tools > most:
        problem = (
            f"holds more than {most:,} tools, and no more are taken, so that memory is bounded; raise --max-tools (in "
            "Python max_tools=) where there is enough of it, or split the application"
        )
        raise CatalogError([Fault(where="catalog", problem=problem)])
