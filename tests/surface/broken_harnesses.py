"""Adapters that each break one law, to see that the conformance suite notices.

All of them drive a real dialect; each differs from it in the one way that its name says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from surface import AgentMount, MountedRun, PreparedStep, Text, mount_agent
from surface.adapters.openai_chat import OPENAI_CHAT
from surface.adapters.openai_responses import OPENAI_RESPONSES, OpenAIResponses
from surface.call import CallAnswer
from surface.catalog import ManifestEntry
from surface.mounted_run import Pins
from surface.testing import AdapterConformance, DialectHarness, Harness, OpenAIChatVoice, OpenAIResponsesVoice, Scenario
from surface.testing.dialect_harness import DialectSession
from surface.transcript import Transcript

HIDDEN = "test_a_hidden_call_never_executes_through_any_path"
INHERITS = "test_another_run_and_another_surface_inherit_nothing"
FIRST = "test_the_first_step_advertises_the_search_tool_the_always_on_tools_and_the_pins"
RESTORES = "test_a_restart_restores_the_activation_without_a_new_search"
PARALLEL = "test_parallel_calls_of_one_step_each_run_once_with_their_own_arguments"
EVIDENCE = "test_the_evidence_is_complete_and_holds_no_content"


def failing(harness: Callable[[], Harness]) -> set[str]:
    """The methods of the suite that an adapter fails."""

    class Suite(AdapterConformance):
        def harness(self) -> Harness:
            return harness()

    failed = set()
    for method in dir(Suite):
        if method.startswith("test_"):
            try:
                getattr(Suite(), method)()
            except AssertionError:
                failed.add(method)
    return failed


class Whole(DialectHarness):
    """Nothing is broken here."""

    def __init__(self) -> None:
        super().__init__(OPENAI_CHAT, OpenAIChatVoice())


class RestartForgets(Whole):
    """Starts with an empty history, whatever was stored."""

    def open(self, scenario: Scenario, *, history: str | None = None, **other: Any) -> DialectSession:
        return super().open(scenario, history=None, **other)


class EveryRunIsOne(Whole):
    """Takes the conversation for the run, so a successor has the run id of its predecessor."""

    def open(self, scenario: Scenario, *, run_id: str, **other: Any) -> DialectSession:
        return super().open(scenario, run_id="conversation", **other)


class NobodyWatches(Whole):
    """Loses the observer."""

    def open(self, scenario: Scenario, **other: Any) -> DialectSession:
        return super().open(replace(scenario, observer=None), **other)


class AnybodySigns(Whole):
    """Loses the signer."""

    def open(self, scenario: Scenario, **other: Any) -> DialectSession:
        return super().open(replace(scenario, signer=None), **other)


class TextAlone(OpenAIResponses):
    """Says that it carries images and files, and writes the texts."""

    def answer(self, answers: Sequence[CallAnswer]) -> list[dict[str, Any]]:
        return super().answer(
            [
                replace(answer, parts=tuple(part for part in answer.parts if isinstance(part, Text)))
                for answer in answers
            ]
        )


class PartsAreDropped(DialectHarness):
    """Loses every part that is no text."""

    def __init__(self) -> None:
        super().__init__(TextAlone(), OpenAIResponsesVoice())


class WholeParts(DialectHarness):
    """The same dialect with all of its parts."""

    def __init__(self) -> None:
        super().__init__(OPENAI_RESPONSES, OpenAIResponsesVoice())


class _Ungated:
    """A run that executes whatever is called, as a framework does that only hides tools."""

    def __init__(self, run: MountedRun, mount: AgentMount, *, advertises_all: bool) -> None:
        self._run = run
        self._everything = mount.mount(run_id=run.calls.run_id)
        self._advertises_all = advertises_all

    async def prepare_step(self, messages: Sequence[Any]) -> PreparedStep:
        step = await self._run.prepare_step(messages)
        if not self._advertises_all:
            return step
        catalog = self._everything.calls.catalog
        names = (*step.names, *(name for name in catalog.tools if name not in step.names))
        return replace(step, names=names, tools=OPENAI_CHAT.advertise(self._entries(names)))

    async def dispatch(self, messages: Sequence[Any]) -> list[Any]:
        calls = OPENAI_CHAT.read(messages).unanswered
        answers = await self._run.dispatch(messages)
        return [
            OPENAI_CHAT.answer([await self._everything.calls.run(call, restarted=False)])[0]
            if "SEARCH_REQUIRED" in answer["content"]
            else answer
            for call, answer in zip(calls, answers, strict=True)
        ]

    async def resume(self, messages: Sequence[Any]) -> list[Any]:
        return await self._run.resume(messages)

    def _entries(self, names: Iterable[str]) -> Iterable[ManifestEntry]:
        return (self._run.surface.entry(name) for name in names)


class NoGate(Whole):
    """Advertises what it should and runs whatever is called."""

    advertises_all = False

    def open(
        self,
        scenario: Scenario,
        *,
        run_id: str,
        surface: str,
        history: str | None = None,
        pins: Pins = (),
        context: Any = None,
    ) -> DialectSession:
        session = super().open(scenario, run_id=run_id, surface=surface, history=history, pins=pins, context=context)
        (declared,) = [each for each in scenario.surfaces if each.key == surface]
        mount = mount_agent(declared.tools, dialect=OPENAI_CHAT, observer=scenario.observer)
        session._run = cast("MountedRun", _Ungated(session._run, mount, advertises_all=self.advertises_all))
        return session


class EverythingShows(NoGate):
    """Advertises every tool and runs whatever is called."""

    advertises_all = True


class FirstCallOnly(OpenAIResponses):
    """Reads the first of a turn's parallel calls."""

    def read(self, messages: Sequence[Any]) -> Transcript:
        transcript = super().read(messages)
        return replace(transcript, steps=tuple(replace(step, calls=step.calls[:1]) for step in transcript.steps))


class ParallelCallsAreLost(DialectHarness):
    """Answers one call of a turn."""

    def __init__(self) -> None:
        super().__init__(FirstCallOnly(), OpenAIResponsesVoice())


class FirstArguments(OpenAIResponses):
    """Reads every call of a turn with the arguments of its first."""

    def read(self, messages: Sequence[Any]) -> Transcript:
        transcript = super().read(messages)
        return replace(
            transcript,
            steps=tuple(
                replace(step, calls=tuple(replace(call, arguments=step.calls[0].arguments) for call in step.calls))
                for step in transcript.steps
            ),
        )


class ParallelCallsShareArguments(DialectHarness):
    """Mixes the calls of a turn up."""

    def __init__(self) -> None:
        super().__init__(FirstArguments(), OpenAIResponsesVoice())
