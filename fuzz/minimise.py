"""Making a failing input small: parts are taken away as long as it fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from fuzz.mutations import Path, at, copied, places, size

PATIENCE = 20.0
"""Seconds that a search for a smaller input may take."""


def minimised(made: Any, fails: Callable[[Any], bool], *, patience: float = PATIENCE) -> Any:
    """A smaller input for which `fails` still holds; `made` itself where there is none."""
    deadline = time.monotonic() + patience
    smaller = True
    while smaller and time.monotonic() < deadline:
        smaller = False
        for candidate in _smaller(made):
            if time.monotonic() > deadline:
                break
            if size(candidate) < size(made) and fails(candidate):
                made, smaller = candidate, True
                break
    return made


def _smaller(value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        yield from _shorter(value)
        return
    if isinstance(value, list):
        yield from _without_runs(value)
    for path, node in places(value):
        yield _without(value, path)
        if isinstance(node, str):
            yield from (_with(value, path, text) for text in _shorter(node))
        elif isinstance(node, list):
            yield from (_with(value, path, part) for part in _without_runs(node))
        elif isinstance(node, dict) and node:
            yield _with(value, path, None)
    if isinstance(value, (dict, list)):
        yield from (copied(node) for _, node in places(value))


def _without_runs(value: list[Any]) -> Iterator[list[Any]]:
    """The list without each run of elements: long runs first."""
    length = len(value)
    while length >= 1:
        yield from (value[:start] + value[start + length :] for start in range(0, len(value), length))
        length //= 2


def _shorter(text: str) -> Iterator[str]:
    """The text without each run of characters: long runs first."""
    length = len(text)
    while length >= 1:
        yield from (text[:start] + text[start + length :] for start in range(0, len(text), length))
        length //= 2


def _without(value: Any, path: Path) -> Any:
    changed = copied(value)
    del at(changed, path[:-1])[path[-1]]
    return changed


def _with(value: Any, path: Path, node: Any) -> Any:
    changed = copied(value)
    at(changed, path[:-1])[path[-1]] = node
    return changed
