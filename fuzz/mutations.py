"""Structure-aware mutations of JSON values and of texts.

A value is changed at one place: deleted, doubled, swapped, given another type, made huge, deep or odd. A string that
itself holds JSON (a receipt, an argument string) is opened, changed inside, and closed again. A string that stands in
several places (a call id) may be changed in all of them at once, so that what belongs together still does.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

GROWTH = 140_000
"""The most characters that one change adds. Six changes at most: bounded time is promised for less than 1 MiB."""

_DEEP = 2_000
_ODD_TEXTS = (
    "", " ", "\x00", "\ud800", "a\udfffb", "\U0010ffff", "\u202e", "é", "e\u0301", "\ufeff", "\u2028", "ﬀ", "null",
    "toolsurface.receipt", "search_tools", "alpha", "run-1", "__class__", "../..", "%s%n", "{}", "[", '"', "\\",
    "1e999", "NaN", "-0", "9" * 400, "9" * 5_000, "call-0-0", "assistant", "user", "tool", "system", "tool_use",
    "tool_result", "text", "function_call", "function_call_output", "message", "item_reference", "reasoning",
    "SELECTED", "SEARCH_REQUIRED", "NO_MATCH", "SELECTION_REFUSED",
)  # fmt: skip
_ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 1.0, 0.5, -0.0, 1e308, float("inf"), float("nan"), 2**31, 2**63, 10**400,
    [], {}, [[]], [None], {"": None}, {"type": "text", "text": "x"}, "x", b"bytes",
)  # fmt: skip
_NUMBERS = ("1" * 5_000, "1e400", "-0", "0.0000001", "1E+2", "01", "NaN", "-Infinity", "true", "1.0")

Path = tuple[Any, ...]


def mutated(value: Any, dice: random.Random) -> Any:
    """The value with one to a few changes; the given value is left as it is."""
    changed = copied(value)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 6))):
        changed = _mutated_once(changed, dice)
    return changed


def mutated_text(text: str, dice: random.Random) -> str:
    """A text with JSON in it, changed in its structure or in its characters."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if value is None or dice.random() < 0.4:
        return _bent(text, dice)
    changed = mutated(value, dice)
    try:
        written = json.dumps(changed, ensure_ascii=dice.random() < 0.5, sort_keys=dice.random() < 0.5)
    except (ValueError, TypeError, RecursionError):
        return _bent(text, dice)
    return _bent(written, dice) if dice.random() < 0.1 else written


def copied(value: Any) -> Any:
    """A copy of dictionaries and lists, however deep; other values are shared."""
    if not isinstance(value, (dict, list)):
        return value
    top: Any = value.copy()
    open_nodes = [top]
    while open_nodes:
        node = open_nodes.pop()
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(child, (dict, list)):
                node[key] = child.copy()
                open_nodes.append(node[key])
    return top


def places(value: Any) -> Iterator[tuple[Path, Any]]:
    """Every place below the top, outer ones first; not into what is deeper than a mutation makes sense."""
    queue: list[tuple[Path, Any]] = [((), value)]
    for path, node in queue:
        if path:
            yield path, node
        if len(path) < 40 and isinstance(node, (dict, list)):
            queue.extend(((*path, key), child) for key, child in _children(node))


def at(value: Any, path: Path) -> Any:
    """What stands at a place."""
    for key in path:
        value = value[key]
    return value


def somewhere(value: Any, dice: random.Random) -> tuple[Path, Any]:
    """A place below the top, found by walking down; an empty path where there is none."""
    path: list[Any] = []
    while isinstance(value, (dict, list)) and value and len(path) < 40 and (not path or dice.random() < 0.93):
        key = dice.choice(list(value)) if isinstance(value, dict) else dice.randrange(len(value))
        path.append(key)
        value = value[key]
    return tuple(path), value


def size(value: Any) -> int:
    """About the characters of a value as JSON, however deep it is."""
    total, queue = 0, [value]
    while queue:
        node = queue.pop()
        total += 2
        if isinstance(node, (str, bytes)):
            total += len(node)
        elif isinstance(node, dict):
            total += sum(len(key) + 4 if isinstance(key, str) else 8 for key in node)
            queue.extend(node.values())
        elif isinstance(node, list):
            queue.extend(node)
        elif isinstance(node, int):
            total += node.bit_length() // 3
        else:
            total += 6
    return total


def _children(node: Any) -> Iterator[tuple[Any, Any]]:
    return iter(list(node.items()) if isinstance(node, dict) else list(enumerate(node)))


def _mutated_once(value: Any, dice: random.Random) -> Any:
    path, node = somewhere(value, dice)
    if not path or dice.random() < 0.01:
        return copied(dice.choice(_ODD_VALUES))
    if isinstance(node, str) and dice.random() < 0.5:
        return _with_text(value, path, node, dice)
    dice.choice(_STRUCTURAL)(value, path, dice)
    return value


def _with_text(value: Any, path: Path, text: str, dice: random.Random) -> Any:
    inner = mutated_text(text, dice) if text[:1] in ("{", "[") else _bent(text, dice)
    everywhere = dice.random() < 0.4
    for other, node in list(places(value)) if everywhere else [(path, text)]:
        if isinstance(node, str) and node == text:
            at(value, other[:-1])[other[-1]] = inner
    return value


_Change = Callable[[Any, Path, random.Random], None]


def _delete(value: Any, path: Path, _dice: random.Random) -> None:
    del at(value, path[:-1])[path[-1]]


def _double(value: Any, path: Path, dice: random.Random) -> None:
    parent, node = at(value, path[:-1]), at(value, path)
    times = max(1, min(dice.choice((1, 1, 2, 50, 1_000)), GROWTH // size(node)))
    if isinstance(parent, list):
        parent[path[-1] : path[-1]] = [copied(node) for _ in range(times)]
    else:
        parent[f"{path[-1]}{dice.choice(('_', ' ', '2'))}"] = copied(node)


def _transplant(value: Any, path: Path, dice: random.Random) -> None:
    # A copy of one part in the place of another.
    _, node = somewhere(value, dice)
    if size(node) < GROWTH:
        at(value, path[:-1])[path[-1]] = copied(node)


def _replace(value: Any, path: Path, dice: random.Random) -> None:
    at(value, path[:-1])[path[-1]] = copied(dice.choice(_ODD_VALUES + _ODD_TEXTS))


def _add(value: Any, path: Path, dice: random.Random) -> None:
    parent = at(value, path[:-1])
    odd = copied(dice.choice(_ODD_VALUES))
    if isinstance(parent, list):
        parent.insert(dice.randrange(len(parent) + 1), odd)
    else:
        parent[dice.choice(_ODD_TEXTS)] = odd


def _wrap(value: Any, path: Path, dice: random.Random) -> None:
    node = at(value, path)
    for _ in range(dice.choice((1, 1, 2, 50, _DEEP))):
        node = [node] if dice.random() < 0.5 else {"content": node}
    at(value, path[:-1])[path[-1]] = node


def _shuffle(value: Any, path: Path, dice: random.Random) -> None:
    parent = at(value, path[:-1])
    if isinstance(parent, list):
        dice.shuffle(parent)
    else:
        keys = list(parent)
        children = list(parent.values())
        dice.shuffle(children)
        parent.update(zip(keys, children, strict=True))


_STRUCTURAL: tuple[_Change, ...] = (
    _delete,
    _delete,
    _double,
    _transplant,
    _transplant,
    _replace,
    _replace,
    _add,
    _wrap,
    _shuffle,
)


def _bent(text: str, dice: random.Random) -> str:
    """A text with some characters cut out, doubled, put in or changed."""
    start = dice.randrange(len(text) + 1)
    end = min(len(text), start + dice.choice((0, 1, 1, 4, 30)))
    match dice.randrange(6):
        case 0:
            return text[:start] + text[end:]
        case 1:
            return text[:start] + dice.choice(_ODD_TEXTS + _NUMBERS) + text[end:]
        case 2:
            times = min(dice.choice((2, 10, 1_000, GROWTH)), GROWTH // max(1, end - start))
            return text[:start] + text[start:end] * times + text[end:]
        case 3:
            bracket = dice.choice(("[", '{"a":', "]", '"', "\\u0000"))
            return text[:start] + bracket * dice.choice((1, 10, 20_000)) + text[end:]
        case 4:
            return text[:start]
        case _:
            odd = chr(dice.choice((0, 0x7F, 0xD800, 0xDFFF, 0xFFFE, 0x1F600, dice.randrange(0x110000))))
            return text[:start] + odd + text[end:]
