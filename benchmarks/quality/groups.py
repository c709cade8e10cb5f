"""What is judged: groups of queries of the sets, and queries of one set put to the catalog of another.

Sets with folds are judged on `dev`, where choices are made, or on `test`, which is looked at seldom. The others are
`transfer`: nothing is ever fitted or chosen on them, and they count most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from selector.adapters.evaluation_files import SetFiles, read_set_file
from selector.evaluation_set import JudgedQuery, choose, parse_queries

FOLDS: Final = ("dev", "test")
TRANSFER: Final = "transfer"

_Part = tuple[str, Callable[[JudgedQuery], bool]]

PARTS: Final[Mapping[str, Sequence[_Part]]] = {
    "metatool": (
        ("metatool single", lambda query: len(query.relevant) == 1),
        ("metatool multi", lambda query: len(query.relevant) > 1),
    ),
    "sealtools": (
        ("sealtools in-domain", lambda query: query.split != "test_out_domain"),
        ("sealtools out-of-domain", lambda query: query.split == "test_out_domain"),
    ),
}
"""Sets that are judged in parts; every other set is one group under its own name."""

IN_VAIN: Final = (("awscli", "apibank"), ("azurecli", "metatool"), ("metatool", "azurecli"), ("tldr", "toolalpaca"))
"""Queries of the first set that nothing in the catalog of the second fits."""
IN_VAIN_QUERIES: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Queries that are judged together."""

    name: str
    fold: str
    queries: Sequence[JudgedQuery]


def found_sets(bench: Path) -> list[str]:
    """The names of the sets that have queries."""
    return sorted(path.parent.name for path in bench.glob("*/queries.jsonl.gz"))


def groups_of(files: SetFiles, *, fold: str, sample: int | None) -> list[Group]:
    """The groups of one set, each of at most `sample` queries."""
    queries = _read(files.queries)
    transfer = any(query.fold == TRANSFER for query in queries)
    chosen = TRANSFER if transfer else fold
    parts = PARTS.get(files.name, ((files.name, lambda _query: True),))
    return [
        Group(
            name=name,
            fold=chosen,
            queries=choose([query for query in queries if belongs(query)], folds={chosen}, sample=sample),
        )
        for name, belongs in parts
    ]


def in_vain(bench: Path, catalog: str, *, fold: str, sample: int | None) -> Mapping[str, Sequence[JudgedQuery]]:
    """The queries that nothing in this set's catalog fits, by the set they are from."""
    most = IN_VAIN_QUERIES if sample is None else min(sample, IN_VAIN_QUERIES)
    return {
        asked: choose(_read(SetFiles.in_folder(bench / asked).queries), folds={fold}, sample=most)
        for asked, of in IN_VAIN
        if of == catalog and (bench / asked).is_dir()
    }


def _read(path: Path) -> list[JudgedQuery]:
    return parse_queries(read_set_file(path, argument="--bench").split(b"\n"), source=str(path))
