"""For tests, ours and yours: a scripted model, a scripted ranker, and the suite every adapter must pass.

    class TestMyAdapter(AdapterConformance):
        def harness(self) -> Harness:
            return DialectHarness(ANTHROPIC_MESSAGES, AnthropicVoice())

Everything here is deterministic and needs no network. The suite needs no test framework either: its methods are named
``test_…``, take nothing, and raise AssertionError.
"""

from surface.testing.builders import checked_surface, counting_tool, selecting_receipt
from surface.testing.conformance import AdapterConformance
from surface.testing.dialect_harness import DialectHarness
from surface.testing.harness import Answer, Harness, Scenario, Session, StepRecord
from surface.testing.scripted_model import ScriptedCall, ScriptedModel
from surface.testing.scripted_ranker import ScriptedRanker
from surface.testing.voices import AnthropicVoice, OpenAIChatVoice, OpenAIResponsesVoice, Voice

__all__ = [
    "AdapterConformance",
    "Answer",
    "AnthropicVoice",
    "DialectHarness",
    "Harness",
    "OpenAIChatVoice",
    "OpenAIResponsesVoice",
    "Scenario",
    "ScriptedCall",
    "ScriptedModel",
    "ScriptedRanker",
    "Session",
    "StepRecord",
    "Voice",
    "checked_surface",
    "counting_tool",
    "selecting_receipt",
]
