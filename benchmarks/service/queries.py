"""Distinct real queries, from the sets at TOOLSURFACE_BENCH."""

from __future__ import annotations

import json
import random
from itertools import islice
from pathlib import Path
from typing import Final

from indexer.adapters.catalog_reader import read_catalog_bytes

SETS: Final = ("awscli", "azurecli", "toolret_apigen", "bfcl", "sealtools", "apibank")


def missing(bench: Path) -> list[str]:
    """The sets that are not there."""
    return [name for name in (*SETS, "cat_toucan") if not (bench / name).is_dir()]


def queries(bench: Path, count: int) -> list[str]:
    """So many, the same each time, equal parts of each set as far as it goes; no query twice."""
    found: dict[str, None] = {}
    for name in SETS:
        content = read_catalog_bytes(next((bench / name).glob("queries.jsonl*")))
        lines = content.splitlines()
        random.Random(name).shuffle(lines)
        found |= dict.fromkeys(islice((json.loads(line)["query"] for line in lines), count // len(SETS) + 1))
    chosen = list(found)
    random.Random(0).shuffle(chosen)
    return chosen[:count]
