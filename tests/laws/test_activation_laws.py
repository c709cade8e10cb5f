"""Laws of activation, on drawn histories of every kind of receipt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surface.activation import Activation, SelectionSource, activate
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.errors import PinsRefusedError
from surface.limits import Limits
from surface.receipt import Rejection
from surface.transcript import Transcript
from tests.laws.messages import UNRELATED, messages_of
from tests.laws.reference import expected_after, fitting
from tests.strategies import LAW, History, any_texts, ceilings, histories, hostile_texts, pins_of
from tests.surface.shop import ROOMY, RUN, SIGNER, called, make_surface, make_tool, searched, step

SURFACE = make_surface(
    [
        make_tool(name, "x" * (97 * number % 400))
        for number, name in enumerate(["help", "a", "b", "c", "d", "e", "f", "g"])
    ],
    always_on=["help"],
)
PINS = pins_of(SURFACE)
CEILINGS = ceilings(SURFACE)
HISTORIES = histories(SURFACE)


def activation(
    seen: History | Transcript, *, pins: Sequence[str] = (), limits: Limits = ROOMY, **other: Any
) -> Activation:
    transcript = seen.transcript if isinstance(seen, History) else seen
    fixed: dict[str, Any] = {"run_id": RUN, "surface": SURFACE, "signer": None} | other
    return activate(transcript, pins=pins, limits=limits, **fixed)


def state_of(made: Activation) -> tuple[Any, ...]:
    """What a step looks like, but for where its selection came from."""
    return made.names, made.selected, made.pins, made.schema_bytes


def read(messages: Sequence[Any]) -> Transcript:
    return ANTHROPIC_MESSAGES.read(messages)


@pytest.mark.rule("ACT-2", "ACT-3", "ACT-4", "ACT-6", "RCP-3", "RCP-4", "SRC-9")
@LAW
@given(history=HISTORIES, pins=PINS, limits=CEILINGS)
def test_activation_agrees_with_a_second_implementation(history: History, pins: list[str], limits: Limits) -> None:
    if not fitting(SURFACE, pins, limits)([]):
        with pytest.raises(PinsRefusedError):
            activation(history, pins=pins, limits=limits)
        return
    made = activation(history, pins=pins, limits=limits)
    expected = expected_after(history, SURFACE, pins, limits)
    assert made.selected == expected.selected
    assert made.names == expected.names
    assert set(made.evicted) - set(made.selected) == expected.lost
    assert made.ignored == expected.ignored
    assert made.searches == expected.searches


@pytest.mark.rule("RCP-5", "ACT-4")
@LAW
@given(history=histories(SURFACE, signer=SIGNER))
def test_with_a_signer_only_what_it_signed_for_the_call_counts(history: History) -> None:
    made = activation(history, signer=SIGNER)
    expected = expected_after(history, SURFACE, (), ROOMY)
    assert (made.selected, made.ignored) == (expected.selected, expected.ignored)


@pytest.mark.rule("ACT-1")
@LAW
@given(history=HISTORIES, pins=PINS)
def test_the_same_arguments_give_the_same_activation_whatever_was_asked_between(
    history: History, pins: list[str]
) -> None:
    first = activation(history, pins=pins)
    activation(Transcript(steps=tuple(reversed(history.transcript.steps))), run_id="another", pins=pins[1:])
    assert activation(history, pins=list(pins)) == first


@pytest.mark.rule("ACT-1", "ACT-5", "RCP-6", "RCP-7")
@LAW
@given(history=HISTORIES)
def test_messages_that_went_through_json_give_the_same_activation(history: History) -> None:
    messages = [message for each in messages_of(history) for message in each]
    restored = json.loads(json.dumps(messages))
    assert activation(read(restored)) == activation(read(messages)) == activation(history)


@pytest.mark.rule("ACT-6", "REP-4", "SRC-3")
@LAW
@given(history=histories(SURFACE, max_steps=8), pins=PINS, limits=CEILINGS)
def test_no_step_names_a_tool_outside_the_surface_or_exceeds_a_ceiling(
    history: History, pins: list[str], limits: Limits
) -> None:
    try:
        made = activation(history, pins=pins, limits=limits)
    except PinsRefusedError:
        return
    assert set(made.names) <= {SURFACE.search.name, *SURFACE.catalog.tools}
    assert len(made.names) == len(set(made.names)) <= limits.max_active_tools
    assert len(made.selected) == len(set(made.selected)) <= limits.max_selected_tools
    assert made.schema_bytes == sum(map(SURFACE.weight, made.names)) <= limits.max_schema_bytes


@pytest.mark.rule("ACT-8")
@LAW
@given(first=HISTORIES, second=HISTORIES, pins=PINS)
def test_the_base_is_one_prefix_and_an_equal_selection_an_equal_list(
    first: History, second: History, pins: list[str]
) -> None:
    one, two = activation(first, pins=pins), activation(second, pins=pins)
    size = len(SURFACE.base)
    assert one.names[:size] == two.names[:size] == SURFACE.base
    if one.selected == two.selected:
        assert one.names == two.names


@pytest.mark.rule("ACT-2")
@LAW
@given(history=histories(SURFACE, max_steps=3).filter(lambda drawn: bool(drawn.steps)), limits=CEILINGS)
def test_repeating_the_last_step_changes_nothing(history: History, limits: Limits) -> None:
    again = History(steps=(*history.steps, history.steps[-1]))
    once, twice = activation(history, limits=limits), activation(again, limits=limits)
    if any(told.selects for told in history.steps[-1]) or once.source is SelectionSource.NONE:
        assert state_of(once) == state_of(twice)
    else:
        assert set(once.selected) == set(twice.selected) or once.evicted


@pytest.mark.rule("ACT-2", "ACT-3")
@LAW
@given(history=HISTORIES, data=st.data())
def test_repeating_a_receipt_beside_itself_changes_nothing(history: History, data: st.DataObject) -> None:
    places = [(n, at) for n, calls in enumerate(history.steps) for at, told in enumerate(calls) if told.selects]
    if not places:
        return
    number, at = data.draw(st.sampled_from(places))
    calls = history.steps[number]
    answered = calls[at].answered
    twin = replace(calls[at], answered=replace(answered, call=replace(answered.call, id="twin")))
    doubled = (*calls[: at + 1], twin, *calls[at + 1 :])
    repeated = History(steps=(*history.steps[:number], doubled, *history.steps[number + 1 :]))
    assert state_of(activation(history)) == state_of(activation(repeated))


@pytest.mark.rule("ACT-1", "ACT-9")
@LAW
@given(history=HISTORIES, data=st.data())
def test_unrelated_messages_change_nothing(history: History, data: st.DataObject) -> None:
    steps = messages_of(history)
    mixed: list[Any] = []
    for number in range(len(steps) + 1):
        mixed += data.draw(st.lists(st.sampled_from(UNRELATED), max_size=2))
        for message in steps[number] if number < len(steps) else []:
            mixed += data.draw(st.lists(st.sampled_from(UNRELATED), max_size=1)) if message["role"] == "user" else []
            mixed.append(message)
    assert activation(read(mixed)) == activation(history)


@pytest.mark.rule("ACT-4", "RCP-3")
@LAW
@given(history=HISTORIES, foreign=HISTORIES, at=st.integers(0, 5))
def test_the_steps_of_another_run_change_nothing(history: History, foreign: History, at: int) -> None:
    # The same calls and receipts, written by another run: every one that would count no longer does.
    others = tuple(replace_run(each) for each in foreign.transcript.steps)
    steps = history.transcript.steps
    mixed = activation(Transcript(steps=(*steps[:at], *others, *steps[at:])))
    assert state_of(mixed) == state_of(activation(history))
    assert mixed.searches == activation(history).searches


def replace_run(each: Any) -> Any:
    return replace(
        each,
        results={
            call_id: replace(result, text=None if result.text is None else result.text.replace(f'"{RUN}"', '"run-2"'))
            for call_id, result in each.results.items()
        },
    )


@pytest.mark.rule("ACT-4", "REP-4", "ACT-5")
@LAW
@given(history=HISTORIES)
def test_another_surface_and_another_run_get_their_base_sets(history: History) -> None:
    other = make_surface([made.tool for made in SURFACE.catalog.tools.values()], key="writer")
    moved = activation(history, surface=other)
    queued = activation(history, run_id="run-2")
    assert (moved.names, moved.selected, moved.searches) == (other.base, (), 0)
    assert (queued.names, queued.selected, queued.searches) == (SURFACE.base, (), 0)


@pytest.mark.rule("ACT-9")
@LAW
@given(history=HISTORIES, cut=st.integers(0, 5))
def test_a_history_cut_from_its_beginning_is_legal_and_adds_nothing(history: History, cut: int) -> None:
    whole, rest = activation(history), activation(History(steps=history.steps[cut:]))
    if any(told.selects for calls in history.steps[cut:] for told in calls):
        assert rest.selected == whole.selected
    else:
        assert set(rest.selected) <= set(whole.selected)


@pytest.mark.rule("ACT-4", "RCP-2", "RCP-3")
@LAW
@given(
    history=HISTORIES,
    junk=st.lists(st.tuples(st.booleans(), hostile_texts, st.booleans()), max_size=4),
    call_id=any_texts,
)
def test_whatever_stands_in_a_result_breaks_no_step_and_activates_nothing(
    history: History, junk: list[tuple[bool, str, bool]], call_id: str
) -> None:
    answered = [
        (
            searched(text, call_id=f"{call_id}{at}", failed=failed)
            if searches
            else called("a", text, call_id=f"{call_id}{at}", failed=failed)
        )
        for at, (searches, text, failed) in enumerate(junk)
    ]
    hostile = Transcript(steps=(*history.transcript.steps, step(*answered)))
    made = activation(hostile)
    # A bent receipt is of a drawn run, never of this one.
    assert state_of(made) == state_of(activation(history))
    assert made.searches == activation(history).searches
    assert set(made.ignored) <= set(Rejection)
