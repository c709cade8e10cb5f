"""The Dialect port: the one seam between neutral steps and the messages of a provider.

A dialect is pure: messages in, transcript out; entries in, advertised tools out; answers in, messages out. It keeps
no state, so whatever is true of a run follows from its messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from surface.call import CallAnswer
from surface.catalog import Catalog, ManifestEntry
from surface.catalog_rules import shown
from surface.content import PartKind
from surface.errors import DialectError
from surface.provider_inputs import InputRules
from surface.transcript import Transcript


class Dialect(Protocol):
    """How one provider writes tools, calls and results."""

    @property
    def name(self) -> str:
        """A short constant, such as ``anthropic-messages``."""
        ...

    @property
    def tool_name(self) -> re.Pattern[str]:
        """What a tool's name must match in full."""
        ...

    @property
    def inputs(self) -> InputRules:
        """What the top of a tool's input schema may hold."""
        ...

    @property
    def carries(self) -> frozenset[PartKind]:
        """The content kinds that survive in a result."""
        ...

    def read(self, messages: Sequence[Any]) -> Transcript:
        """The steps that the messages hold; raises TranscriptError where they are not in this dialect's form."""
        ...

    def advertise(self, entries: Iterable[ManifestEntry]) -> list[Any]:
        """The tools list of a request, in the order of the entries."""
        ...

    def answer(self, answers: Sequence[CallAnswer]) -> list[Any]:
        """The messages to append for these answers; none for none."""
        ...


def require_carried(dialect: Dialect, *catalogs: Catalog, search_tool: str | None = None) -> None:
    """Raises DialectError listing every tool whose name, input (CAT-7), parts (MNT-6) or framework do not fit."""
    tools = {name: made.tool for catalog in catalogs for name, made in catalog.tools.items()}
    schemas = {name: made.entry.input_schema for catalog in catalogs for name, made in catalog.tools.items()}
    names = sorted({*tools, *(() if search_tool is None else (search_tool,))})
    problems = [
        f"{shown(name)}: the name must match {dialect.tool_name.pattern}"
        for name in names
        if dialect.tool_name.fullmatch(name) is None
    ]
    for name in sorted(tools):
        problems += [f"{shown(name)}: {problem}" for problem in dialect.inputs.problems(schemas[name])]
        presenter = tools[name].presenter
        kinds = presenter.kinds if presenter else frozenset()
        framework = tools[name].framework
        if framework not in (None, dialect.name):
            problems.append(f"{shown(name)}: only {framework} runs it")
            continue
        problems += [f"{shown(name)}: its presenter makes {kind} parts" for kind in sorted(kinds - dialect.carries)]
    if problems:
        listed = "".join(f"\n  - {problem}" for problem in problems)
        raise DialectError(f"{dialect.name} cannot carry:{listed}")
