"""The shared story on the raw dialects: what it must hold to be worth telling, and that the three agree."""

from __future__ import annotations

from collections import Counter

import pytest

from surface.adapters.openai_chat import OPENAI_CHAT
from surface.adapters.openai_responses import OPENAI_RESPONSES
from surface.testing import DialectHarness, Harness, OpenAIChatVoice, OpenAIResponsesVoice
from tests.frameworks.catalog import COUNT, EDITED, MONDAY, REMOVED, World
from tests.frameworks.story import PHASES, Account, tell


def test_the_catalog_holds_500_real_operations() -> None:
    assert len({operation.name for operation in World().operations(MONDAY)}) == COUNT


@pytest.mark.parametrize(
    "harness",
    [DialectHarness(OPENAI_CHAT, OpenAIChatVoice()), DialectHarness(OPENAI_RESPONSES, OpenAIResponsesVoice())],
    ids=["openai-chat", "openai-responses"],
)
@pytest.mark.rule("EVD-1", "ACT-1")
async def test_every_dialect_tells_the_same_story(harness: Harness, reference: Account) -> None:
    assert await tell(harness) == reference


def test_the_story_holds_every_way_to_search_badly(reference: Account) -> None:
    events = [event for page in reference.evidence for event in page]
    outcomes = Counter(event["outcome"] for event in events if event["event"] == "CallEvidence")
    assert outcomes.keys() == {"ok", "INACTIVE", "UNKNOWN_TOOL", "VALIDATION_ERROR", "INTERRUPTED"}
    searches = [(event["status"], event["reason"]) for event in events if event["event"] == "SearchEvidence"]
    assert set(searches) == {
        ("SELECTED", None),
        ("NO_MATCH", "abstained"),
        ("SELECTION_REFUSED", "query_too_long"),
    }
    steps = [event for event in events if event["event"] == "StepEvidence"]
    assert len(steps) == sum(len(phase.turns) + bool(phase.left) for phase in PHASES)
    assert any(step["evicted"] for step in steps)
    assert {reason for step in steps for reason in step["ignored"]} >= {"stale"}


def test_what_was_edited_or_removed_by_the_redeploy_is_not_run_on_an_old_receipt(reference: Account) -> None:
    done = [name for name, _ in reference.done]
    # The call that Monday left may have run: it is answered so, and not run. On Tuesday it runs once, after its repair.
    assert (done.count(EDITED), done.count(REMOVED)) == (2, 1)
    assert done.count("cloudwatch_set_alarm_state") == 0
    deployed = len(PHASES[0].turns) + len(PHASES[1].turns)
    assert any(REMOVED in names for names in reference.advertised[:deployed])
    assert not any(REMOVED in names for names in reference.advertised[deployed:])
