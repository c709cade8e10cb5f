"""Queries that say a tool's name: the name itself, the name with one typo, the name inside a sentence.

The right answer is the tool in the first place. Only names that a catalog may hold are asked for. A typo is one letter
or digit dropped, doubled, replaced or swapped
with the next; which one follows from the name, so every run makes the same. A name that the typo turns into another
tool's is left out. Inside a sentence stand only names of several parts: `find` and `which` are words.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from typing import Final

from selector.evaluation_set import JudgedQuery

SENTENCES: Final = (
    "please call {} for me",
    "run {} on the second one",
    "I need {} now, nothing else",
    "what happens if we use {} here?",
)
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_JOINT = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
_LEAST_TYPED: Final = 4
"""Letters and digits from which a name is long enough for its typo to be told from another word."""
_LETTERS: Final = "etaoinsrhldcumfpgwybv"


def name_queries(names: Sequence[str], *, sample: int) -> Mapping[str, Sequence[JudgedQuery]]:
    """By kind of query (`exact`, `typo`, `sentence`): at most `sample`, the same ones each time."""
    drawn = sorted(filter(_NAME.fullmatch, names), key=lambda name: sha256(f"name:{name}".encode()).digest())
    known = set(names)
    makers: Mapping[str, Callable[[str], str | None]] = {
        "exact": lambda name: name,
        "typo": lambda name: _typo(name, known),
        "sentence": _sentence,
    }
    return {kind: _queries(drawn, make, sample) for kind, make in makers.items()}


def _queries(names: Sequence[str], make: Callable[[str], str | None], sample: int) -> list[JudgedQuery]:
    made: list[JudgedQuery] = []
    for name in names:
        query = make(name)
        if query is not None:
            made.append(JudgedQuery(id=name, query=query, relevant=(name,)))
        if len(made) == sample:
            break
    return made


def _typo(name: str, known: Collection[str]) -> str | None:
    typed = [at for at, character in enumerate(name) if character.isalnum()]
    if len(typed) < _LEAST_TYPED:
        return None
    generator = random.Random(sha256(f"typo:{name}".encode()).digest())
    at = generator.choice(typed)
    here, before, after = name[at], name[:at], name[at + 1 :]
    kind = generator.choice(("dropped", "doubled", "replaced", "swapped"))
    if kind == "swapped" and after and after[0] != here:
        made = before + after[0] + here + after[1:]
    elif kind == "dropped":
        made = before + after
    elif kind == "doubled":
        made = before + here + here + after
    else:
        made = before + generator.choice([letter for letter in _LETTERS if letter != here.lower()]) + after
    return None if made in known or not made.strip() else made


def _sentence(name: str) -> str | None:
    if len([part for part in _JOINT.split(name) if part]) < 2:
        return None
    return SENTENCES[sha256(f"sentence:{name}".encode()).digest()[0] % len(SENTENCES)].format(name)
