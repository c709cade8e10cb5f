"""Content stays where it belongs (EVD-2): a marker is planted in each place and looked for in every other.

Looked at: every evidence event, every log record of any logger with its traceback, standard output and error, every
warning, every error the library raises, and what a hook's failure leaves behind.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel

from surface import (
    CallContext,
    CatalogError,
    ConfigurationError,
    DialectError,
    Hooks,
    Lifecycle,
    Limits,
    PartKind,
    PinsRefusedError,
    Presenter,
    RankedName,
    Ranker,
    RankerUnavailable,
    RankReply,
    RankRequest,
    Refused,
    StepChanges,
    Text,
    Tool,
    ToolError,
    ToolSurfaceError,
    TranscriptError,
    mount_agent,
)
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.input_model import PydanticInput
from surface.transcript import UNPARSABLE
from tests.surface.deferred import AnyArguments, Shop, Talk
from tests.surface.neutral_dialect import call, turn
from tests.surface.rankers import ScriptedRanker, proposing, raising, ranking
from tests.surface.shop import make_tool

SECRET = "Zebra crossing №7731"  # noqa: S105 - planted to be looked for
"""Nothing that a code, a key or an id may hold."""


@dataclass
class Watch:
    """Everything that may have come to light, as text."""

    caplog: pytest.LogCaptureFixture
    capfd: pytest.CaptureFixture[str]
    events: list[Any] = field(default_factory=list)
    raised: list[BaseException] = field(default_factory=list)

    def seen(self) -> str:
        formatter = logging.Formatter()
        return "\n".join(
            [
                *map(repr, self.events),
                *map(formatter.format, self.caplog.records),
                *(repr(record.__dict__) for record in self.caplog.records),
                *("".join(traceback.format_exception(error)) + repr(error) for error in self.raised),
                *self.capfd.readouterr(),
            ]
        )

    def assert_clean(self, *, events: int) -> None:
        assert len(self.events) >= events
        seen = self.seen()
        for piece in (SECRET, "Zebra", "№7731"):
            assert piece not in seen


@pytest.fixture
def watch(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[Watch]:
    with caplog.at_level(logging.DEBUG):
        yield Watch(caplog=caplog, capfd=capfd)


def raiser(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any) -> Any:
        raise error

    return fail


def _echo(value: Any, call: CallContext) -> str:
    return str(value.text)


async def _echo_later(value: Any, call: CallContext) -> str:
    await asyncio.sleep(0)
    return str(value.text)


async def _fail_with_it(value: Any, call: CallContext) -> None:
    raise RuntimeError(value.text)


async def play(watch: Watch, *, ranker: Ranker | None = None, **other: Any) -> None:
    """A whole run with the marker in prompts, queries, arguments, keys, names, results, descriptions and context."""
    shop = Shop(help="Explains.", secret=f"Finds {SECRET}.")
    mounting = {name: other.pop(name) for name in ("pins", "prepare_step") if name in other}
    echo = Tool(name="echo", description="Echoes.", input=PydanticInput(AnyArguments), handler=_echo)
    later = Tool(name="later", description="Echoes.", input=PydanticInput(AnyArguments), handler=_echo_later)
    broken = Tool(name="broken", description="Fails.", input=PydanticInput(AnyArguments), handler=_fail_with_it)
    application = shop.application(
        tools=[echo, later, broken],
        always_on=["help", "echo", "later", "broken"],
        observer=watch.events.append,
        ranker=ranker,
        **other,
    )
    run = application.mount(run_id="run-1", surface="reader", context={"customer": SECRET}, **mounting)
    talk = Talk(run, [f"Where is {SECRET}?"])
    await talk.advertised()
    await talk.calls("search_tools", {"query": SECRET})
    await talk.calls("search_tools", {"query": SECRET * 200})
    await talk.calls("search_tools", {"query": SECRET, SECRET: SECRET})
    await talk.calls("secret", {"text": SECRET, SECRET: [SECRET]})
    await talk.calls("help", {"text": SECRET})
    await talk.says(*(call(name, {"text": SECRET}, id=name) for name in ("echo", "later", "broken")))
    await talk.says(call(SECRET, {"text": SECRET}, id=SECRET))
    await talk.advertised()


@pytest.mark.rule("EVD-2")
async def test_a_run_over_secrets_tells_nobody(watch: Watch) -> None:
    await play(watch)
    watch.assert_clean(events=12)


@pytest.mark.rule("EVD-2")
async def test_a_run_over_secrets_tells_nobody_even_when_asyncio_is_asked_to_debug(watch: Watch) -> None:
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    loop.slow_callback_duration = 0.0
    await play(watch)
    assert any(record.name == "asyncio" for record in watch.caplog.records)
    watch.assert_clean(events=12)


FAILING: dict[str, Callable[[], dict[str, Any]]] = {
    "before_call": lambda: {"hooks": Hooks(before_call=raiser(RuntimeError(SECRET)))},
    "after_call": lambda: {"hooks": Hooks(after_call=raiser(RuntimeError(SECRET)))},
    "on_error": lambda: {
        "hooks": Hooks(before_call=raiser(RuntimeError(SECRET)), on_error=raiser(RuntimeError(SECRET)))
    },
    "fence": lambda: {"fence": raiser(RuntimeError(SECRET))},
    "ranker": lambda: {"ranker": raising(RuntimeError(SECRET))},
    "ranker that is unavailable": lambda: {"ranker": raising(RankerUnavailable(SECRET))},
    "ranker that echoes the query as its code": lambda: {
        "ranker": ScriptedRanker(lambda request: raiser(RankerUnavailable(request.query))())
    },
    "ranker with secret names": lambda: {"ranker": proposing(SECRET, f"{SECRET} again", "secret")},
    "ranker with a secret index": lambda: {"ranker": ScriptedRanker(_unchecked("index_version"))},
    "ranker with a secret degradation": lambda: {"ranker": ScriptedRanker(_unchecked("degraded"))},
    "ranker with a secret surface": lambda: {"ranker": ScriptedRanker(_unchecked("surface"))},
    "ranker with a secret digest": lambda: {"ranker": ScriptedRanker(_unchecked("catalog_digest"))},
    "ranker with a secret score": lambda: {
        "ranker": ScriptedRanker(
            lambda request: RankReply.model_construct(
                **{**_fields(request), "ranked": (RankedName.model_construct(name="secret", score=SECRET),)}
            )
        )
    },
}


def _fields(request: RankRequest) -> dict[str, Any]:
    good = ranking(request, "secret")
    return {name: getattr(good, name) for name in RankReply.model_fields}


def _unchecked(name: str) -> Callable[[RankRequest], RankReply]:
    return lambda request: RankReply.model_construct(**{**_fields(request), name: SECRET})


@pytest.mark.rule("EVD-2", "SRC-8")
@pytest.mark.parametrize("failing", FAILING.values(), ids=FAILING)
@pytest.mark.filterwarnings("default")
async def test_a_failure_that_is_full_of_secrets_tells_nobody(
    failing: Callable[[], dict[str, Any]], watch: Watch, recwarn: pytest.WarningsRecorder
) -> None:
    await play(watch, **failing())
    watch.assert_clean(events=12)
    assert not [warning for warning in recwarn if "Zebra" in str(warning.message)]


class SecretInput:
    """An input model whose own check fails with a secret."""

    json_schema = PydanticInput(AnyArguments).json_schema

    def validate(self, arguments: Any) -> Any:
        raise RuntimeError(f"{SECRET} in {arguments}")


class Strict(BaseModel):
    number: int


def tool_of(handler: Any = lambda value, call: SECRET, **changes: Any) -> Tool:
    made = {"name": "work", "description": SECRET, "input": PydanticInput(AnyArguments), "handler": handler}
    return Tool(**{**made, **changes})


TOOLS: dict[str, Callable[[], Tool]] = {
    "handler": lambda: tool_of(raiser(RuntimeError(SECRET))),
    "handler with a cause": lambda: tool_of(_with_a_cause),
    "tool error": lambda: tool_of(raiser(ToolError("NOT_FOUND", SECRET, SECRET))),
    "tool error with a secret code": lambda: tool_of(raiser(ToolError(SECRET, SECRET))),
    "refusal": lambda: tool_of(lifecycle=Lifecycle(before=raiser(Refused(SECRET)))),
    "lifecycle": lambda: tool_of(lifecycle=Lifecycle(after=raiser(RuntimeError(SECRET)))),
    "input model": lambda: tool_of(input=SecretInput()),
    "validation": lambda: tool_of(input=PydanticInput(Strict)),
    "output": lambda: tool_of(output=int),
    "presenter": lambda: tool_of(
        output=str, presenter=Presenter(kinds=frozenset({PartKind.TEXT}), present=raiser(RuntimeError(SECRET)))
    ),
    "undeclared part": lambda: tool_of(
        output=str, presenter=Presenter(kinds=frozenset(), present=lambda output: [Text(text=output)])
    ),
}


def _with_a_cause(value: Any, call: CallContext) -> None:
    raise LookupError(SECRET) from ValueError(SECRET)


@pytest.mark.rule("EVD-2", "MNT-3")
@pytest.mark.parametrize("make", TOOLS.values(), ids=TOOLS)
async def test_a_tool_that_fails_with_secrets_tells_only_what_it_means_the_model_to_read(
    make: Callable[[], Tool], watch: Watch
) -> None:
    run = mount_agent([make()], dialect=ANTHROPIC_MESSAGES, observer=watch.events.append).mount(
        run_id="run-1", context=SECRET
    )
    block = {"type": "tool_use", "id": "c", "name": "work", "input": {"number": SECRET}}
    await run.dispatch([{"role": "user", "content": SECRET}, {"role": "assistant", "content": [block]}])
    watch.assert_clean(events=1)


@pytest.mark.rule("EVD-2", "MNT-5")
async def test_a_late_failure_of_an_abandoned_call_tells_nobody(watch: Watch) -> None:
    may_end, ended = asyncio.Event(), asyncio.Event()

    async def handler(value: Any, call: CallContext) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await may_end.wait()
            ended.set()
            raise RuntimeError(SECRET) from None

    run = mount_agent([tool_of(handler, timeout=0.01)], dialect=ANTHROPIC_MESSAGES, observer=watch.events.append)
    block = {"type": "tool_use", "id": "c", "name": "work", "input": {}}
    await run.mount(run_id="run-1").dispatch([{"role": "assistant", "content": [block]}])
    may_end.set()
    await asyncio.wait_for(ended.wait(), 5)
    await asyncio.sleep(0)
    gc.collect()  # whatever is logged when an abandoned task goes is logged now
    watch.assert_clean(events=1)


@pytest.mark.rule("EVD-2", "SRC-8")
async def test_a_late_failure_of_an_abandoned_ranker_tells_nobody(watch: Watch) -> None:
    may_end, ended = asyncio.Event(), asyncio.Event()

    async def stubborn(request: RankRequest) -> RankReply:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await may_end.wait()
            ended.set()
            raise RuntimeError(SECRET) from None
        return ranking(request)

    shop = Shop(help="Explains.", secret=f"Finds {SECRET}.")
    run = shop.application(ranker=ScriptedRanker(stubborn), search_deadline=0.02, observer=watch.events.append).mount(
        run_id="run-1", surface="reader"
    )
    await Talk(run).searches(SECRET)
    may_end.set()
    await asyncio.wait_for(ended.wait(), 5)
    await asyncio.sleep(0)
    gc.collect()  # whatever is logged when an abandoned task goes is logged now
    watch.assert_clean(events=2)


@pytest.mark.rule("EVD-2")
async def test_an_error_of_the_library_holds_no_content(watch: Watch) -> None:
    shop = Shop(help="Explains.", secret=f"Finds {SECRET}.")
    heavy = make_tool("heavy", SECRET * 5_000)
    application = shop.application(tools=[heavy])
    attempts: list[tuple[type[ToolSurfaceError], Callable[[], Any]]] = [
        (TranscriptError, lambda: ANTHROPIC_MESSAGES.read([{"role": SECRET, "content": SECRET}])),
        (TranscriptError, lambda: ANTHROPIC_MESSAGES.read([{"role": "user", "content": {SECRET: SECRET}}])),
        (DialectError, lambda: mount_agent([make_tool("a.b", SECRET)], dialect=ANTHROPIC_MESSAGES)),
        (CatalogError, lambda: shop.application(tools=[make_tool("a b", SECRET), make_tool("help", SECRET)])),
        (CatalogError, lambda: shop.application(tools=[make_tool("x", SECRET, {"type": SECRET, "enum": [SECRET]})])),
        (CatalogError, lambda: shop.application(tools=[heavy], always_on=["heavy"])),
        (ConfigurationError, lambda: shop.application(limits=Limits(max_result_bytes=1))),
    ]
    for expected, attempt in attempts:
        with pytest.raises(expected) as raised:
            attempt()
        watch.raised.append(raised.value)
    for pins in (["heavy"], ["nobody"], ["help", "secret", "secret"]):
        run = application.mount(run_id="run-1", surface="reader", context=SECRET, pins=pins)
        with pytest.raises(PinsRefusedError) as refused:
            await run.prepare_step([SECRET, turn(call("help", {"text": SECRET}))])
        watch.raised.append(refused.value)
    watch.assert_clean(events=0)


@pytest.mark.rule("EVD-2")
async def test_what_an_application_hands_on_with_a_step_tells_nobody(watch: Watch) -> None:
    changes = StepChanges(instructions=SECRET, messages=[SECRET], model_settings={SECRET: SECRET})
    await play(watch, prepare_step=lambda view: changes, pins=lambda context, transcript: ["secret"])
    watch.assert_clean(events=12)


@pytest.mark.rule("EVD-2")
def test_a_call_and_its_result_do_not_show_their_content_when_printed() -> None:
    block = {"type": "tool_use", "id": "c", "name": "help", "input": {"text": SECRET}}
    messages = [
        {"role": "assistant", "content": [block]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": SECRET}]},
    ]
    assert SECRET not in repr(ANTHROPIC_MESSAGES.read(messages))
    assert UNPARSABLE.value == "unparsable"
