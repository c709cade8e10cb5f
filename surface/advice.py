"""Whether deferral pays for a catalog: canonical bytes of all tools against what a typical run would send. Pure.

The bytes are comparable framework evidence, not tokens: a provider counts tokens its own way and may cache a prefix
that does not change, so actual cost comes from the provider's usage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import mean

from surface.limits import Limits
from surface.registry import CheckedSurface, SurfaceRegistry

_RECEIPT_BYTES = 450
"""What a receipt weighs without its selection, at ids of ordinary length."""
_MATCH_BYTES = 90
"""What a selected tool adds beside its name and description: its name again, its digest, the braces."""
HEAVIEST = 10
"""How many of the weightiest tools are worth naming."""


class Verdict(StrEnum):
    """What the bytes say."""

    DEFER = "defer"
    SEND_ALL = "send_all"


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceAdvice:
    """The arithmetic for one surface. All sizes are bytes."""

    surface: str
    tools: int
    whole_catalog: int
    """Canonical schema bytes of every tool: what each step sends without deferral."""
    base: int
    """The search tool and the always-on tools: what the first step sends."""
    typical_step: int
    """The base and one selection of average tools, as far as the ceilings let it: what a later step sends."""
    receipt: int
    """What one search adds to the history, with average tools; never more than `max_result_bytes`."""
    run_whole: int
    """A run of `steps` steps that sends every tool each time."""
    run_deferred: int
    """The same run with deferral: one step more, to search, and the receipt sent again in each later one."""
    heaviest: Mapping[str, int]
    """The weightiest tools, heaviest first."""
    over_ceiling: tuple[str, ...]
    """Tools that can never be selected: they do not fit beside the base."""

    @property
    def verdict(self) -> Verdict:
        """Whether deferral sends fewer bytes over such a run."""
        return Verdict.DEFER if self.run_deferred < self.run_whole else Verdict.SEND_ALL


def advise(registry: SurfaceRegistry, *, steps: int) -> tuple[SurfaceAdvice, ...]:
    """Advice for every surface, in the order of their keys, for runs of `steps` model steps."""
    return tuple(_advise(surface, registry.limits, steps) for _, surface in sorted(registry.surfaces.items()))


def _advise(surface: CheckedSurface, limits: Limits, steps: int) -> SurfaceAdvice:
    weights = {name: made.entry.schema_bytes for name, made in surface.catalog.tools.items()}
    whole = sum(weights.values())
    base = sum(surface.weight(name) for name in surface.base)
    hidden = {name: weight for name, weight in weights.items() if name not in surface.always_on}
    places = min(limits.max_results, limits.max_selected_tools, limits.max_active_tools - len(surface.base))
    room = limits.max_schema_bytes - base
    typical = base + (min(round(mean(hidden.values()) * min(places, len(hidden))), room) if hidden else 0)
    matches = [_MATCH_BYTES + len(name) + len(surface.entry(name).description.encode()) for name in hidden]
    found = round(mean(matches) * min(places, len(hidden))) if matches else 0
    receipt = min(_RECEIPT_BYTES + found, limits.max_result_bytes)
    heaviest = sorted(weights, key=lambda name: (-weights[name], name))
    return SurfaceAdvice(
        surface=surface.key,
        tools=len(weights),
        whole_catalog=whole,
        base=base,
        typical_step=typical,
        receipt=receipt,
        run_whole=steps * whole,
        run_deferred=base + steps * (typical + receipt),
        heaviest={name: weights[name] for name in heaviest[:HEAVIEST]},
        over_ceiling=tuple(name for name in heaviest if hidden.get(name, 0) > room),
    )
