"""The agent process: a mounted run, a scripted model, a transcript on disk.

    python -m demo.agent audit --transcript FILE --selector URL

Started on a transcript that exists it resumes: whatever was left unanswered is answered first, then the model goes on.
This is the whole loop an application needs; the only thing that is not real is the model.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from demo.application import Desk, controller, pins
from demo.events import Answered, Event, Finished, Handled, Holding, Mounted, Prepared, Searched, WrittenCall, Wrote
from demo.jobs import AUDIT, CLEANUP
from demo.script import Script
from demo.transcript_file import TranscriptFile
from surface import CallContext, MountedRun, PreparedStep, SearchEvidence
from surface.adapters.selector_client import SelectorClient
from surface.canonical import digest
from surface.evidence import Evidence

SCRIPTS = {script.name: script for script in (AUDIT, CLEANUP)}
SELECTOR_TIMEOUT = 2.5
"""Seconds; below the ranker's share of the application's deadline, so that a slow service counts against itself."""

_TELLING = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One run of one script, on one transcript."""

    script: Script
    run: MountedRun
    transcript: TranscriptFile
    messages: list[dict[str, Any]]

    async def resume(self) -> None:
        """Answers what a killed process left unanswered."""
        self._append(await self.run.resume(self.messages))

    async def work(self) -> None:
        """Steps until the model makes no more calls."""
        while True:
            step = await self.run.prepare_step(self.messages)
            number = self.script.step(self.messages)
            tell(prepared(step, run_id=self.script.run_id, number=number))
            turn = self.script.answer(self.messages, step.names)
            self._append([turn])
            calls = tuple(
                WrittenCall(id=block["id"], tool=block["name"], arguments=block["input"])
                for block in turn["content"]
                if block["type"] == "tool_use"
            )
            tell(Wrote(step=number, calls=calls))
            if not calls:
                return
            self._append(await self.run.dispatch(self.messages))

    def _append(self, messages: list[Any]) -> None:
        for message in messages:
            self.messages.append(message)
            self.transcript.write(self.messages)
            for block in message["content"]:
                if block["type"] == "tool_result":
                    text = block["content"][0]["text"]
                    tell(Answered(call_id=block["tool_use_id"], text=text, failed=block["is_error"]))


def prepared(step: PreparedStep, *, run_id: str, number: int) -> Prepared:
    """The event of a prepared step."""
    activation = step.activation
    assert activation is not None  # noqa: S101 - only a mount without deferral has none
    return Prepared(
        run_id=run_id,
        step=number,
        advertised=tuple(tool["name"] for tool in step.tools),
        tools_digest=digest(step.tools),
        base=activation.base,
        selected=activation.selected,
        pins=activation.pins,
        source=activation.source,
        schema_bytes=activation.schema_bytes,
    )


def tell(event: Event) -> None:
    """Tells the demo; handlers tell from threads of their own."""
    with _TELLING:
        sys.stdout.write(event.model_dump_json() + "\n")
        sys.stdout.flush()


def observe(evidence: Evidence) -> None:
    """Passes on how searches were answered."""
    if isinstance(evidence, SearchEvidence):
        tell(
            Searched(
                status=evidence.status,
                ranker=evidence.ranker,
                index_version=evidence.index_version,
                degraded=evidence.degraded,
                seconds=evidence.seconds,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbox:
    """Where requests end up instead of on the wire."""

    hold: str | None
    """The id of a call in whose handler the process stays until it is killed."""

    def __call__(self, call: CallContext, request: Mapping[str, Any]) -> None:
        tell(Handled(call_id=call.call_id, tool=call.tool, request=dict(request)))
        if call.call_id == self.hold:
            tell(Holding(call_id=call.call_id))
            sys.stdin.buffer.read()
            # Standard input ended: whoever should have killed this process is gone.
            os._exit(1)


async def main(arguments: argparse.Namespace, *, started: float) -> None:
    """Runs the script to its end, or until this process is killed."""
    script = SCRIPTS[arguments.script]
    async with SelectorClient(arguments.selector, timeout=SELECTOR_TIMEOUT) as ranker:
        surfaces = controller(ranker=ranker, observer=observe)
        hold = None if arguments.hold_in is None else script.call_id(arguments.hold_in)
        desk = Desk(name=script.desk, outbox=Outbox(hold=hold))
        run = surfaces.mount(run_id=script.run_id, surface=script.surface, context=desk, pins=pins)
        transcript = TranscriptFile(arguments.transcript)
        found = transcript.read()
        if not found:
            transcript.write([script.opening()])
        agent = Agent(script=script, run=run, transcript=transcript, messages=found or [script.opening()])
        tell(
            Mounted(
                run_id=script.run_id,
                surface=script.surface,
                tools=len(run.surface.catalog),
                schema_bytes=run.surface.catalog.manifest.schema_bytes,
                messages=len(found),
                seconds=time.monotonic() - started,
            )
        )
        await agent.resume()
        if arguments.also_run_id is not None:
            other = surfaces.mount(run_id=arguments.also_run_id, surface=script.surface, context=desk, pins=pins)
            step = await other.prepare_step(agent.messages)
            tell(prepared(step, run_id=arguments.also_run_id, number=script.step(agent.messages)))
        await agent.work()
        tell(Finished())


def parser() -> argparse.ArgumentParser:
    """What the process takes."""
    made = argparse.ArgumentParser(prog="python -m demo.agent", description="The demo's agent; the demo starts it.")
    made.add_argument("script", choices=sorted(SCRIPTS))
    made.add_argument("--transcript", type=Path, required=True, metavar="FILE", help="begun where there is none")
    made.add_argument("--selector", required=True, metavar="URL", help="the ranking service")
    made.add_argument("--hold-in", metavar="CALL", help="stay inside the handler of this call until killed")
    made.add_argument("--also-run-id", metavar="ID", help="prepare a step for another run on the same transcript too")
    return made


if __name__ == "__main__":
    asyncio.run(main(parser().parse_args(), started=time.monotonic()))
