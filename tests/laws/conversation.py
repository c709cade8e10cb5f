"""One conversation driven by random rules, and held against the model of the specification after each turn.

It goes through many runs, surfaces, deploys and processes. Nothing of it is remembered between two processes but the
messages, as JSON.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from surface.call import CallAnswer, Outcome
from surface.content import Text
from surface.controller import create_deferred_agent_tool_surface
from surface.dialect import Dialect
from surface.errors import PinsRefusedError
from surface.limits import Limits
from surface.mounted_run import MountedRun
from surface.receipt import Receipt, parse_receipt
from surface.registry import CheckedSurface
from surface.testing import Voice
from tests.laws import model
from tests.laws.deploys import ALWAYS, SURFACES, Deploy, Ledger, ObedientRanker, model_tools, query_for
from tests.laws.model import SEARCH, Entry, Fate, Paper, World
from tests.surface.shop import SIGNER

FAILURES = {
    "VALIDATION_ERROR": Fate.INVALID,
    "UNKNOWN_TOOL": Fate.UNKNOWN,
    "INTERRUPTED": Fate.INTERRUPTED,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of a turn: of the search tool, proposing names (None: a blank query), or of a tool with a note."""

    name: str
    proposed: tuple[str, ...] | None = ()
    note: str = "done"

    @property
    def arguments(self) -> dict[str, str]:
        if self.name != SEARCH:
            return {"note": self.note}
        return {"query": " " if self.proposed is None else query_for(self.proposed)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of the history that compaction drops as a whole: a step with its results, or a prompt."""

    messages: list[Any]
    step: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What stays the same for a whole conversation."""

    dialect: Dialect
    voice: Voice
    signed: bool
    limits: Limits
    budget: int | None
    own_ids: bool
    """Call ids are unique in the conversation; if not, only in their turn, as some providers write them."""


class Conversation:
    """The conversation as it is now."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.deploy: Deploy = dict.fromkeys(SURFACES["desk"], 0)
        self.pins: tuple[str, ...] = ()
        self.run_id = "run-1"
        self.key = "desk"
        self.papers: list[tuple[str, Paper]] = []
        """Every receipt that was really answered, and what it is."""
        self._runner = asyncio.Runner()
        self._ledger = Ledger()
        self._calls = 0
        self._shown: dict[tuple[str, ...], str] = {}
        self._chunks = [Chunk(messages=terms.voice.asks("Do something useful."))]
        self.start()

    def close(self) -> None:
        """Ends the event loop."""
        self._runner.close()

    def start(self) -> None:
        """A new process: a fresh controller, and the messages as they come back from a store."""
        self._controller = create_deferred_agent_tool_surface(
            application="laws",
            surfaces=self._ledger.surfaces(self.deploy),
            dialect=self.terms.dialect,
            limits=self.terms.limits,
            ranker=ObedientRanker(),
            max_searches_per_run=self.terms.budget,
            signer=SIGNER if self.terms.signed else None,
        )
        self._chunks = [replace(chunk, messages=json.loads(json.dumps(chunk.messages))) for chunk in self._chunks]

    def redeploy(self, deploy: Deploy) -> None:
        """Another catalog, in a new process."""
        self.deploy = deploy
        self._shown.clear()
        self.start()

    def change_surface(self, key: str) -> None:
        """The same run goes on elsewhere."""
        self.key = key
        self._shown.clear()

    def compact(self, drops: int) -> None:
        """The oldest steps and prompts make way for a summary."""
        self._chunks = [Chunk(messages=self.terms.voice.asks("(A summary.)")), *self._chunks[drops:]]

    def talk(self, *, again: bool) -> None:
        """A turn without calls, and perhaps another prompt."""
        voice = self.terms.voice
        self._chunks.append(Chunk(messages=voice.says("Let me think.") + (voice.asks("Well?") if again else [])))

    def record_a_result(self, call_id: str, carrier: str, text: str, paper: Paper) -> None:
        """A call and its result, written into the history by somebody else."""
        answer = CallAnswer(call_id=call_id, tool=carrier, parts=(Text(text=text),), outcome=Outcome.OK)
        self._chunks.append(
            Chunk(
                messages=self.terms.voice.calls([(call_id, carrier, {})]) + self.terms.dialect.answer([answer]),
                step=(Entry(id=call_id, name=carrier, paper=paper),),
            )
        )

    # What is looked at

    @property
    def run(self) -> MountedRun:
        return self._controller.mount(
            run_id=self.run_id, surface=self.key, pins=lambda _context, _transcript: self.pins
        )

    @property
    def surface(self) -> CheckedSurface:
        return self._controller.registry.surface(self.key)

    @property
    def messages(self) -> list[Any]:
        return [message for chunk in self._chunks for message in chunk.messages]

    @property
    def steps(self) -> list[tuple[Entry, ...]]:
        return [chunk.step for chunk in self._chunks]

    @property
    def world(self) -> World:
        return World(
            run=self.run_id,
            surface=self.key,
            tools=model_tools(self.deploy, self.key),
            always_on=(ALWAYS,),
            pins=self.pins,
            limits=self.terms.limits,
            search_weight=self.surface.search.schema_bytes,
            signed=self.terms.signed,
            budget=self.terms.budget,
        )

    # How a turn is taken and compared

    def ids(self, count: int) -> list[str]:
        """The ids of the next calls."""
        first = self._calls if self.terms.own_ids else 0
        self._calls += count
        return [f"call-{first + at}" for at in range(count)]

    def take_turn(self, asked: Sequence[Asked], *, dies: bool = False, began: bool = True, recorded: int = 0) -> None:
        world, before = self.world, self.steps
        ids = self.ids(len(asked))
        by_id = dict(zip(ids, asked, strict=True))
        self._ledger.ran.clear()
        turn = self.terms.voice.calls([(id_, each.name, each.arguments) for id_, each in zip(ids, asked, strict=True)])
        history = self.messages
        results: list[Any] = []
        expected = self._expected(asked, ids, before, world, restarted=set())
        if began:
            results = self._runner.run(self.run.dispatch(history + turn))
            heard = self._heard(results, by_id)
            assert heard == expected, (heard, expected)
        ran = Counter(self._runs(asked, ids, expected) if began else ())
        if dies:
            # Dialects with one message for all results record all or nothing.
            results = results[:recorded] if len(results) > 1 else []
            kept = {answer.call_id for answer in self.terms.voice.heard(results)}
            self.start()
            history = self.messages
            resumed = self._runner.run(self.run.resume(history + turn + results))
            again = self._expected(asked, ids, before, world, restarted=set(ids) - kept)
            heard = self._heard(resumed, by_id)
            assert heard == {id_: again[id_] for id_ in ids if id_ not in kept}, (heard, again)
            ran += Counter(call for call in self._runs(asked, ids, again) if call[1] not in kept)
            expected, results = again, results + resumed
        assert Counter((name, id_) for name, id_, _ in self._ledger.ran) == ran
        assert len({key for *_, key in self._ledger.ran}) == len(ran)
        entries = [self._entry(each, id_, expected[id_]) for each, id_ in zip(asked, ids, strict=True)]
        self._chunks.append(Chunk(messages=turn + results, step=tuple(entries)))
        for answer in self.terms.voice.heard(results):
            if isinstance(paper := expected[answer.call_id], Paper):
                self.papers.append((answer.text, paper))

    def _expected(
        self,
        asked: Sequence[Asked],
        ids: Sequence[str],
        before: Sequence[Sequence[Entry]],
        world: World,
        *,
        restarted: set[str],
    ) -> dict[str, Paper | Fate]:
        """What the model answers, by call id."""
        active = model.active(before, world)
        number = model.searches(before, world)
        answers: dict[str, Paper | Fate] = {}
        for each, id_ in zip(asked, ids, strict=True):
            if each.name == SEARCH and each.proposed is None:
                answers[id_] = Fate.INVALID
            elif each.name == SEARCH:
                number += 1
                answers[id_] = model.searched(each.proposed or (), number, id_, world)
            elif each.name not in world.tools:
                answers[id_] = Fate.UNKNOWN
            elif id_ in restarted and not world.tools[each.name].repeatable:
                answers[id_] = Fate.INTERRUPTED
            elif each.name not in active:
                answers[id_] = model.repaired(each.name, id_, world)
            else:
                answers[id_] = Fate.RAN
        return answers

    @staticmethod
    def _runs(asked: Sequence[Asked], ids: Sequence[str], answers: dict[str, Paper | Fate]) -> list[tuple[str, str]]:
        return [(each.name, id_) for each, id_ in zip(asked, ids, strict=True) if answers[id_] is Fate.RAN]

    def _entry(self, asked: Asked, call_id: str, answer: Paper | Fate) -> Entry:
        """What the history then holds for a call: its receipt, or the one it was told to say."""
        paper = answer if isinstance(answer, Paper) else None
        if answer is Fate.RAN:
            paper = dict(self.papers).get(asked.note)
        return Entry(id=call_id, name=asked.name, paper=paper)

    def _heard(self, results: Sequence[Any], asked: Mapping[str, Asked]) -> dict[str, Paper | Fate]:
        """What was really answered, in the words of the model."""
        return {
            answer.call_id: self._read(answer.text, answer.call_id, asked[answer.call_id])
            for answer in self.terms.voice.heard(results)
        }

    def _read(self, text: str, call_id: str, asked: Asked) -> Paper | Fate:
        if asked.name != SEARCH and text == asked.note:
            return Fate.RAN
        receipt = parse_receipt(text)
        if not isinstance(receipt, Receipt):
            return FAILURES[json.loads(text)["error"]["code"]]
        versions = {made.digest: self.deploy[name] for name, made in self.surface.catalog.tools.items()}
        return Paper(
            status=receipt.status,
            run=receipt.run_id,
            surface=receipt.surface,
            names=receipt.selected,
            versions=tuple(versions[digest] for digest in receipt.digests),
            signed_for=call_id if SIGNER.verify(receipt, call_id) else None,
        )

    # What always holds

    def check_step(self) -> None:
        """The next step is what the model says, and keeps what always holds."""
        world, messages = self.world, self.messages
        written = json.dumps(messages)
        if not world.pins_hold:
            with pytest.raises(PinsRefusedError):
                self._runner.run(self.run.prepare_step(messages))
            return
        step = self._runner.run(self.run.prepare_step(messages))
        assert step.activation is not None
        assert step.names == model.active(self.steps, world), (step.names, self.steps, world)
        assert step.activation.selected == model.selection(self.steps, world)
        assert sum(step.activation.ignored.values()) == model.ignored(self.steps, world)
        assert step.activation.searches == model.searches(self.steps, world)
        assert json.dumps(messages) == written

        assert set(step.names) <= {SEARCH, *world.tools}
        assert step.names[: len(world.base)] == world.base
        assert len(step.names) <= self.terms.limits.max_active_tools
        assert len(step.activation.selected) <= self.terms.limits.max_selected_tools
        assert step.activation.schema_bytes == world.weight(step.names) <= self.terms.limits.max_schema_bytes
        self._check_bytes(world.base, step.tools[: len(world.base)])
        self._check_bytes(step.names, step.tools)

    def _check_bytes(self, names: tuple[str, ...], tools: list[Any]) -> None:
        """ACT-8, as long as neither the deploy nor the surface changes."""
        assert self._shown.setdefault(names, json.dumps(tools)) == json.dumps(tools)
