"""Writing Anthropic requests: held against the SDK's own types, for every kind and every outcome (MNT-6, CAT-7)."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from anthropic.types import MessageParam, ToolParam
from anthropic.types.tool_param import InputSchemaTyped
from pydantic import BaseModel, Field, TypeAdapter

from surface import (
    Audio,
    CatalogError,
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
    build_tool_manifest,
    create_deferred_agent_tool_surface,
    mount_agent,
)
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.call import CallAnswer
from surface.content import Part
from surface.input_model import PydanticInput
from tests.surface.deferred import AnyArguments, Shop
from tests.surface.rankers import proposing
from tests.surface.shop import make_tool

MESSAGE = TypeAdapter[Any](MessageParam)
TOOL = TypeAdapter[Any](ToolParam)
SCHEMA = TypeAdapter[Any](InputSchemaTyped)


def exhausted(value: Any) -> Any:
    """The value with every lazily validated iterable in it read to its end."""
    if isinstance(value, Mapping):
        return {key: exhausted(inner) for key, inner in value.items()}
    if value is None or isinstance(value, (str, bytes, int, float)):
        return value
    return [exhausted(inner) for inner in value]


def assert_the_sdk_takes(message: dict[str, Any]) -> None:
    """The SDK's types know every field of the message, and nothing is lost on the way to JSON and UTF-8."""
    assert exhausted(MESSAGE.validate_python(message)) == message
    assert json.loads(json.dumps(message, ensure_ascii=False).encode("utf-8")) == message


def written(*parts: Part, outcome: str = "ok") -> list[dict[str, Any]]:
    """The content blocks of a tool result with these parts."""
    answer = CallAnswer(call_id="call-1", tool="show", parts=parts, outcome=outcome)
    (message,) = ANTHROPIC_MESSAGES.answer([answer])
    assert_the_sdk_takes(message)
    (block,) = message["content"]
    assert block["tool_use_id"] == "call-1"
    content: list[dict[str, Any]] = block["content"]
    return content


@pytest.mark.rule("MNT-6")
def test_a_text_is_a_text_block() -> None:
    assert written(Text(text="é\n")) == [{"type": "text", "text": "é\n"}]


@pytest.mark.rule("MNT-6")
def test_json_is_its_canonical_text() -> None:
    assert written(Json(value={"b": 1, "a": ["é"]})) == [{"type": "text", "text": '{"a":["é"],"b":1}'}]


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize("media_type", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_an_image_is_an_image_block_with_its_bytes(media_type: str) -> None:
    (block,) = written(Image(data=b"\x89PNG\xff", media_type=media_type))
    assert block["type"] == "image"
    assert block["source"]["media_type"] == media_type
    assert b64decode(block["source"]["data"]) == b"\x89PNG\xff"


@pytest.mark.rule("MNT-6")
def test_a_pdf_is_a_document_block_with_its_bytes_and_name() -> None:
    (block,) = written(File(data=b"%PDF\xff", media_type="application/pdf", name="bill.pdf"))
    assert block["type"] == "document"
    assert block["title"] == "bill.pdf"
    assert b64decode(block["source"]["data"]) == b"%PDF\xff"


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize("media_type", ["text/plain", "text/csv", "text/html; charset=utf-8"])
def test_a_text_file_is_a_document_block_with_its_text(media_type: str) -> None:
    (block,) = written(File(data="a;é".encode(), media_type=media_type, name="a.csv"))
    assert block["source"] == {"type": "text", "media_type": "text/plain", "data": "a;é"}


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize("media_type", ["text/html", None])
def test_a_resource_link_is_the_json_of_its_fields(media_type: str | None) -> None:
    (block,) = written(ResourceLink(uri="https://example.test/a", name="the bill", media_type=media_type))
    assert json.loads(block["text"]) == {
        "type": "resource_link",
        "uri": "https://example.test/a",
        "name": "the bill",
        "media_type": media_type,
    }


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize(
    "part",
    [
        Image(data=b"BM", media_type="image/bmp"),
        Image(data=b"<svg/>", media_type="image/svg+xml"),
        File(data=b"PK", media_type="application/zip", name="a.zip"),
        File(data=b"{}", media_type="application/json", name="a.json"),
        File(data=b"\xd0\xcf", media_type="application/vnd.ms-excel", name="a.xls"),
        File(data=b"", media_type="text/plain", name="empty.txt"),
    ],
    ids=lambda part: part.media_type,
)
def test_a_media_type_that_the_api_has_no_block_for_still_makes_a_message_it_takes(part: Part) -> None:
    """A block that the API refuses would stand in the history for good: the run could never go on."""
    (block,) = written(part)
    assert block["type"] != "text" or block["text"].strip()


@pytest.mark.rule("MNT-6")
@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t \u3000"], ids=ascii)
def test_a_blank_text_is_written_as_something_the_api_takes(text: str) -> None:
    """The API answers 400, "text content blocks must contain non-whitespace text"."""
    (block,) = written(Text(text=text))
    assert block["text"].strip()


@pytest.mark.rule("MNT-6")
def test_an_answer_without_parts_is_a_result_without_content() -> None:
    assert written() == []


@pytest.mark.rule("MNT-6")
def test_there_is_no_block_for_audio() -> None:
    assert PartKind.AUDIO not in ANTHROPIC_MESSAGES.carries
    answer = CallAnswer(call_id="c", tool="t", parts=(Audio(data=b"", media_type="audio/wav"),), outcome="ok")
    with pytest.raises(TypeError, match="carries no audio"):
        ANTHROPIC_MESSAGES.answer([answer])


def test_no_answers_are_no_message() -> None:
    assert ANTHROPIC_MESSAGES.answer([]) == []


def test_the_answers_of_a_turn_are_one_user_message_in_call_order() -> None:
    answers = [
        CallAnswer(call_id=id_, tool="t", parts=(Text(text=id_),), outcome=outcome)
        for id_, outcome in (("b", "ok"), ("a", "INTERNAL"), ("c", "NOT_FOUND"))
    ]
    (message,) = ANTHROPIC_MESSAGES.answer(answers)
    assert_the_sdk_takes(message)
    assert [(block["tool_use_id"], block["is_error"]) for block in message["content"]] == [
        ("b", False),
        ("a", True),
        ("c", True),
    ]


@pytest.mark.rule("MNT-3", "RCP-7", "REP-1", "REP-3")
async def test_every_kind_of_answer_of_a_run_is_a_message_the_sdk_takes() -> None:
    shop = Shop()
    pictured = Tool(
        name="pictured",
        description="Shows.",
        input=PydanticInput(AnyArguments),
        handler=lambda value, call: "seen",
        output=str,
        presenter=Presenter(
            kinds=frozenset({PartKind.TEXT, PartKind.IMAGE}),
            present=lambda output: [Text(text=output), Image(data=b"\x89PNG", media_type="image/png")],
        ),
    )
    run = shop.application(
        dialect=ANTHROPIC_MESSAGES,
        tools=[pictured],
        always_on=["help", "pictured"],
        ranker=proposing("invoices_list"),
    ).mount(run_id="run-1", surface="reader")
    names = ["search_tools", "help", "pictured", "file_delete", "nobody", "search_tools"]
    given: list[dict[str, Any]] = [{"query": "q"}, {}, {}, {}, {}, {"query": ""}]
    uses = [
        {"type": "tool_use", "id": f"c{at}", "name": name, "input": arguments}
        for at, (name, arguments) in enumerate(zip(names, given, strict=True))
    ]
    (message,) = await run.dispatch([{"role": "assistant", "content": uses}])
    assert_the_sdk_takes(message)
    assert [block["is_error"] for block in message["content"]] == [False, False, False, True, True, True]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Leaf(BaseModel):
    kind: Literal["leaf"]
    weight: Annotated[float, Field(gt=0)] = 1.0


class Branch(BaseModel):
    kind: Literal["branch"]
    parts: list[Annotated[Leaf | Branch, Field(discriminator="kind")]] = []


class Tree(BaseModel):
    root: Annotated[Leaf | Branch, Field(discriminator="kind")]
    colour: Colour = Colour.RED
    in_code: Annotated[int | None, Field(alias="inCode", description="A code.")] = None


def advertised(model: type[BaseModel]) -> dict[str, Any]:
    tool = Tool(name="grow", description="Grows.", input=PydanticInput(model), handler=lambda value, call: None)
    (made,) = ANTHROPIC_MESSAGES.advertise(build_tool_manifest([tool]))
    assert exhausted(TOOL.validate_python(made)) == made
    assert set(made) == {"name", "description", "input_schema"}
    schema: dict[str, Any] = made["input_schema"]
    return schema


@pytest.mark.rule("CAT-7")
def test_definitions_unions_enums_nested_and_recursive_models_defaults_and_aliases_survive() -> None:
    schema = advertised(Tree)
    SCHEMA.validate_python(schema)
    assert set(schema["$defs"]) == {"Leaf", "Branch", "Colour"}
    assert set(schema["properties"]) == {"root", "colour", "inCode"}
    assert schema["properties"]["colour"]["default"] == "red"
    assert schema["properties"]["inCode"]["description"] == "A code."
    assert schema["$defs"]["Branch"]["properties"]["parts"]["items"]["oneOf"] == [
        {"$ref": "#/$defs/Leaf"},
        {"$ref": "#/$defs/Branch"},
    ]
    assert schema["$defs"]["Leaf"]["properties"]["weight"] == {"default": 1.0, "exclusiveMinimum": 0, "type": "number"}


class Node(BaseModel):
    value: int
    children: list[Node] = []


@pytest.mark.rule("CAT-7")
def test_a_model_that_is_recursive_at_its_top_is_still_an_object_for_the_api() -> None:
    """Pydantic writes `{"$ref": "#/$defs/Node"}`; the API answers 400, "input_schema.type: Field required"."""
    schema = advertised(Node)
    SCHEMA.validate_python(schema)
    assert schema["type"] == "object"
    assert "Node" in schema["$defs"]


@pytest.mark.rule("CAT-7")
def test_every_advertised_tool_of_a_deferred_run_is_one_the_sdk_takes() -> None:
    entries = Shop().application(dialect=ANTHROPIC_MESSAGES).registry.surface("reader")
    for entry in (entries.search, *entries.catalog.manifest):
        (made,) = ANTHROPIC_MESSAGES.advertise([entry])
        assert exhausted(TOOL.validate_python(made)) == made
        SCHEMA.validate_python(made["input_schema"])


@pytest.mark.rule("CAT-1")
def test_what_is_advertised_is_a_fresh_copy_each_time() -> None:
    manifest = build_tool_manifest(Shop().tools)
    (first, *_) = ANTHROPIC_MESSAGES.advertise(manifest)
    first["input_schema"]["properties"] = {"edited": {}}
    (again, *_) = ANTHROPIC_MESSAGES.advertise(manifest)
    assert "edited" not in again["input_schema"].get("properties", {})


@pytest.mark.rule("CAT-7")
@pytest.mark.parametrize("name", ["a.b", "files.delete"])
def test_a_name_that_anthropic_cannot_carry_fails_at_the_mount_and_names_the_tool(name: str) -> None:
    with pytest.raises(DialectError, match=rf"{name}: the name must match"):
        mount_agent([make_tool(name)], dialect=ANTHROPIC_MESSAGES)
    surface = Surface(key="reader", tools=[make_tool(name)])
    with pytest.raises(DialectError, match=rf"{name}: the name must match"):
        create_deferred_agent_tool_surface(application="shop", surfaces=[surface], dialect=ANTHROPIC_MESSAGES)
    with pytest.raises(DialectError, match=r"find\.tools: the name must match"):
        Shop().application(dialect=ANTHROPIC_MESSAGES, search_tool="find.tools")


@pytest.mark.rule("CAT-7")
def test_the_longest_name_that_anthropic_carries_is_carried() -> None:
    mount_agent([make_tool("a" * 128)], dialect=ANTHROPIC_MESSAGES)
    with pytest.raises(CatalogError):
        mount_agent([make_tool("a" * 129)], dialect=ANTHROPIC_MESSAGES)
