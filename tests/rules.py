"""The rules of the specification by id, with what each is about in a few words, and the tests that name them.

The specification stands outside this repository (`../shared/spec.md`), so the ids are repeated here; where it is
present, a test holds the two against each other. A test names its rules with ``@pytest.mark.rule("ACT-2", …)``, and
the marks are read from the source: nothing is imported or run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

RULES: Mapping[str, str] = {
    "CAT-1": "a catalog is immutable after construction",
    "CAT-2": "construction lists all faults at once",
    "CAT-3": "the order of tools never matters",
    "CAT-4": "digests cover all that is read",
    "CAT-5": "canonical schema bytes are comparable evidence",
    "CAT-6": "the base fits every surface's ceilings",
    "CAT-7": "provider names at mount; schemas survive",
    "MNT-1": "direct execution under a tool's identity",
    "MNT-2": "the order of steps in a call",
    "MNT-3": "failures become typed errors without values",
    "MNT-4": "the fence runs once per call",
    "MNT-5": "sync and async handlers, timeout, cancellation",
    "MNT-6": "presenters make parts of declared kinds",
    "MNT-7": "concurrent calls share no mutable context",
    "MNT-8": "an ordinary mount advertises every tool",
    "MNT-9": "an idempotency key; unanswered calls after restarts",
    "SRC-1": "what a run's first step exposes",
    "SRC-2": "queries too long, blank or odd",
    "SRC-3": "a ranker never widens a surface",
    "SRC-4": "receipts stay under their byte ceiling",
    "SRC-5": "admission is greedy within the room",
    "SRC-6": "four statuses, two of which select",
    "SRC-7": "no match is an honest answer",
    "SRC-8": "deadline and fallback whatever the ranker",
    "SRC-9": "an optional budget of searches",
    "SRC-10": "what a model reads of search",
    "RCP-1": "the fields of a receipt, no others",
    "RCP-2": "parsing is strict and total",
    "RCP-3": "a receipt counts only where it belongs",
    "RCP-4": "stale receipts are rejected as a whole",
    "RCP-5": "signatures cover everything and keys rotate",
    "RCP-6": "one canonical text, readable for ever",
    "RCP-7": "receipts travel in ordinary tool results",
    "ACT-1": "activation is a pure function",
    "ACT-2": "the latest selection replaces; repairs come first",
    "ACT-3": "parallel searches merge and none starves",
    "ACT-4": "what does not count changes nothing",
    "ACT-5": "restarts restore; other runs start afresh",
    "ACT-6": "base, selection, pins, within the ceilings",
    "ACT-7": "an application's step composes, never widens",
    "ACT-8": "a byte-identical prefix of every list",
    "ACT-9": "a transcript that was cut is legal",
    "REP-1": "an inactive call is answered, never run",
    "REP-2": "the gate stands at execution",
    "REP-3": "an unknown name is an honest failure",
    "REP-4": "another surface's tool is unknown here",
    "EVD-1": "an event per search, step and call",
    "EVD-2": "no event or error holds content",
    "EVD-3": "a raising observer changes nothing",
}

NOT_YET: Mapping[str, str] = {}
"""Rules that no test names today, each with the reason."""

_IN_SPEC = re.compile(r"^- \*\*([A-Z]{3}-[0-9]+)(?: \+)?\*\* ", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """One place that names a rule."""

    rule: str
    where: str
    """File and line."""
    on_a_test: bool
    """Whether the mark stands on a test, a class of tests or a whole module."""


def ids_in_spec(spec: str) -> set[str]:
    """The ids that the specification defines."""
    return set(_IN_SPEC.findall(spec))


def rules_named_in(folder: Path) -> list[Named]:
    """Every rule that a Python file below the folder names."""
    return [
        named
        for path in sorted(folder.rglob("*.py"))
        for named in rules_named_by(path.read_text(encoding="utf-8"), str(path.relative_to(folder)))
    ]


def rules_named_by(source: str, file: str) -> Iterator[Named]:
    """Every rule that one source names, on whatever it stands."""
    tree = ast.parse(source, filename=file)
    good = {id(each) for node in ast.walk(tree) for mark in _marks_of_tests(node) for each in ast.walk(mark)}
    for mark in _rule_marks(tree):
        for argument in mark.args:
            value = argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument)
            yield Named(rule=str(value), where=f"{file}:{mark.lineno}", on_a_test=id(mark) in good)


def _rule_marks(tree: ast.AST) -> list[ast.Call]:
    return [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule"
    ]


def _marks_of_tests(node: ast.AST) -> list[ast.expr]:
    """The marks that a node puts on tests: a test function, a class that holds some, or a `pytestmark`."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return node.decorator_list if node.name.startswith("test_") else []
        case ast.ClassDef():
            holds_tests = any(each.name.startswith("test_") for each in node.body if isinstance(each, _FUNCTION))
            return node.decorator_list if holds_tests else []
        case ast.Assign(targets=[ast.Name(id="pytestmark") | ast.Attribute(attr="pytestmark")]):
            return [node.value]
        case _:
            return []


_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
