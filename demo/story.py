"""The story of the demo: the whole path in real processes on loopback, each step told as it happens.

    export → deploy → serve → an agent that is killed and started again → an agent whose selector is stopped

Not done here: judging what came of it (`demo.points`), showing it (`demo.screen`).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from urllib.parse import urlsplit

import httpx2

from demo.application import APPLICATION, SERVICES_VARIABLE, named
from demo.aws_operations import AwsService
from demo.child import Child, Children
from demo.events import Event, Finished, Holding, Mounted, Searched, read_event
from demo.facts import Deployed, Exported, Facts, Process, Run
from demo.folder import Folder
from demo.jobs import AUDIT, CLEANUP
from demo.script import Script
from demo.transcript_file import TranscriptFile

SILENCE = 120.0
"""Seconds without a word after which a process is given up."""
LOOK = 0.02
"""Seconds between two looks at whether the selector is ready."""
OTHER_RUN = f"{AUDIT.run_id}-again"
"""A run id that the transcript of the audit was not made for."""

Tell = Callable[[str, str], None]
"""Takes who and what, for the person who watches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One telling, in one folder."""

    folder: Folder
    services: tuple[AwsService, ...]
    tell: Tell
    clock: Callable[[], float] = time.monotonic
    _seconds: dict[str, float] = field(default_factory=dict)

    async def facts(self) -> Facts:
        """Runs everything; raises ChildFailedError where a process does not do its work."""
        began = self.clock()
        environment = {SERVICES_VARIABLE: named(self.services)}
        async with Children(logs=self.folder.logs, environment=environment) as children:
            exported = await self._export(children)
            deployed = await self._deploy(children)
            selector, address = await self._serve(children)
            served = await selector.alive_during(_served(selector, address))
            audit = await selector.alive_during(self._audit(children, address))
            interrupted = await selector.alive_during(self._cleanup(children, address))
            await selector.stop()
            closed = not await _takes_connections(address)
            self.tell("selector", "stopped; from here on there is no ranking service")
            finished = await self._agent(children, CLEANUP, address)
        self._seconds["total"] = self.clock() - began
        return Facts(
            exported=exported,
            deployed=deployed,
            served=served,
            audit=audit,
            cleanup=Run(script=CLEANUP, killed=interrupted, restarted=finished),
            address_closed=closed,
            seconds=self._seconds,
        )

    async def _export(self, children: Children) -> Exported:
        arguments = [
            *("surface", "export", "demo.application:controller", "-o", str(self.folder.catalog)),
            *("--deploy", f"botocore-{version('botocore')}"),
        ]
        with self._timed("export") as spent:
            child = await children.start("export", arguments, advice="Is this the root of the checkout?")
            await child.succeed()
            catalog = await asyncio.to_thread(self.folder.catalog.read_bytes)
            exported = Exported.of(json.loads(catalog))
        counts = ", ".join(f"{key} {len(tools):,}" for key, tools in exported.tools.items())
        self.tell("export", f"{counts} operations of {exported.services} AWS services ({spent():.1f} s)")
        return exported

    async def _deploy(self, children: Children) -> Deployed:
        arguments = ["indexer", "deploy", str(self.folder.catalog), "--store", str(self.folder.store), "--json"]
        advice = f"Its own words stand above. If the store is at fault, remove {self.folder.store} and run again."
        self.tell("index", "indexing both surfaces; the first time takes about half a minute")
        with self._timed("deploy") as spent:
            child = await children.start("indexer", arguments, advice=advice, on_screen=True)
            said = json.loads(await child.succeed())
        deployed = Deployed(
            release=said["release"],
            unchanged=said["unchanged"],
            embedded=said["embedded"],
            versions={surface["surface"]: surface["version"] for surface in said["surfaces"]},
        )
        told = (
            f"the very same index is in {self.folder.store} already; nothing was embedded"
            if deployed.unchanged
            else f"a fresh index is active in {self.folder.store}; {deployed.embedded:,} texts embedded"
        )
        self.tell("index", f"{told} ({spent():.1f} s)")
        return deployed

    async def _serve(self, children: Children) -> tuple[Child, str]:
        arguments = ["selector", "serve", "--store", str(self.folder.store), "--port", "0"]
        advice = "Run again; if it happens again, `make serve` shows why the service does not stay up."
        with self._timed("serve") as spent:
            child = await children.start("selector", arguments, advice=advice)
            _, _, address = (await _next_line(child)).decode().strip().partition("serving ")
            if not address:
                await _ended(child)
                raise child.failure(f"did not start ({child.ending})")
            await child.alive_during(_ready(child, address))
        self.tell("selector", f"serving {address}, process {child.pid} ({spent():.1f} s)")
        return child, address

    async def _audit(self, children: Children, address: str) -> Run:
        killed = await self._agent(children, AUDIT, address, "--hold-in", "killed")
        restarted = await self._agent(children, AUDIT, address, "--also-run-id", OTHER_RUN)
        return Run(script=AUDIT, killed=killed, restarted=restarted)

    async def _cleanup(self, children: Children, address: str) -> Process:
        return await self._agent(children, CLEANUP, address, "--hold-in", "killed")

    async def _agent(self, children: Children, script: Script, address: str, *more: str) -> Process:
        """One agent process: to its end, or to where it is to be killed."""
        transcript = self.folder.transcript(script.name)
        name = f"agent-{script.name}" + ("-restarted" if transcript.exists() else "")
        arguments = ["demo.agent", script.name, "--transcript", str(transcript), "--selector", address, *more]
        advice = f"The transcript so far is {transcript}."
        events: list[Event] = []
        with self._timed(name):
            child = await children.start(name, arguments, advice=advice)
            async for event in _events(child):
                events.append(event)
                self._tell_event(event, script)
                if isinstance(event, Holding):
                    await child.kill()
            status = await _ended(child)
        if not isinstance(events[-1] if events else None, Holding | Finished) or status > 0:
            raise child.failure(f"did not finish ({child.ending})")
        messages = await asyncio.to_thread(TranscriptFile(transcript).read)
        return Process(events=tuple(events), exit_status=status, messages=messages)

    def _tell_event(self, event: Event, script: Script) -> None:
        match event:
            case Mounted(messages=0):
                self.tell("agent", f"{script.run_id} starts on the {script.surface} surface")
            case Mounted():
                self.tell("agent", f"{script.run_id} starts again on {event.messages} saved messages")
            case Searched():
                where = f"here, by words alone ({event.degraded})" if event.degraded else "over HTTP"
                self.tell("agent", f"{script.run_id} searched: {event.status}, {event.seconds * 1000:.0f} ms {where}")
            case Holding():
                self.tell("agent", f"{script.run_id} is inside a handler: killed")
            case Finished():
                self.tell("agent", f"{script.run_id} finished")
            case _:
                pass

    @contextmanager
    def _timed(self, stage: str) -> Iterator[Callable[[], float]]:
        began = self.clock()
        yield lambda: self.clock() - began
        self._seconds[stage] = self.clock() - began


async def _events(child: Child) -> AsyncIterator[Event]:
    while line := await _next_line(child):
        try:
            yield read_event(line)
        except ValueError as error:
            raise child.failure("said something that is no event") from error


async def _next_line(child: Child) -> bytes:
    try:
        async with asyncio.timeout(SILENCE):
            return await child.line()
    except TimeoutError:
        raise child.failure(f"has said nothing for {SILENCE:.0f} s") from None


async def _ended(child: Child) -> int:
    """The exit status of a process that has closed its output."""
    try:
        async with asyncio.timeout(SILENCE):
            return await child.process.wait()
    except TimeoutError:
        raise child.failure(f"has not ended for {SILENCE:.0f} s") from None


async def _ready(selector: Child, address: str) -> None:
    """Returns once the selector has loaded what it serves; it takes connections before."""
    try:
        async with asyncio.timeout(SILENCE), httpx2.AsyncClient(trust_env=False) as client:
            while (await client.get(f"{address}/health/ready")).status_code != 200:  # noqa: ASYNC110 - of a process
                await asyncio.sleep(LOOK)
    except (httpx2.HTTPError, TimeoutError) as error:
        raise selector.failure(f"is not ready at {address}") from error


async def _served(selector: Child, address: str) -> dict[str, str]:
    """What the selector says it serves of the application: the index version of each surface."""
    try:
        async with httpx2.AsyncClient(timeout=SILENCE, trust_env=False) as client:
            ready = (await client.get(f"{address}/health/ready")).json()
        surfaces = ready["applications"][APPLICATION]["surfaces"]
        return {key: surface["version"] for key, surface in surfaces.items()}
    except (httpx2.HTTPError, ValueError, KeyError) as error:
        raise selector.failure(f"does not say what it serves at {address}") from error


async def _takes_connections(address: str) -> bool:
    parts = urlsplit(address)
    try:
        _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    except OSError:
        return False
    writer.close()
    return True


def services_without(services: Iterable[AwsService], required: Iterable[str]) -> list[str]:
    """The keys that are required and not among the services."""
    present = {service.key for service in services}
    return [key for key in required if key not in present]
