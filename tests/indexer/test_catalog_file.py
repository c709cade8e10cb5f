"""Reading a catalog is total, and its one error lists every fault (CAT-2)."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.catalog_file import read_catalog
from indexer.collector import collecting_later
from surface.errors import CatalogError
from tests.indexer.samples import catalog_json, json_values, tool_json

MARKER = "zebra-crossing-7731"


def faults(data: bytes, **how: Any) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        read_catalog(data, **how)
    return [str(fault) for fault in caught.value.faults]


@given(st.binary(max_size=200))
def test_any_bytes_give_a_catalog_or_the_one_error(data: bytes) -> None:
    with pytest.raises(CatalogError):
        read_catalog(data)


@given(
    value=json_values,
    place=st.sampled_from(["version", "application", "deploy", "surfaces", "always_on", "tools"]),
    skip_invalid=st.booleans(),
)
def test_any_json_in_any_place_gives_a_catalog_or_the_one_error(value: Any, place: str, *, skip_invalid: bool) -> None:
    frame = json.loads(catalog_json(tool_json("a"), tool_json("b")))
    inner = frame["surfaces"]["reader"] if place in ("always_on", "tools") else frame
    inner[place] = value
    try:
        read_catalog(json.dumps(frame).encode(), skip_invalid=skip_invalid)
    except CatalogError as error:
        str(error).encode()


@given(json_values, st.sampled_from(["name", "description", "input_schema", "service", "annotations", "other"]))
def test_any_json_in_any_field_of_a_tool_is_skipped_or_kept_as_it_is(value: Any, field: str) -> None:
    data = catalog_json(tool_json("kept"), tool_json("odd", **{field: value}))
    try:
        read = read_catalog(data, skip_invalid=True)
    except CatalogError as error:
        pytest.fail(f"one odd tool must not stop the others: {error}")
    (kept, *odd) = read.catalog.surfaces["reader"].tools
    assert kept.name == "kept"
    assert len(odd) + read.refused_tools == 1
    if odd:
        assert getattr(odd[0], field) == value


def test_one_error_lists_the_faults_of_all_tools() -> None:
    found = faults(
        catalog_json(
            tool_json("no spaces please"),
            tool_json("twice"),
            tool_json("twice"),
            tool_json("list_schema", input_schema={"type": "array"}),
            tool_json("no_schema", input_schema=[]),
            tool_json("surprising", colour="red"),
            tool_json(7),
            "not a tool",
            always_on=["absent", "twice", "twice"],
        )
    )
    assert [fault.split(":")[0] for fault in found] == [
        "reader/no spaces please",
        "reader/list_schema",
        "reader/no_schema.input_schema",
        "reader/surprising.colour",
        "reader/tools[6].name",
        "reader/tools[7]",
        "reader/twice",
        "reader/absent",
        "reader/twice",
    ]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "catalog: is empty"),
        (b"{", "not JSON at line 1"),
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        (b"[" * 200_000, "nests too deep"),
        (b'{"a":' * 200_000, "nests too deep"),
        (b"9" * 10_000, "holds a number that cannot be read"),
        (b'{"version": NaN}', "holds a number that cannot be read"),
        (b'{"surfaces": {}, "surfaces": {}}', "holds the key surfaces twice"),
        (b"[]", "catalog"),
        (catalog_json(surfaces={}), "catalog.surfaces"),
        (catalog_json(version=2), "catalog.version"),
        (catalog_json(application="two words"), "application two words: needs 1-64 characters"),
        (catalog_json(deploy="é"), "catalog.deploy"),
        (catalog_json(colour="red"), "catalog.colour"),
    ],
)
def test_what_is_no_catalog_is_refused_by_name(data: bytes, told: str) -> None:
    assert told in faults(data)[0]


def test_surfaces_whose_keys_cannot_be_are_named() -> None:
    surfaces: dict[str, Any] = {key: {"tools": []} for key in ("", "a/b", "\ud800", "x" * 65)}
    assert len(faults(catalog_json(surfaces=surfaces))) == 4


def test_a_schema_that_nests_too_deep_is_refused_and_the_others_stay() -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(150):
        deep = {"type": "object", "properties": {"x": deep}}
    data = catalog_json(tool_json("deep", input_schema=deep), tool_json("noted", annotations=deep), tool_json("fine"))
    read = read_catalog(data, skip_invalid=True)
    assert [one.name for one in read.catalog.surfaces["reader"].tools] == ["noted", "fine"]
    assert [fault.where for fault in read.refused] == ["reader/deep"]


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("description", "\ud800", "name or description is not valid Unicode"),
        ("input_schema", {"type": "object", "default": "\ud800"}, "the input schema is not JSON"),
        ("input_schema", {"type": "object", "default": 1e999}, "the input schema is not JSON"),
        ("service", "\ud800", "the service is not JSON"),
        ("annotations", {"a": "\ud800"}, "the annotations is not JSON"),
    ],
)
def test_what_no_digest_can_be_made_of_is_refused_by_its_field(field: str, value: Any, told: str) -> None:
    data = catalog_json(tool_json(**{field: value}), tool_json("fine"), tool_json("odd", **{field: value}))
    found = faults(data.replace(b"Infinity", b"1e999"))  # a number that JSON allows and no reader can hold
    assert [(fault.partition(": ")[0], told in fault) for fault in found] == [("reader/a", True), ("reader/odd", True)]


def test_the_digest_of_a_tool_is_made_once_and_is_not_that_of_a_copy_that_was_changed() -> None:
    one = read_catalog(catalog_json(tool_json("a"))).catalog.surfaces["reader"].tools[0]
    assert one.digest is one.digest
    assert one.model_copy().digest == one.digest
    changed = one.model_copy(update={"description": "Does another thing."})
    assert (
        changed.digest
        == read_catalog(catalog_json(tool_json("a", description="Does another thing.")))
        .catalog.surfaces["reader"]
        .tools[0]
        .digest
    )
    assert changed.digest != one.digest
    assert one.model_dump().keys() == {"name", "description", "input_schema", "service", "annotations"}


def test_the_collector_is_left_alone_while_a_catalog_is_read_and_as_it_was_after() -> None:
    for set_to in (gc.enable, gc.disable):
        set_to()
        try:
            before = gc.isenabled()
            with collecting_later():
                assert not gc.isenabled()
            with pytest.raises(CatalogError):
                read_catalog(b"[]")
            assert gc.isenabled() == before
        finally:
            gc.enable()


def test_every_copy_of_a_repeated_name_is_left_out() -> None:
    read = read_catalog(catalog_json(tool_json("a"), tool_json("b"), tool_json("a"), tool_json("a")), skip_invalid=True)
    assert [one.name for one in read.catalog.surfaces["reader"].tools] == ["b"]
    assert read.refused_tools == 3
    assert [str(fault) for fault in read.refused] == ["reader/a: 3 tools have this name; names must be unique"]


def test_an_always_on_tool_cannot_be_skipped() -> None:
    found = faults(catalog_json(tool_json("a b"), tool_json("c"), always_on=["a b"]), skip_invalid=True)
    assert found[0] == "reader/a b: is always on, so it cannot be skipped; mend the tool"
    assert found[1].startswith("reader/a b: the name must match")


def test_a_surface_that_would_lose_every_tool_is_an_error() -> None:
    assert "every tool of this surface is refused" in faults(catalog_json(tool_json("a b")), skip_invalid=True)[0]


def test_a_surface_may_have_no_tools() -> None:
    assert read_catalog(catalog_json()).catalog.surfaces["reader"].tools == ()


def test_no_description_or_schema_reaches_an_error() -> None:
    for odd in (
        tool_json("a b", description=MARKER),
        tool_json("a", description=[MARKER]),
        tool_json("a", description=MARKER, input_schema=MARKER),
        tool_json("a", input_schema={"type": MARKER, "description": MARKER}),
        tool_json("a", description=MARKER + "\ud800"),
        tool_json("a", service=[MARKER]),
    ):
        with pytest.raises(CatalogError) as caught:
            read_catalog(catalog_json(odd))
        assert MARKER not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_deploy_without_a_name_is_named_by_what_it_holds() -> None:
    one, again = (read_catalog(catalog_json(tool_json("a"), deploy=None)).catalog.deploy for _ in range(2))
    assert one == again != read_catalog(catalog_json(tool_json("b"), deploy=None)).catalog.deploy


def test_a_catalog_cannot_be_changed() -> None:
    catalog = read_catalog(catalog_json(tool_json("a"))).catalog
    with pytest.raises(TypeError):
        catalog.surfaces["other"] = catalog.surfaces["reader"]  # type: ignore[index]
    with pytest.raises(ValueError, match="frozen"):
        catalog.surfaces["reader"].tools[0].name = "b"


@pytest.mark.parametrize("data", [b"[]", b"null", b'"x"', b"5", b"{}", b'{"version": 1, "result": {"tools": []}}'])
def test_what_is_no_catalog_is_told_what_a_catalog_is_and_what_makes_one(data: bytes) -> None:
    with pytest.raises(CatalogError, match=r"needs one object with version.*`toolsurface import` makes one"):
        read_catalog(data)
