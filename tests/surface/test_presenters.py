"""What a model sees of an output: content parts of every kind, and what a presenter may not do (MNT-6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from surface import (
    Audio,
    DialectError,
    File,
    Image,
    Json,
    PartKind,
    Presenter,
    ResourceLink,
    Surface,
    Text,
    Tool,
    create_deferred_agent_tool_surface,
    mount_agent,
)
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.content import Part
from surface.input_model import PydanticInput
from tests.surface.one_call import answer_of

EVERY_PART: tuple[Part, ...] = (
    Text(text="a text"),
    Json(value={"a": [1, None]}),
    Image(data=b"\x89PNG", media_type="image/png"),
    Audio(data=b"RIFF", media_type="audio/wav"),
    File(data=b"%PDF", media_type="application/pdf", name="bill.pdf"),
    ResourceLink(uri="https://example.test/bill", name="the bill", media_type="text/html"),
)


class Nothing(BaseModel):
    pass


def presented(kinds: Sequence[PartKind], present: Any, *, name: str = "show") -> Tool:
    return Tool(
        name=name,
        description="Shows.",
        input=PydanticInput(Nothing),
        handler=lambda value, call: "seen",
        output=str,
        presenter=Presenter(kinds=frozenset(kinds), present=present),
    )


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize("part", EVERY_PART, ids=lambda part: part.kind)
async def test_a_part_of_every_kind_reaches_the_model_as_the_presenter_made_it(part: Part) -> None:
    answer = await answer_of(presented([part.kind], lambda output: [part]))
    assert answer.parts == (part,)
    assert not answer.failed


@pytest.mark.rule("MNT-6")
async def test_parts_of_several_kinds_keep_their_order() -> None:
    answer = await answer_of(presented(list(PartKind), lambda output: list(EVERY_PART)))
    assert answer.parts == EVERY_PART


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize("part", EVERY_PART, ids=lambda part: part.kind)
async def test_a_part_of_a_kind_that_was_not_declared_is_internal(part: Part) -> None:
    declared = [kind for kind in PartKind if kind != part.kind]
    answer = await answer_of(presented(declared, lambda output: [part]))
    assert answer.outcome == "INTERNAL"
    assert part not in answer.parts


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize(
    "made",
    [["a text"], [None], None, 7, [Json(value={1: object()})], [Json(value=float("nan"))]],
    ids=["no part", "none", "nothing", "number", "no json", "nan"],
)
async def test_a_presenter_that_makes_something_else_is_internal(made: Any) -> None:
    answer = await answer_of(presented(list(PartKind), lambda output: made))
    assert answer.outcome == "INTERNAL"


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize(
    "part",
    [
        Text(text=7),  # type: ignore[arg-type]
        Image(data="not bytes", media_type="image/png"),  # type: ignore[arg-type]
        Image(data=b"", media_type=None),  # type: ignore[arg-type]
        File(data=b"%PDF", media_type="application/pdf", name=None),  # type: ignore[arg-type]
        File(data=None, media_type="text/plain", name="a.txt"),  # type: ignore[arg-type]
        ResourceLink(uri=object(), name="it"),  # type: ignore[arg-type]
    ],
    ids=["text", "image data", "image type", "file name", "file data", "link"],
)
async def test_a_part_that_holds_the_wrong_type_is_internal_and_does_not_break_the_run(part: Part) -> None:
    tool = presented(list(ANTHROPIC_MESSAGES.carries), lambda output: [part])
    run = mount_agent([tool], dialect=ANTHROPIC_MESSAGES).mount(run_id="run-1")
    block = {"type": "tool_use", "id": "call-1", "name": "show", "input": {}}
    (message,) = await run.dispatch([{"role": "assistant", "content": [block]}])
    (result,) = message["content"]
    assert result["is_error"]


@pytest.mark.rule("MNT-6")
async def test_a_presenter_that_yields_its_parts_loses_none() -> None:
    def present(output: str) -> Iterator[Part]:
        yield Text(text=output)
        yield Json(value=1)

    answer = await answer_of(presented([PartKind.TEXT, PartKind.JSON], present))
    assert answer.parts == (Text(text="seen"), Json(value=1))


@pytest.mark.rule("MNT-6")
async def test_a_presenter_may_show_nothing() -> None:
    answer = await answer_of(presented([PartKind.TEXT], lambda output: []))
    assert answer.parts == ()
    assert not answer.failed


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize(
    ("output", "part"),
    [
        ("a text", Text(text="a text")),
        ({"a": 1}, Json(value={"a": 1})),
        ([1, 2], Json(value=[1, 2])),
        (None, Json(value=None)),
        (True, Json(value=True)),
        (float("inf"), Json(value=None)),
    ],
    ids=repr,
)
async def test_without_a_presenter_a_string_is_text_and_all_else_is_json(output: Any, part: Part) -> None:
    tool = Tool(name="show", description="", input=PydanticInput(Nothing), handler=lambda value, call: output)
    assert (await answer_of(tool)).parts == (part,)


@pytest.mark.rule("MNT-6")
def test_a_kind_that_the_dialect_cannot_carry_fails_at_the_ordinary_mount_and_names_the_tool() -> None:
    tools = [presented([PartKind.AUDIO], list, name="sing"), presented([PartKind.TEXT], list, name="say")]
    with pytest.raises(DialectError, match=r"sing: its presenter makes audio parts") as raised:
        mount_agent(tools, dialect=ANTHROPIC_MESSAGES)
    assert "say" not in str(raised.value)


@pytest.mark.rule("MNT-6")
def test_a_kind_that_the_dialect_cannot_carry_fails_at_the_deferred_mount_whatever_surface_holds_it() -> None:
    surfaces = [
        Surface(key="reader", tools=[presented([PartKind.TEXT], list, name="say")]),
        Surface(key="singer", tools=[presented([PartKind.AUDIO], list, name="sing")]),
    ]
    with pytest.raises(DialectError, match=r"sing: its presenter makes audio parts"):
        create_deferred_agent_tool_surface(application="shop", surfaces=surfaces, dialect=ANTHROPIC_MESSAGES)
