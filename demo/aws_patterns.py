"""Which regular expressions of AWS models may stand in a JSON Schema.

The models write them for Java and do not enforce them in botocore. A schema keeps one only if it says something and
every validator reads it alike and quickly; all others are dropped, never mended.

Not done here: anchoring. Some models mean the whole text where JSON Schema searches in it, so a pattern may refuse
less than AWS does; it never refuses more.
"""

from __future__ import annotations

import re
import warnings
from functools import cache

MAX_PATTERN = 120
"""Characters in a pattern; longer ones cost a model more than they tell it."""

_MATCHES_ANYTHING = re.compile(r"\^?(\.|\[\\s\\S\]|\[\\S\\s\]|\[\\w\\W\])[*+]\$?")
# Java, Python and ECMAScript differ in these; a class inside a class means an intersection in some of them.
_NOT_ALIKE = re.compile(r"\(\?(?![:=!])|\\[pPAzZGQ]|[*+?}]\+|\[[^\]\\]*\[|&&")


@cache
def is_portable(pattern: str) -> bool:
    """Whether a pattern says something, and says it alike and quickly in every validator."""
    if not pattern or len(pattern) > MAX_PATTERN or _MATCHES_ANYTHING.fullmatch(pattern):
        return False
    return not _NOT_ALIKE.search(pattern) and _compiles(pattern) and not _repeats_a_repetition(pattern)


def _compiles(pattern: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            re.compile(pattern)
        except (re.error, Warning):
            return False
    return True


_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[*+{()]|.", re.DOTALL)


def _repeats_a_repetition(pattern: str) -> bool:
    """Whether a repeated group holds a repetition: matching may then take exponential time."""
    parts = _PART.findall(pattern)
    groups = [False]  # for each open group, whether a repetition stands in it
    for at, part in enumerate(parts):
        if part == "(":
            groups.append(False)
        elif part == ")":
            holds = groups.pop()
            if holds and parts[at + 1 : at + 2] in (["*"], ["+"], ["{"]):
                return True
            groups[-1] |= holds
        elif part in ("*", "+", "{"):
            groups[-1] = True
    return False
