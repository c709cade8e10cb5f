"""An application's own prepare-step: what it narrows away is not advertised, not run and not promised (ACT-7)."""

from __future__ import annotations

from typing import Any

import pytest

from surface import ConfigurationError, StepChanges, StepEvidence, StepView
from surface.receipt import Reason, Status
from tests.surface.deferred import Shop, Talk, receipt_in
from tests.surface.neutral_dialect import call
from tests.surface.rankers import proposing


def only(*names: str) -> Any:
    def prepare(view: StepView) -> StepChanges:
        return StepChanges(active_tools=names)

    return prepare


def talk_with(*names: str, observer: Any = None) -> Talk:
    controller = Shop().application(ranker=proposing("invoices_list", "file_delete"), observer=observer)
    return Talk(controller.mount(run_id="run-1", surface="reader", prepare_step=only(*names)))


@pytest.mark.rule("REP-1", "ACT-7")
async def test_a_tool_that_is_narrowed_away_is_refused_and_not_promised_for_the_next_step() -> None:
    talk = talk_with("invoices_list")
    (answer,) = await talk.says(call("file_delete", {}))
    receipt = receipt_in(answer)
    assert (receipt.status, receipt.reason, receipt.selected) == (Status.SELECTION_REFUSED, Reason.NARROWED, ())
    assert answer.tool == "file_delete"
    (repaired,) = await talk.says(call("invoices_list", {}))
    assert receipt_in(repaired).status is Status.SEARCH_REQUIRED


@pytest.mark.rule("EVD-1", "ACT-7")
async def test_the_evidence_of_a_narrowed_step_counts_what_it_advertises() -> None:
    events: list[Any] = []
    talk = talk_with("invoices_list", observer=events.append)
    await talk.searches()
    names = await talk.advertised()
    assert "invoices_list" in names
    assert "file_delete" not in names
    last = [event for event in events if isinstance(event, StepEvidence)][-1]
    surface = talk.run.surface
    assert (last.selected, last.active) == (1, len(names))
    assert last.schema_bytes == sum(surface.weight(name) for name in names)


@pytest.mark.rule("ACT-7")
async def test_a_prepare_step_that_returns_something_else_is_told_what_to_return() -> None:
    names: Any = ["invoices_list"]
    mounted = Shop().application().mount(run_id="run-1", surface="reader", prepare_step=lambda _: names)
    with pytest.raises(ConfigurationError, match=r"^prepare_step: needs to return StepChanges or None, not list$"):
        await mounted.prepare_step([])
