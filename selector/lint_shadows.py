"""Tools that other tools stand before, asked for in their own words.

Each tool's description is put to the ranker as a query. Where the tool is not first it is `shadowed` by the one that
is, or by none where the ranker finds nothing. It is then asked for by the first sentence of its description and by the
words of its name as well, and where one and the same other tool stands before it each time, it is `always_behind` that
one: hardly any wish will find it first.

The queries are the catalog's own texts and go nowhere but to the ranker. A tool without description is asked for by
its name alone. What `always_behind` says is not said a second time as `shadowed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from indexer.catalog_file import CatalogTool
from indexer.document import plain_words
from indexer.progress import Progress, silent
from selector.evaluation_run import APPLICATION, SURFACE
from selector.lint import Code, Finding
from surface.ranking import Ranker, RankRequest

DEPTH: Final = 10
"""How many names each question asks for; a tool that is not among them is behind all of them."""
_QUERY_CHARACTERS: Final = 1_000
_SENTENCE = re.compile(r".+?(?:[.!?](?=\s)|[\u3002\uff01\uff1f]|\n|$)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a tool stands in one ranking."""

    ahead: Sequence[str]
    """The names before it, best first; all of them where it is not in the ranking."""
    found: bool


async def lint_shadows(tools: Sequence[CatalogTool], ranker: Ranker, *, progress: Progress = silent) -> list[Finding]:
    """The findings by code and name; raises what the ranker raises."""
    found: list[Finding] = []
    for done, tool in enumerate(tools):
        progress("asking each by its own words", done, len(tools))
        places: list[_Place] = []
        for probe in _probes(tool):
            places.append(await _placed(tool, ranker, probe))
            if places[0].found and not places[0].ahead:
                break
        else:
            found += [_finding(tool, places)] if places else []
    progress("asking each by its own words", len(tools), len(tools))
    order = list(Code)
    return sorted(found, key=lambda finding: (order.index(finding.code), finding.tools))


def _finding(tool: CatalogTool, places: Sequence[_Place]) -> Finding:
    first = places[0]
    always = [name for name in first.ahead if all(name in place.ahead for place in places)]
    if always:
        return Finding(code=Code.ALWAYS_BEHIND, tools=(tool.name,), detail={"by": always[0]})
    by = first.ahead[0] if first.ahead else None
    place = len(first.ahead) + 1 if first.found else None
    return Finding(code=Code.SHADOWED, tools=(tool.name,), detail={"by": by, "place": place})


async def _placed(tool: CatalogTool, ranker: Ranker, query: str) -> _Place:
    reply = await ranker.rank(
        RankRequest(application=APPLICATION, surface=SURFACE, query=query, limit=DEPTH, catalog_digest=None)
    )
    names = [] if reply.abstained else [ranked.name for ranked in reply.ranked]
    if tool.name not in names:
        return _Place(ahead=names, found=False)
    return _Place(ahead=names[: names.index(tool.name)], found=True)


def _probes(tool: CatalogTool) -> Iterator[str]:
    description = tool.description.strip()[:_QUERY_CHARACTERS]
    sentence = _SENTENCE.match(description)
    probes = (description, sentence.group().strip() if sentence else "", plain_words(tool.name))
    yield from dict.fromkeys(probe for probe in probes if any(character.isalnum() for character in probe))
