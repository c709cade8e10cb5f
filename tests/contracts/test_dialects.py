"""Every dialect of a raw provider API passes the adapter conformance suite that users get."""

from __future__ import annotations

from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.openai_chat import OPENAI_CHAT
from surface.adapters.openai_responses import OPENAI_RESPONSES
from surface.testing import (
    AdapterConformance,
    AnthropicVoice,
    DialectHarness,
    Harness,
    OpenAIChatVoice,
    OpenAIResponsesVoice,
)


class TestAnthropicMessages(AdapterConformance):
    def harness(self) -> Harness:
        return DialectHarness(ANTHROPIC_MESSAGES, AnthropicVoice())


class TestOpenAIChat(AdapterConformance):
    def harness(self) -> Harness:
        return DialectHarness(OPENAI_CHAT, OpenAIChatVoice())


class TestOpenAIResponses(AdapterConformance):
    def harness(self) -> Harness:
        return DialectHarness(OPENAI_RESPONSES, OpenAIResponsesVoice())
