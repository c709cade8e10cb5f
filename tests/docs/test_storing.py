"""The lines of docs/frameworks.md that store the messages of a pydantic-ai run after each node, run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

from tests.frameworks.pydantic_ai_bench import SEARCH, Bench
from tests.frameworks.test_pydantic_ai_journal import KilledError, Teller

PAGE = (Path(__file__).parents[2] / "docs/frameworks.md").read_text(encoding="utf-8")


def keeping() -> Any:
    """The lines as a function of what they take from their surroundings."""
    (block,) = re.findall(r"```python\n(  from pydantic_ai.*?)```", PAGE, flags=re.DOTALL)
    code = "async def keep(agent, question, deps, history, store):\n" + indent(dedent(block), "    ")
    made: dict[str, Any] = {}
    exec(compile(code, "frameworks.md", "exec", dont_inherit=True), made)  # noqa: S102 - the page is ours
    return made["keep"]


@pytest.mark.rule("MNT-9")
async def test_messages_that_are_stored_as_the_page_says_take_up_a_run_that_was_killed_in_a_call() -> None:
    teller, stored = Teller(), [b"[]"]
    keep = keeping()

    async def lived(bench: Bench, question: str | None) -> None:
        history = ModelMessagesTypeAdapter.validate_json(stored[-1])
        await keep(bench.agent, question, bench.desk, history or None, stored.append)

    first = Bench(teller.wire)
    first.turns = [[SEARCH], [("wire", {})]]
    with pytest.raises(KilledError):
        await lived(first, "Go on.")
    second = Bench(teller.wire)
    await lived(second, None)
    assert teller.ran == ["wire call-1-0"]
    assert second.outcomes == [("wire", "INTERRUPTED")]
    assert b"Done." in stored[-1]
