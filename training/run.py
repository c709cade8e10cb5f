"""One training run: which batch comes next, the optimiser and its schedule. Everything follows from the seed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import torch

from training.batches import Batch, Mined, judged_batch, mixed_batch, own_batch
from training.encoder import Encoder
from training.examples import CATALOGS, SUPERVISED, Corpus

STEPS: Final = 850
SIZE: Final = 64
"""Queries in a batch."""
MINED: Final = 32
"""Further documents in a judged batch, each a trap of one of its queries."""
LEARNING_RATE: Final = 4e-5
WARM_UP: Final = 75
"""Steps in which the learning rate grows."""
LINE: Final = 1_250
"""The step at which the rate would come to nothing, if it went on falling in the line it begins with."""
COOL_DOWN: Final = 250
"""The last steps, in which it falls to nothing at once. A run is as good as its cool-down, so it may end anywhere."""
MIXED_SHARE: Final = 0.12
"""Weight of batches of many catalogs, beside those of `SUPERVISED` and `CATALOGS`."""

_BOUND_RATE: Final = 1e-2
_WEIGHT_DECAY: Final = 0.01

Kind: TypeAlias = Literal["judged", "mixed", "own"]
Told: TypeAlias = Callable[[int, float, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a run draws its batches from."""

    corpora: Mapping[str, Corpus]
    mined: Mapping[str, Mined]
    """For the corpora of `SUPERVISED`."""


def train(encoder: Encoder, material: Material, *, steps: int, done: int, seed: int, tell: Told) -> None:
    """Trains in place; `tell` hears the step, the loss and the seconds since the start.

    `done` steps are drawn and not learnt: the encoder has learnt them in an earlier run of the same seed.
    """
    chance = random.Random(seed)  # noqa: S311 - chooses examples, guards nothing
    sources = _sources()
    by_row = {name: _queries_by_row(material.corpora[name]) for name in SUPERVISED}
    optimiser = _optimiser(encoder)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: rate(done + step, steps=steps))
    start = time.monotonic()
    for step in range(steps):
        kind, name, _ = chance.choices(sources, weights=[share for *_, share in sources])[0]
        batch = _batch(kind, name, material, by_row=by_row, chance=chance)
        if step < done:
            continue
        loss = encoder.learn(batch)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        schedule.step()
        tell(step + 1, loss, time.monotonic() - start)


def rate(step: int, *, steps: int) -> float:
    """The learning rate of a step (counted from 0) as a share of the highest."""
    if step < WARM_UP:
        return (step + 1) / WARM_UP
    line = max(0.0, (LINE - step) / (LINE - WARM_UP))
    return line * min(1.0, (steps - step) / COOL_DOWN)


def _sources() -> list[tuple[Kind, str, float]]:
    sources: list[tuple[Kind, str, float]] = [("judged", name, share) for name, share in SUPERVISED.items()]
    sources.append(("mixed", "", MIXED_SHARE))
    sources.extend(("own", name, share) for name, share in CATALOGS.items())
    return sources


def _batch(
    kind: Kind,
    name: str,
    material: Material,
    *,
    by_row: Mapping[str, Mapping[int, Sequence[int]]],
    chance: random.Random,
) -> Batch:
    if kind == "mixed":
        return mixed_batch([material.corpora[each] for each in SUPERVISED], size=SIZE, chance=chance)
    mined = material.mined.get(name)
    if kind == "judged" and mined is not None:
        return judged_batch(
            material.corpora[name], size=SIZE, negatives=MINED, mined=mined, by_row=by_row[name], chance=chance
        )
    return own_batch(material.corpora[name], size=SIZE, mined=mined, chance=chance)


def _queries_by_row(corpus: Corpus) -> Mapping[int, Sequence[int]]:
    found: dict[int, list[int]] = {}
    for query, rows in enumerate(corpus.wanted):
        for row in rows:
            found.setdefault(row, []).append(query)
    return found


def _optimiser(encoder: Encoder) -> torch.optim.Optimizer:
    matrices = [each for each in encoder.model.parameters() if each.ndim > 1]
    others = [each for each in encoder.model.parameters() if each.ndim <= 1]
    return torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": _WEIGHT_DECAY},
            {"params": others, "weight_decay": 0.0},
            {"params": [encoder.bound], "weight_decay": 0.0, "lr": _BOUND_RATE},
        ],
        lr=LEARNING_RATE,
    )
