"""What a command says about its work: lines for a person, one JSON object for a program. Pure text, no printing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from indexer.catalog_file import ReadCatalog
from indexer.deployed import DeployResult
from indexer.release import Release

SHOWN_REFUSALS = 20
_SHORT = 12
"""Digits of a digest that a person compares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceHealth:
    """What the store holds for one surface of an active release."""

    surface: str
    version: str
    tools: int | None = None
    """None where the version cannot be read."""
    model: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationHealth:
    """What the store holds for one application; `release` is None where the pointer itself cannot be read."""

    application: str
    release: Release | None
    surfaces: tuple[SurfaceHealth, ...] = ()
    problem: str | None = None

    @property
    def sound(self) -> bool:
        """Whether everything that is active can be served."""
        return self.problem is None and all(surface.problem is None for surface in self.surfaces)


def deploy_lines(result: DeployResult, read: ReadCatalog, *, seconds: float) -> list[str]:
    """A finished deploy, for a person."""
    rows: list[tuple[str, ...]] = [
        (one.surface, _tools(one.tools), one.change, one.version[:_SHORT]) for one in result.surfaces
    ]
    rows += [(surface, "", "removed", "") for surface in result.removed]
    lines = [f"{result.application}, deploy {_short(result.deploy)}", *_table(rows)]
    if read.refused_tools:
        lines.append(f"  {_tools(read.refused_tools)} left out (see above)")
    if result.unchanged:
        lines.append(f"unchanged: release {result.release[:_SHORT]} was active already")
    else:
        texts = "1 text" if result.embedded == 1 else f"{result.embedded:,} texts"
        lines.append(f"release {result.release[:_SHORT]} is active; embedded {texts} in {seconds:.1f} s")
    return lines


def refusal_lines(read: ReadCatalog) -> list[str]:
    """The tools that were left out, and why."""
    if not read.refused_tools:
        return []
    lines = [f"left out {_tools(read.refused_tools)}:"]
    lines += [f"  - {fault}" for fault in read.refused[:SHOWN_REFUSALS]]
    if len(read.refused) > SHOWN_REFUSALS:
        lines.append(f"  … and {len(read.refused) - SHOWN_REFUSALS} more; --json lists all of them")
    return lines


def deploy_json(result: DeployResult, read: ReadCatalog, *, seconds: float) -> dict[str, Any]:
    """A finished deploy, for a program."""
    return {
        "application": result.application,
        "deploy": result.deploy,
        "release": result.release,
        "previous": result.previous,
        "unchanged": result.unchanged,
        "surfaces": [asdict(one) for one in result.surfaces],
        "removed": list(result.removed),
        "embedded": result.embedded,
        "refused_tools": read.refused_tools,
        "refused": [asdict(fault) for fault in read.refused],
        "seconds": round(seconds, 3),
    }


def status_lines(applications: Sequence[ApplicationHealth]) -> list[str]:
    """What a store serves, for a person."""
    if not applications:
        return ["nothing is active in this store; deploy a catalog"]
    lines: list[str] = []
    for one in applications:
        if one.release is None:
            lines.append(f"{one.application}: {one.problem}")
            continue
        lines.append(f"{one.application}, deploy {_short(one.release.deploy)}, release {one.release.id[:_SHORT]}")
        rows = [(each.surface, _known(each.tools), each.version[:_SHORT], each.model or "") for each in one.surfaces]
        lines.extend(_table(rows))
        lines.extend(f"  ! {each.surface}: {each.problem}" for each in one.surfaces if each.problem)
    return lines


def status_json(applications: Sequence[ApplicationHealth]) -> dict[str, Any]:
    """What a store serves, for a program."""
    return {
        "sound": all(one.sound for one in applications),
        "applications": [
            {
                "application": one.application,
                "deploy": one.release.deploy if one.release else None,
                "release": one.release.id if one.release else None,
                "problem": one.problem,
                "surfaces": [asdict(surface) for surface in one.surfaces],
            }
            for one in applications
        ],
    }


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns, aligned; the second is a number and stands to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [("  " + "  ".join(_aligned(cell, at, widths[at]) for at, cell in enumerate(row))).rstrip() for row in rows]


def _aligned(cell: str, column: int, width: int) -> str:
    return cell.rjust(width) if column == 1 else cell.ljust(width)


def _tools(count: int) -> str:
    return "1 tool" if count == 1 else f"{count:,} tools"


def _known(count: int | None) -> str:
    return "?" if count is None else _tools(count)


def _short(deploy: str) -> str:
    return deploy if len(deploy) <= 2 * _SHORT else deploy[:_SHORT]
