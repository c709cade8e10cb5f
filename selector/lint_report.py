"""What a lint says: one JSON object, or lines for people. Pure text: names and numbers, never a description."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from selector.lint import Code, Finding
from surface.catalog_rules import shown

MEANS: Final[Mapping[Code, str]] = {
    Code.NO_DESCRIPTION: "the description says nothing",
    Code.REPEATS_NAME: "the description says no more than the name",
    Code.SHARED_DESCRIPTION: "several tools have one description",
    Code.UNDOCUMENTED_PARAMETERS: "parameters without a description",
    Code.SIMILAR_NAMES: "names that differ by one character",
    Code.INDISTINGUISHABLE: "tools that can hardly be told apart",
    Code.SHADOWED: "tools that their own description does not find first",
    Code.ALWAYS_BEHIND: "tools that stand behind the same other one, however they are asked for",
}
_NAMES: Final = 8
"""How many names of a group are shown to people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceLint:
    """The findings of one surface."""

    surface: str
    tools: int
    findings: Sequence[Finding]


def lint_json(surfaces: Sequence[SurfaceLint], *, checks: Sequence[Code]) -> dict[str, Any]:
    """The whole report; `checks` are the codes that were looked for."""
    return {
        "checks": list(checks),
        "counts": {code: _count(surfaces, code) for code in checks},
        "surfaces": [
            {
                "surface": one.surface,
                "tools": one.tools,
                "findings": [
                    {"code": finding.code, "tools": list(finding.tools), **finding.detail} for finding in one.findings
                ],
            }
            for one in surfaces
        ],
    }


def lint_lines(surfaces: Sequence[SurfaceLint], *, show: int) -> Iterator[str]:
    """A block for each surface and kind of finding, with at most `show` findings each."""
    for one in surfaces:
        count = len(one.findings)
        yield f"{one.surface}: {one.tools:,} tools, {count:,} finding{'' if count == 1 else 's'}"
        for code in Code:
            found = [finding for finding in one.findings if finding.code is code]
            if not found:
                continue
            yield ""
            yield f"{code} ({len(found):,}): {MEANS[code]}"
            yield from (f"  {_line(finding)}" for finding in found[:show])
            if len(found) > show:
                yield f"  … and {len(found) - show:,} more; --json lists all, --show more"


def failing(surfaces: Sequence[SurfaceLint], codes: Sequence[Code]) -> Mapping[Code, int]:
    """How many findings there are of each of these codes, where there are any."""
    counts = {code: _count(surfaces, code) for code in codes}
    return {code: count for code, count in counts.items() if count}


def _count(surfaces: Sequence[SurfaceLint], code: Code) -> int:
    return sum(Counter(finding.code for finding in one.findings)[code] for one in surfaces)


def _line(finding: Finding) -> str:
    names = _listed(finding.tools)
    detail = finding.detail
    match finding.code:
        case Code.UNDOCUMENTED_PARAMETERS:
            return f"{names}: {_listed(detail['parameters'])} ({len(detail['parameters'])} of {detail['of']})"
        case Code.SHADOWED if detail["by"] is None:
            return f"{names}: finds nothing"
        case Code.SHADOWED:
            place = "is not found" if detail["place"] is None else f"is in place {detail['place']}"
            return f"{names}: {place}, {shown(detail['by'])} is first"
        case Code.ALWAYS_BEHIND:
            return f"{names}: behind {shown(detail['by'])}"
        case _:
            return names


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
    return ", ".join(map(shown, names[:_NAMES])) + more
