"""Which texts go through a model together.

Rules kept here:

1. A batch holds texts of similar length, because every text is padded to the longest of its batch.
2. A batch holds at most `token_budget` tokens, padding included, unless one text alone is longer. Small
   batches are faster on a CPU, whose caches hold their activations: 46 documents a second in batches of
   512 tokens against 28 in batches of 8,192, in half the memory.
3. Longest first, so that workers do not wait for one last long batch.
4. The plan follows from the lengths alone.

Not here: running the batches, and restoring the order of the answers (`adapters/onnx.py`).
"""

from collections.abc import Sequence

__all__ = ["plan_batches"]


def plan_batches(lengths: Sequence[int], *, token_budget: int) -> list[list[int]]:
    """Positions of `lengths` (tokens of each text) in batches; every position is in exactly one."""
    batches: list[list[int]] = []
    width = 0
    for position in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if not batches or width * (len(batches[-1]) + 1) > token_budget:
            # The first of a batch is its longest, so it sets the width of all that follow.
            batches.append([])
            width = lengths[position]
        batches[-1].append(position)
    return batches
