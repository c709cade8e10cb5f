"""The harness of a raw provider dialect: our own loop around prepare_step, dispatch and resume."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from surface.content import PartKind
from surface.dialect import Dialect
from surface.mounted_run import MountedRun, Pins
from surface.testing.harness import Answer, Scenario, StepRecord
from surface.testing.scripted_model import ScriptedCall, ScriptedModel
from surface.testing.voices import Voice


class DialectHarness:
    """Drives a dialect with the voice of its provider."""

    def __init__(self, dialect: Dialect, voice: Voice) -> None:
        self._dialect = dialect
        self._voice = voice

    @property
    def carries(self) -> frozenset[PartKind]:
        return self._dialect.carries & {PartKind.TEXT, PartKind.IMAGE, PartKind.FILE}

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
        messages = self._voice.asks("Do something useful.") if history is None else json.loads(history)
        run = scenario.controller(self._dialect).mount(run_id=run_id, surface=surface, pins=pins, context=context)
        return DialectSession(run, self._dialect, self._voice, messages)


class DialectSession:
    """One run whose messages are plain JSON."""

    def __init__(self, run: MountedRun, dialect: Dialect, voice: Voice, messages: list[Any]) -> None:
        self._run = run
        self._dialect = dialect
        self._voice = voice
        self._messages = messages

    async def step(self, calls: Sequence[ScriptedCall]) -> StepRecord:
        advertised = await self._take_turn(calls)
        return StepRecord(advertised=advertised, answers=await self._answered(await self._run.dispatch(self._messages)))

    async def interrupted_step(self, calls: Sequence[ScriptedCall]) -> None:
        await self._take_turn(calls)

    async def resume(self) -> tuple[Answer, ...]:
        return await self._answered(await self._run.resume(self._messages))

    def history(self) -> str:
        return json.dumps(self._messages)

    async def _take_turn(self, calls: Sequence[ScriptedCall]) -> tuple[str, ...]:
        step = await self._run.prepare_step(self._messages)
        written = sum(len(turn.calls) for turn in self._dialect.read(self._messages).steps)
        model = ScriptedModel(self._voice, [calls or "I am only looking."], first_call=written + 1)
        self._messages += model.reply(step.names)
        return step.names

    async def _answered(self, results: list[Any]) -> tuple[Answer, ...]:
        calls = {call.id: call for step in self._dialect.read(self._messages).steps[-1:] for call in step.calls}
        self._messages += results
        return tuple(
            Answer(
                call=ScriptedCall(calls[heard.call_id].name, calls[heard.call_id].arguments),
                text=heard.text,
                kinds=heard.kinds,
            )
            for heard in self._voice.heard(results)
        )
