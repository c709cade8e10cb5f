"""What a dialect must produce, and what its builder passes over."""

from __future__ import annotations

import pytest

from surface.errors import TranscriptError
from surface.transcript import Call, Result, Step, Transcript, TranscriptBuilder


def call(call_id: str, name: str = "one") -> Call:
    return Call(id=call_id, name=name, arguments={})


def test_nothing_read_is_an_empty_transcript() -> None:
    transcript = TranscriptBuilder().build()
    assert transcript == Transcript()
    assert transcript.unanswered == ()
    assert transcript.before_last() == Transcript()


def test_an_assistant_turn_without_calls_is_a_step_too() -> None:
    builder = TranscriptBuilder()
    builder.assistant([])
    builder.other()
    builder.assistant([call("a")])
    assert [len(step.calls) for step in builder.build().steps] == [0, 1]


def test_consecutive_assistant_messages_are_one_step() -> None:
    builder = TranscriptBuilder()
    builder.assistant([call("a")])
    builder.assistant([call("b")])
    builder.result("a", "x")
    builder.assistant([call("c")])
    assert [[each.id for each in step.calls] for step in builder.build().steps] == [["a", "b"], ["c"]]


@pytest.mark.rule("RCP-3")
def test_a_result_belongs_to_a_call_of_the_step_before_it_or_to_none() -> None:
    builder = TranscriptBuilder()
    builder.result("a", "before any call")
    builder.assistant([call("a")])
    builder.result("b", "of no call")
    builder.assistant([call("b")])
    builder.result("a", "of an older step")
    first, second = builder.build().steps
    assert dict(first.results) == {}
    assert dict(second.results) == {}


def test_of_two_results_for_one_call_the_first_counts() -> None:
    builder = TranscriptBuilder()
    builder.assistant([call("a")])
    builder.result("a", "first", failed=True)
    builder.result("a", "second")
    assert builder.build().steps[0].results == {"a": Result(text="first", failed=True)}


def test_a_call_id_may_come_again_in_a_later_step_but_not_in_one() -> None:
    builder = TranscriptBuilder()
    builder.assistant([call("a")])
    builder.result("a", None)
    builder.assistant([call("a")])
    assert len(builder.build().steps) == 2
    builder.assistant([call("a", "two")])
    with pytest.raises(TranscriptError, match="one assistant turn holds two tool calls with the same id"):
        builder.build()


@pytest.mark.rule("ACT-4")
@pytest.mark.parametrize("answers", [0, 1, 2])
def test_calls_of_one_id_count_for_nothing_once_their_turn_is_over(answers: int) -> None:
    builder = TranscriptBuilder()
    builder.assistant([call("a"), call("b"), call("a", "two")], fault="messages.0: a call needs an id")
    for _ in range(answers):
        builder.result("a", "a receipt")
    builder.result("b", "another")
    with pytest.raises(TranscriptError, match="needs an id"):
        builder.build()
    builder.other()
    over = Step(calls=(call("b"),), results={"b": Result(text="another")}, passed_over=True)
    assert builder.build().steps == (over,)
    assert builder.build().unanswered == ()
    builder.assistant([call("a")])
    assert builder.build().steps == (over, Step(calls=(call("a"),)))


def test_calls_of_one_id_that_all_have_results_keep_nobody_from_going_on() -> None:
    builder = TranscriptBuilder()
    builder.assistant([call("a"), call("a")])
    builder.result("a", "one")
    with pytest.raises(TranscriptError, match="the same id"):
        builder.build()
    builder.result("a", "two")
    assert builder.build().steps == (Step(),)


def test_unanswered_calls_are_those_of_the_last_step_in_their_order() -> None:
    builder = TranscriptBuilder()
    builder.assistant([call("forgotten")])
    builder.end_turn()
    builder.assistant([call("c"), call("a"), call("b")])
    builder.result("a", None)
    transcript = builder.build()
    assert [each.id for each in transcript.unanswered] == ["c", "b"]
    assert [each.id for each in transcript.before_last().unanswered] == ["forgotten"]


def test_a_call_that_something_else_follows_can_be_answered_no_more() -> None:
    builder = TranscriptBuilder()
    builder.assistant([call("a"), call("b")])
    builder.result("a", None)
    builder.other()
    with pytest.raises(TranscriptError, match="something follows the last assistant turn"):
        builder.build().unanswered  # noqa: B018 - asking raises
    builder.assistant([])
    assert builder.build().unanswered == ()


def test_what_follows_a_turn_that_is_answered_is_nothing_odd() -> None:
    builder = TranscriptBuilder()
    builder.other()
    builder.assistant([call("a")])
    builder.result("a", None)
    builder.other()
    assert builder.build().unanswered == ()


@pytest.mark.rule("CAT-1", "ACT-1")
def test_a_transcript_that_was_built_does_not_change_with_its_builder() -> None:
    builder = TranscriptBuilder()
    builder.assistant([call("a")])
    transcript = builder.build()
    builder.result("a", "late")
    assert dict(transcript.steps[0].results) == {}
    with pytest.raises(TypeError):
        transcript.steps[0].results["a"] = Result(text=None)  # type: ignore[index]


@pytest.mark.rule("EVD-2")
def test_arguments_and_results_stand_in_no_representation() -> None:
    shown = repr([Call(id="a", name="one", arguments={"q": "the-secret"}), Result(text="the-secret")])
    assert "the-secret" not in shown
