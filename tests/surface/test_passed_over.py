"""Calls that a later message has passed over: no provider takes a result behind it, so nothing is run for them."""

from __future__ import annotations

from typing import Any

import pytest

from surface import Dialect, TranscriptError
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.openai_chat import OPENAI_CHAT
from surface.adapters.openai_responses import OPENAI_RESPONSES
from surface.testing import AnthropicVoice, OpenAIChatVoice, OpenAIResponsesVoice
from surface.testing.voices import Voice
from tests.surface.deferred import Shop
from tests.surface.rankers import proposing

SPOKEN: list[tuple[Dialect, Voice]] = [
    (ANTHROPIC_MESSAGES, AnthropicVoice()),
    (OPENAI_CHAT, OpenAIChatVoice()),
    (OPENAI_RESPONSES, OpenAIResponsesVoice()),
]


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize(("dialect", "voice"), SPOKEN)
async def test_a_prompt_behind_an_open_call_stops_it_and_the_error_says_how_to_go_on(
    dialect: Dialect, voice: Voice
) -> None:
    shop = Shop()
    run = shop.application(dialect=dialect, ranker=proposing("help")).mount(run_id="run-1", surface="reader")
    asked = [*voice.asks("help me"), *voice.calls([("call-1", "help", {})])]
    stopped = [*asked, *voice.asks("stop, never mind")]
    for answer in (run.dispatch, run.resume):
        with pytest.raises(TranscriptError, match="resume on the messages up to that turn"):
            await answer(stopped)
    assert shop.handled == []
    mended: list[Any] = [*asked, *await run.resume(asked), *voice.asks("stop, never mind")]
    assert await run.dispatch(mended) == []
    assert (await run.prepare_step(mended)).names == ("search_tools", "help")


@pytest.mark.rule("ACT-9")
@pytest.mark.parametrize(("dialect", "voice"), SPOKEN)
async def test_an_open_call_of_an_earlier_turn_troubles_nobody(dialect: Dialect, voice: Voice) -> None:
    run = Shop().application(dialect=dialect).mount(run_id="run-1", surface="reader")
    history = [*voice.calls([("call-1", "help", {})]), *voice.asks("go on"), *voice.says("All right.")]
    assert await run.dispatch(history) == []


@pytest.mark.parametrize("dialect", [OPENAI_CHAT, OPENAI_RESPONSES])
def test_anthropics_blocks_are_not_read_as_a_turn_without_calls(dialect: Dialect) -> None:
    with pytest.raises(TranscriptError, match="is this an Anthropic message"):
        dialect.read(AnthropicVoice().calls([("call-1", "help", {})]))
