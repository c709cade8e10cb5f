"""What a run learnt from and how, as the card that goes with its weights. Pure text.

The card that ships (`models/weights/tool-minilm-l6-1/CARD.md`) says more, of how well the encoder does and what it is
for; that is written by hand, once the weights were measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from training.examples import CATALOGS, SUPERVISED


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """One set, as far as the run read it."""

    name: str
    licence: str
    source: str
    """Where the set is from, with a commit or a version."""
    tools: int
    queries: int
    """Judged queries of the train fold; 0 of a catalog without queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How the weights came about."""

    base: str
    """Whose weights it began with."""
    seed: int
    steps: int
    learnt_now: int
    """Steps that this run learnt itself; the others are those of an earlier one that was stopped."""
    seconds: float
    threads: int
    versions: Mapping[str, str]
    """Of the packages that decide the numbers."""


def card(run: Run, sets: Sequence[Learnt]) -> str:
    """The card, as Markdown that ends with a line break."""
    made_with = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    lines = [
        "# A sentence encoder for tools, as `python -m training` left it",
        "",
        f"From {run.base}: {run.steps:,} steps, {run.learnt_now:,} of them in this run, in {run.seconds:,.0f} seconds",
        f"on {run.threads} thread(s); seed {run.seed}; {made_with}.",
        "Sums on several threads differ from run to run, so another run gives another sha256.",
        "",
        "Learnt from the `train` folds of judged queries, and from the texts of catalogs; of no set called `transfer`.",
        "",
        "| set | tools | queries learnt | share of batches | licence | from |",
        "|---|--:|--:|--:|---|---|",
    ]
    total = sum(SUPERVISED.values()) + sum(CATALOGS.values())
    for one in sets:
        share = (SUPERVISED.get(one.name, 0.0) + CATALOGS.get(one.name, 0.0)) / total
        cells = (one.name, f"{one.tools:,}", f"{one.queries:,}", f"{100 * share:.1f} %", one.licence, one.source)
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "Not said here, because nobody has measured it yet: how well it does (`make bench-quality`).", ""]
    return "\n".join(lines)
