"""The conformance suite: what every adapter must keep, whatever framework runs the loop.

Subclass it, return a harness, and let your test runner find the methods. Each one opens real runs on a small
application whose handlers count what they run.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from surface.content import File, Image, Part, PartKind, Presenter, Text
from surface.decorator import tool
from surface.evidence import CallEvidence, Evidence, SearchEvidence, StepEvidence
from surface.limits import Limits
from surface.receipt import ReceiptSigner, SigningKey
from surface.registry import Surface
from surface.search_tool import DEFAULT_NAME as SEARCH
from surface.testing.builders import counting_tool
from surface.testing.harness import Answer, Harness, Scenario
from surface.testing.scripted_model import ScriptedCall
from surface.testing.scripted_ranker import ScriptedRanker
from surface.tool import Tool

T = TypeVar("T")
RUN = "run-1"
MARKER = "zyzzyva-marker"
"""A word that only content holds; no evidence may."""

_MADE: Mapping[PartKind, Part] = {
    PartKind.TEXT: Text(text="seen"),
    PartKind.IMAGE: Image(data=b"\x89PNG", media_type="image/png"),
    PartKind.FILE: File(data=b"%PDF-1.4", media_type="application/pdf", name="page.pdf"),
}


def search(query: str) -> ScriptedCall:
    """A call of the search tool."""
    return ScriptedCall(SEARCH, {"query": query})


class Application:
    """Two surfaces of counting tools: ``clerk`` holds alpha, bravo, carol and always, ``guest`` only alpha."""

    def __init__(self, carries: frozenset[PartKind]) -> None:
        self.ran: Counter[str] = Counter()
        self.evidence: list[Evidence] = []
        kinds = sorted(carries & _MADE.keys())

        def counting(name: str) -> Tool:
            return counting_tool(name, self.ran, description=f"Does {name}. {MARKER}", read_only=name == "bravo")

        def show() -> str:
            """Shows something."""
            return "shown"

        presenter = Presenter(kinds=frozenset(kinds), present=lambda _: [_MADE[kind] for kind in kinds])
        self.made = kinds
        alpha, bravo, carol, always = (counting(name) for name in ("alpha", "bravo", "carol", "always"))
        self.ranker = ScriptedRanker(
            answers={
                "a": ["alpha"],
                "b": ["bravo"],
                "ab": ["alpha", "bravo"],
                "show": ["show"],
                MARKER: ["alpha"],
                "all": ["alpha", "bravo", "carol"],
            }
        )
        self.scenario = Scenario(
            surfaces=[
                Surface(
                    key="clerk",
                    tools=[alpha, bravo, carol, always, tool(presenter=presenter, output=str)(show)],
                    always_on=["always"],
                ),
                Surface(key="guest", tools=[alpha, always], always_on=["always"]),
            ],
            ranker=self.ranker,
            observer=self.evidence.append,
        )


class AdapterConformance:
    """Every adapter's law. `harness` is the one thing to write."""

    def harness(self) -> Harness:
        """The adapter under test."""
        raise NotImplementedError

    def test_the_first_step_advertises_the_search_tool_the_always_on_tools_and_the_pins(self) -> None:
        app = self._application()
        session = self.harness().open(app.scenario, run_id=RUN, surface="clerk", pins=["carol"])
        assert _run(session.step([])).advertised == (SEARCH, "always", "carol")

    def test_a_selected_tool_is_advertised_and_runs_under_its_own_name(self) -> None:
        app = self._application()

        async def scenario() -> None:
            session = self.harness().open(app.scenario, run_id=RUN, surface="clerk")
            await session.step([search("a")])
            record = await session.step([ScriptedCall("alpha", {"note": "now"})])
            assert record.advertised == (SEARCH, "always", "alpha")
            assert "alpha ran now" in _texts(record.answers, of=1)[0]

        _run(scenario())
        assert app.ran == {"alpha": 1}

    def test_a_hidden_call_never_executes_through_any_path(self) -> None:
        app = self._application()

        async def scenario() -> None:
            session = self.harness().open(app.scenario, run_id=RUN, surface="clerk")
            beside_its_search = await session.step([search("a"), ScriptedCall("alpha")])
            assert "SEARCH_REQUIRED" in _texts(beside_its_search.answers, of=2)[1]
            hidden = await session.step([ScriptedCall("carol")])
            assert "SEARCH_REQUIRED" in _texts(hidden.answers, of=1)[0]
            await session.step([search("show")])
            replaced = await session.step([ScriptedCall("carol")])
            assert "SEARCH_REQUIRED" in _texts(replaced.answers, of=1)[0]
            await session.interrupted_step([ScriptedCall("alpha"), ScriptedCall("bravo")])
            resumed = self.harness().open(app.scenario, run_id=RUN, surface="clerk", history=session.history())
            unsafe, safe = _texts(await resumed.resume(), of=2)
            # What was active before a restart is not known: other pins, or another deploy, may have come between.
            assert "INTERRUPTED" in unsafe
            assert "SEARCH_REQUIRED" in safe

        _run(scenario())
        assert not app.ran

    def test_a_repaired_call_is_active_in_the_next_step(self) -> None:
        app = self._application()

        async def scenario() -> None:
            session = self.harness().open(app.scenario, run_id=RUN, surface="clerk")
            await session.step([search("a")])
            await session.step([ScriptedCall("carol")])
            record = await session.step([ScriptedCall("carol")])
            assert record.advertised == (SEARCH, "always", "carol", "alpha")

        _run(scenario())
        assert app.ran == {"carol": 1}

    def test_an_unknown_name_fails_honestly_leaks_no_name_and_keeps_the_run_alive(self) -> None:
        app = self._application()

        async def scenario() -> None:
            session = self.harness().open(app.scenario, run_id=RUN, surface="guest")
            record = await session.step([ScriptedCall("bravo"), ScriptedCall("alpho")])
            for called, told in zip(("bravo", "alpho"), _texts(record.answers, of=2), strict=True):
                # A framework may repeat the name that the model wrote; any other name would be a leak.
                assert not any(name in told for name in {"alpha", "bravo", "carol"} - {called})
                assert "SEARCH_REQUIRED" not in told
            assert (await session.step([search("a")])).answers

        _run(scenario())
        assert not app.ran

    def test_a_restart_restores_the_activation_without_a_new_search(self) -> None:
        app = self._application()

        async def scenario() -> None:
            session = self.harness().open(app.scenario, run_id=RUN, surface="clerk")
            await session.step([search("ab")])
            before = await session.step([])
            asked = len(app.ranker.requests)
            again = self.harness().open(app.scenario, run_id=RUN, surface="clerk", history=session.history())
            assert (await again.step([])).advertised == before.advertised == (SEARCH, "always", "alpha", "bravo")
            assert len(app.ranker.requests) == asked

        _run(scenario())

    def test_a_restart_runs_an_unanswered_call_again_only_where_that_is_safe(self) -> None:
        app = self._application()

        async def scenario() -> None:
            session = self.harness().open(app.scenario, run_id=RUN, surface="clerk")
            await session.step([search("ab")])
            await session.interrupted_step([ScriptedCall("alpha"), ScriptedCall("bravo")])
            again = self.harness().open(app.scenario, run_id=RUN, surface="clerk", history=session.history())
            unsafe, safe = _texts(await again.resume(), of=2)
            assert "INTERRUPTED" in unsafe
            assert "bravo ran" in safe

        _run(scenario())
        assert app.ran == {"bravo": 1}

    def test_another_run_and_another_surface_inherit_nothing(self) -> None:
        app = self._application()

        async def scenario() -> None:
            session = self.harness().open(app.scenario, run_id=RUN, surface="clerk")
            await session.step([search("a")])
            for run_id, surface in (("run-2", "clerk"), (RUN, "guest")):
                other = self.harness().open(app.scenario, run_id=run_id, surface=surface, history=session.history())
                record = await other.step([ScriptedCall("alpha")])
                assert record.advertised == (SEARCH, "always")
                assert "SEARCH_REQUIRED" in _texts(record.answers, of=1)[0]

        _run(scenario())
        assert not app.ran

    def test_a_forged_receipt_is_ignored_where_there_is_a_signer(self) -> None:
        app = self._application()
        signed = replace(app.scenario, signer=ReceiptSigner([SigningKey(id="k1", secret=b"0123456789abcdef")]))

        async def scenario() -> None:
            session = self.harness().open(signed, run_id=RUN, surface="clerk")
            await session.step([search("a")])
            assert "alpha" in (await session.step([])).advertised
            forged = session.history().replace(RUN, "run-2")
            other = self.harness().open(signed, run_id="run-2", surface="clerk", history=forged)
            assert (await other.step([])).advertised == (SEARCH, "always")

        _run(scenario())

    def test_a_receipt_that_another_tool_repeats_activates_nothing(self) -> None:
        app = self._application()

        async def scenario() -> None:
            session = self.harness().open(app.scenario, run_id=RUN, surface="clerk")
            (receipt,) = _texts((await session.step([search("b")])).answers, of=1)
            await session.step([search("a")])
            echoed = await session.step([ScriptedCall("alpha", {"note": receipt})])
            assert "bravo" in _texts(echoed.answers, of=1)[0]
            assert (await session.step([])).advertised == (SEARCH, "always", "alpha")

        _run(scenario())

    def test_parallel_searches_of_one_step_merge_in_call_order(self) -> None:
        app = self._application()

        async def scenario() -> None:
            session = self.harness().open(app.scenario, run_id=RUN, surface="clerk")
            await session.step([search("b"), search("a"), search("nothing fits this")])
            assert (await session.step([])).advertised == (SEARCH, "always", "bravo", "alpha")

        _run(scenario())

    def test_parallel_calls_of_one_step_each_run_once_with_their_own_arguments(self) -> None:
        app = self._application()

        async def scenario() -> None:
            session = self.harness().open(app.scenario, run_id=RUN, surface="clerk")
            await session.step([search("ab")])
            noted = [("alpha", "one"), ("carol", "two"), ("bravo", "three"), ("alpha", "four"), ("always", "five")]
            record = await session.step([ScriptedCall(name, {"note": note}) for name, note in noted])
            for (name, note), told in zip(noted, _texts(record.answers, of=len(noted)), strict=True):
                assert ("SEARCH_REQUIRED" if name == "carol" else f"{name} ran {note}") in told

        _run(scenario())
        assert app.ran == {"alpha": 2, "bravo": 1, "always": 1}

    def test_pins_and_ceilings_hold_in_every_step(self) -> None:
        app = self._application()
        tight = replace(app.scenario, limits=Limits(max_active_tools=4, max_selected_tools=3))

        async def scenario() -> None:
            session = self.harness().open(tight, run_id=RUN, surface="clerk")
            await session.step([search("all")])
            assert (await session.step([])).advertised == (SEARCH, "always", "alpha", "bravo")
            pinned = self.harness().open(tight, run_id=RUN, surface="clerk", history=session.history(), pins=["carol"])
            assert (await pinned.step([])).advertised == (SEARCH, "always", "alpha", "carol")

        _run(scenario())

    def test_presenter_parts_survive(self) -> None:
        app = self._application()

        async def scenario() -> None:
            session = self.harness().open(app.scenario, run_id=RUN, surface="clerk")
            await session.step([search("show")])
            record = await session.step([ScriptedCall("show")])
            assert [answer.kinds for answer in record.answers] == [tuple(app.made)]

        _run(scenario())

    def test_the_evidence_is_complete_and_holds_no_content(self) -> None:
        app = self._application()

        async def scenario() -> None:
            session = self.harness().open(app.scenario, run_id=RUN, surface="clerk", context={"secret": MARKER})
            await session.step([search(MARKER), ScriptedCall(f"no_{MARKER.replace('-', '_')}")])
            await session.step([ScriptedCall("alpha", {"note": MARKER})])

        _run(scenario())
        kinds = Counter(type(event) for event in app.evidence)
        assert kinds == {StepEvidence: 2, SearchEvidence: 1, CallEvidence: 3}
        shown = json.dumps([repr(event) for event in app.evidence])
        assert MARKER not in shown
        assert MARKER.replace("-", "_") not in shown

    def _application(self) -> Application:
        return Application(self.harness().carries)


def _texts(answers: Sequence[Answer], *, of: int) -> list[str]:
    """What the answers to `of` calls say, in the order of the calls."""
    assert len(answers) == of, f"{len(answers)} answers to {of} calls"
    return [answer.text for answer in answers]


def _run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


__all__: Sequence[str] = ["AdapterConformance", "Application"]
