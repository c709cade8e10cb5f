"""What a person sees: the story as it happens on standard error, the table at the end on standard output.

Calm on a terminal, plain text elsewhere, never wider than the screen. Not done here: deciding what held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from demo.child import ChildFailedError
from demo.events import Searched
from demo.facts import Facts, Run
from demo.points import Point, request_line
from demo.steps import ShownCall, ShownStep, steps_of

MAX_WIDTH = 110
"""Columns; eyes lose the row on wider ones."""
SHOWN_NAMES = 3
"""New names in a row of the table; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Where a person looks."""

    out: Console
    err: Console

    @classmethod
    def standard(cls) -> Screen:
        """Standard output and standard error."""
        out = Console(highlight=False)
        return cls(
            out=Console(highlight=False, width=min(out.width, MAX_WIDTH)), err=Console(stderr=True, highlight=False)
        )

    def tell(self, who: str, what: str) -> None:
        """One line of the story."""
        self.err.print(Text.assemble((f"{who:<9}", "cyan"), what), soft_wrap=not self.err.is_terminal)

    def give_back(self) -> None:
        """Puts the terminal right after a child that may have been drawing on it was ended."""
        if self.err.is_terminal:
            self.err.show_cursor(show=True)
            self.err.print()

    def failure(self, error: ChildFailedError) -> None:
        """Why the story could not be told to its end, and what a person can do."""
        self.err.print(Text(f"demo: {error}", style="bold red"), soft_wrap=True)
        for line in error.tail:
            self.err.print(Text(f"  {line}", style="dim"), soft_wrap=True)
        self.err.print(Text(error.advice), soft_wrap=True)

    def show(self, facts: Facts, points: Sequence[Point]) -> None:
        """The table, the six points and the summary."""
        shown: list[RenderableType] = []
        for run in facts.runs:
            shown += ["", _heading(facts, run), self._table(facts, run)]
        shown += ["", self._points(points), "", _summary(facts, points)]
        if self.out.is_terminal:
            self.out.print(Group(*shown))
            return
        with self.out.capture() as captured:
            self.out.print(Group(*shown))
        # Cells are filled up with blanks, which only a terminal needs.
        for line in captured.get().splitlines():
            print(line.rstrip(), file=self.out.file)

    def _table(self, facts: Facts, run: Run) -> Table:
        whole = sum(facts.exported.tools[run.script.surface].values())
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim", border_style="dim")
        table.expand = True
        table.add_column("step", justify="right", no_wrap=True)
        table.add_column("advertised, then called", ratio=1, overflow="fold")
        table.add_column("schemas", justify="right", no_wrap=True)
        table.add_column("of all", justify="right", no_wrap=True)
        before: frozenset[str] = frozenset()
        for step in steps_of(run):
            weight = step.prepared.schema_bytes
            rows: list[RenderableType] = [_advertised(step, before), *(self._call(call) for call in step.calls)]
            table.add_row(str(step.prepared.step), Group(*rows), _size(weight), f"{100 * weight / whole:.2f} %")
            before = frozenset(step.prepared.advertised)
        return table

    def _call(self, call: ShownCall) -> RenderableType:
        lines = [Text(call.written.tool)]
        if call.after_restart:
            lines.append(Text(f"{self._mark('✗', 'x')} SIGKILL in its handler; after the restart:", style="red"))
        if call.search is not None:
            lines[0].append(f' "{call.written.arguments.get("query", "")}"', style="italic")
            lines.append(_found(call.search, len(call.selected)))
        elif call.request is not None:
            lines.append(Text(f"would send {request_line(call.request)}", style="green"))
        else:
            lines.append(Text.assemble((call.outcome, "yellow"), (f"  {call.said}", "dim")))
        grid = Table.grid(padding=(0, 1))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for at, line in enumerate(lines):
            grid.add_row(self._mark("→", ">") if at == 0 else "", line)
        return grid

    def _points(self, points: Sequence[Point]) -> RenderableType:
        grid = Table.grid(padding=(0, 1))
        for _ in range(2):
            grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for point in points:
            mark = Text(self._mark("✓", "ok"), "green") if point.held else Text(self._mark("✗", "NO"), "bold red")
            told: list[RenderableType] = [Text(point.title, style="bold"), Text(point.shown, style="dim")]
            told += [Text(claim, style="red") for claim in point.broken]
            grid.add_row(mark, str(point.number), Group(*told))
        return grid

    def _mark(self, mark: str, plain: str) -> str:
        """A sign, or a word where the output cannot carry it."""
        try:
            mark.encode(self.out.encoding)
        except UnicodeEncodeError:
            return plain
        return mark


def _heading(facts: Facts, run: Run) -> Text:
    tools = facts.exported.tools[run.script.surface]
    return Text.assemble(
        (run.script.run_id, "bold"),
        f" on the {run.script.surface} surface: {len(tools):,} tools, {_size(sum(tools.values()))} of schemas",
    )


def _advertised(step: ShownStep, before: frozenset[str]) -> Text:
    names = step.prepared.advertised
    if before == frozenset(names):
        when = "after the restart, " if step.restarted else ""
        return Text(f"{when}the same {len(names)} tools", style="dim")
    new = [name for name in names if name not in before]
    text = Text(f"{len(names) - len(new)} as before + " if before else "", style="dim")
    text.append_text(_names(new, style="not dim bold"))
    if gone := len(before - frozenset(names)):
        text.append(f", {gone} gone")
    return text


def _names(names: Sequence[str], *, style: str) -> Text:
    text = Text(", ".join(names[:SHOWN_NAMES]), style=style)
    if len(names) > SHOWN_NAMES:
        text.append(f" and {len(names) - SHOWN_NAMES} more")
    return text


def _found(search: Searched, selected: int) -> Text:
    """How long a search took and where its answer came from."""
    took = f"{selected} tools in {search.seconds * 1000:.0f} ms"
    if search.degraded is None:
        return Text(f"{took} from the {search.ranker} over HTTP", style="green")
    return Text(f"{took} from the agent's own {search.ranker} ranker, degraded: {search.degraded}", style="yellow")


def _summary(facts: Facts, points: Sequence[Point]) -> Text:
    held = sum(point.held for point in points)
    style = "bold green" if held == len(points) else "bold red"
    return Text.assemble((f"{held} of {len(points)} hold", style), ": ", ", ".join(_numbers(facts)))


def _numbers(facts: Facts) -> Iterator[str]:
    tools = max(len(tools) for tools in facts.exported.tools.values())
    yield f"{tools:,} tools"
    share = max(
        step.schema_bytes / sum(facts.exported.tools[run.script.surface].values())
        for run in facts.runs
        for step in run.steps
    )
    yield f"at most {100 * share:.1f} % of schemas a step"
    hosted = [search.seconds for run in facts.runs for search in run.searches if search.degraded is None]
    if hosted:
        yield f"{1000 * sum(hosted) / len(hosted):.0f} ms a search"
    yield f"{facts.seconds['total']:.0f} s"


def _size(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1_000_000:.1f} MB"
    return f"{count / 1_000:.1f} kB"
