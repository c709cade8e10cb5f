"""Vectors to remember, and what there is to see of it on the disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from indexer.embedding import Vectors

DIMENSION = 8


def some(count: int, start: int = 0) -> Vectors:
    return {f"text {number}": np.full(DIMENSION, number, dtype=np.float32) for number in range(start, start + count)}


def files_beside(path: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in path.parent.iterdir()}


def same(found: Vectors, expected: Vectors) -> bool:
    return found.keys() == expected.keys() and all(np.array_equal(found[key], expected[key]) for key in expected)
