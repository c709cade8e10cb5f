"""Random runs against a tiny model of the specification (`tests/laws/model.py`), on every dialect.

After each rule the names advertised, what is ignored, the ceilings and the bytes of the prefix are what the model says;
after each turn so are the answers and the handlers that ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.openai_chat import OPENAI_CHAT
from surface.adapters.openai_responses import OPENAI_RESPONSES
from surface.dialect import Dialect
from surface.limits import Limits
from surface.testing import AnthropicVoice, OpenAIChatVoice, OpenAIResponsesVoice, Voice
from tests.laws import model
from tests.laws.conversation import Asked, Conversation, Terms
from tests.laws.deploys import ALWAYS, HEAVIEST, NAMES, SURFACES, UNKNOWN, weight
from tests.laws.forgeries import Forgery, carried, inject
from tests.laws.model import SEARCH

pytestmark = pytest.mark.rule(
    "ACT-1", "ACT-2", "ACT-3", "ACT-4", "ACT-5", "ACT-6", "ACT-8", "ACT-9",
    "MNT-9", "RCP-3", "RCP-4", "RCP-5", "REP-1", "REP-2", "SRC-1", "SRC-3", "SRC-5", "SRC-9",
)  # fmt: skip

DIALECTS: Sequence[tuple[Dialect, Voice]] = (
    (ANTHROPIC_MESSAGES, AnthropicVoice()),
    (OPENAI_CHAT, OpenAIChatVoice()),
    (OPENAI_RESPONSES, OpenAIResponsesVoice()),
)
BASE_BYTES = 1_000 + weight(ALWAYS, HEAVIEST)
"""More than the search tool and the heaviest always-on tool weigh."""

proposals = st.lists(st.sampled_from([*NAMES, ALWAYS, UNKNOWN]), max_size=4).map(tuple)
searches = st.builds(Asked, st.just(SEARCH), proposals)
direct_calls = st.builds(Asked, st.sampled_from([*NAMES, ALWAYS, UNKNOWN]))
turns = st.lists(searches | direct_calls | direct_calls, min_size=1, max_size=4)
ceilings = st.builds(
    Limits,
    max_results=st.integers(1, 4),
    max_selected_tools=st.integers(1, 6),
    max_active_tools=st.integers(2, 9),
    max_schema_bytes=st.integers(BASE_BYTES, BASE_BYTES + 1_500),
)
many_names = st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True)
some_names = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)


class RandomRun(RuleBasedStateMachine):
    """One conversation, from many runs, surfaces, deploys and processes."""

    talk: Conversation

    @initialize(
        spoken=st.sampled_from(DIALECTS),
        signed=st.booleans(),
        limits=ceilings | st.just(Limits()),
        budget=st.none() | st.integers(1, 4),
        own_ids=st.booleans(),
    )
    def begin(
        self, *, spoken: tuple[Dialect, Voice], signed: bool, limits: Limits, budget: int | None, own_ids: bool
    ) -> None:
        dialect, voice = spoken
        terms = Terms(dialect=dialect, voice=voice, signed=signed, limits=limits, budget=budget, own_ids=own_ids)
        self.talk = Conversation(terms)

    def teardown(self) -> None:
        if hasattr(self, "talk"):
            self.talk.close()

    def pins_hold(self) -> bool:
        return self.talk.world.pins_hold

    # Turns of the model

    @rule(search=searches)
    @precondition(pins_hold)
    def search(self, search: Asked) -> None:
        self.talk.take_turn([search])

    @rule()
    @precondition(pins_hold)
    def search_for_nothing(self) -> None:
        self.talk.take_turn([Asked(SEARCH, None)])

    @rule(asked=st.lists(searches, min_size=2, max_size=4))
    @precondition(pins_hold)
    def search_in_parallel(self, asked: list[Asked]) -> None:
        self.talk.take_turn(asked)

    @rule(found=st.lists(many_names, min_size=2, max_size=3))
    @precondition(pins_hold)
    def search_in_parallel_for_more_than_may_fit(self, found: list[list[str]]) -> None:
        self.talk.take_turn([Asked(SEARCH, tuple(names)) for names in found])

    @rule(asked=turns)
    @precondition(pins_hold)
    def call_anything(self, asked: list[Asked]) -> None:
        self.talk.take_turn(asked)

    @rule(places=st.lists(st.integers(0, 8), min_size=1, max_size=3))
    @precondition(pins_hold)
    def call_what_is_advertised(self, places: list[int]) -> None:
        names = model.active(self.talk.steps, self.talk.world)[1:]
        self.talk.take_turn([Asked(names[place % len(names)]) for place in places])

    @rule(place=st.integers(0, 8), of=st.integers(0, 50))
    @precondition(pins_hold)
    @precondition(lambda self: self.talk.papers)
    def let_a_tool_echo_a_receipt(self, place: int, of: int) -> None:
        names = model.active(self.talk.steps, self.talk.world)[1:]
        text, _ = self.talk.papers[of % len(self.talk.papers)]
        self.talk.take_turn([Asked(names[place % len(names)], note=text)])

    @rule(asked=turns, began=st.booleans(), recorded=st.integers(0, 3))
    @precondition(pins_hold)
    def die_before_all_is_recorded_and_resume(self, *, asked: list[Asked], began: bool, recorded: int) -> None:
        self.talk.take_turn(asked, dies=True, began=began, recorded=recorded)

    @rule(name=st.sampled_from(NAMES), recorded=st.integers(0, 1))
    @precondition(pins_hold)
    def die_between_a_search_and_a_call_of_what_it_finds(self, name: str, recorded: int) -> None:
        self.talk.take_turn([Asked(SEARCH, (name,)), Asked(name)], dies=True, recorded=recorded)

    @rule(again=st.booleans())
    def only_talk(self, *, again: bool) -> None:
        self.talk.talk(again=again)

    # What happens around it

    @rule(pins=st.lists(st.sampled_from(NAMES), max_size=3) | st.just([ALWAYS]) | st.just([UNKNOWN]))
    def change_pins(self, pins: list[str]) -> None:
        self.talk.pins = tuple(pins)

    @rule()
    def drop_pins(self) -> None:
        self.talk.pins = ()

    @rule()
    def restart(self) -> None:
        self.talk.start()

    @rule(changes=st.dictionaries(st.sampled_from(NAMES), st.none() | st.integers(0, HEAVIEST), min_size=1, max_size=3))
    def redeploy(self, changes: dict[str, int | None]) -> None:
        deployed = {**self.talk.deploy, **changes}
        self.talk.redeploy({name: version for name, version in deployed.items() if version is not None})

    @rule(version=st.integers(0, HEAVIEST))
    def redeploy_what_is_always_on(self, version: int) -> None:
        self.talk.redeploy({**self.talk.deploy, ALWAYS: version})

    @rule(key=st.sampled_from(sorted(SURFACES)))
    def change_surface(self, key: str) -> None:
        self.talk.change_surface(key)

    @rule(run_id=st.sampled_from(["run-1", "run-2", "run-2/sub-agent"]))
    def change_run(self, run_id: str) -> None:
        self.talk.run_id = run_id

    @rule(drops=st.integers(1, 4))
    def compact(self, drops: int) -> None:
        self.talk.compact(drops)

    @rule(
        forgery=st.sampled_from(Forgery),
        carrier=st.just(SEARCH) | st.sampled_from(NAMES),
        names=some_names,
        bend=st.integers(0, 20),
    )
    def inject_a_receipt(self, forgery: Forgery, carrier: str, names: list[str], bend: int) -> None:
        known = tuple(name for name in names if name in self.talk.world.tools) or (ALWAYS,)
        status, selected = carried(forgery, carrier, known, self.talk.world)
        (call_id,) = self.talk.ids(1)
        injected = inject(
            forgery, selected, status, call_id=call_id, world=self.talk.world, surface=self.talk.surface, bend=bend
        )
        self.talk.record_a_result(call_id, carrier, injected.text, injected.paper)

    @rule(of=st.integers(0, 50), carrier=st.just(SEARCH) | st.sampled_from(NAMES))
    @precondition(lambda self: self.talk.papers)
    def replay_a_receipt_in_another_call(self, of: int, carrier: str) -> None:
        text, paper = self.talk.papers[of % len(self.talk.papers)]
        (call_id,) = self.talk.ids(1)
        self.talk.record_a_result(call_id, carrier, text, paper)

    @invariant()
    def the_step_is_what_the_model_says(self) -> None:
        self.talk.check_step()


RandomRun.TestCase.settings = settings(max_examples=80, stateful_step_count=25)
TestRandomRuns = RandomRun.TestCase


@pytest.mark.rule("SRC-9", "SRC-2")
def test_a_search_that_is_invalid_uses_up_nothing_of_the_budget() -> None:
    dialect, voice = DIALECTS[0]
    terms = Terms(dialect=dialect, voice=voice, signed=False, limits=Limits(), budget=1, own_ids=True)
    with closing(Conversation(terms)) as talk:
        talk.take_turn([Asked(SEARCH, None)])
        talk.take_turn([Asked(SEARCH, None), Asked(SEARCH, ("alpha",))])
