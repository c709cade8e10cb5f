"""Tools as JSON lines: the rules of the catalog file, and the exception that evaluation needs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.tool_lines import read_tool_lines, tool_lines_as_they_are
from surface.errors import CatalogError
from tests.indexer.samples import json_values


def lines(*tools: Any) -> bytes:
    return b"\n".join(json.dumps(one).encode() for one in tools) + b"\n"


PLAIN = {"name": "a", "description": "Does a thing.", "why": "an extra field"}


def test_server_becomes_the_service_and_absent_parameters_an_empty_object() -> None:
    read = read_tool_lines(
        lines(PLAIN, PLAIN | {"name": "b", "server": "files", "parameters": {"type": "object", "required": []}}),
        application="app",
        surface="reader",
    )
    first, second = read.catalog.surfaces["reader"].tools
    assert (first.service, first.input_schema) == (None, {"type": "object", "properties": {}})
    assert (second.service, second.input_schema) == ("files", {"type": "object", "required": []})


def test_the_deploy_is_named_by_what_it_holds() -> None:
    def named(*tools: Any) -> str:
        return read_tool_lines(lines(*tools), application="app", surface="reader").catalog.deploy

    other = PLAIN | {"name": "b"}
    assert named(PLAIN, other) == named(other, PLAIN) != named(PLAIN)


def test_lines_that_are_no_tools_are_named_by_number_or_name() -> None:
    with pytest.raises(CatalogError) as caught:
        read_tool_lines(
            b'{"name": "a"\n\n' + lines([], {"description": "x"}, PLAIN | {"name": "x y"}), application="?", surface="s"
        )
    assert [fault.where for fault in caught.value.faults] == [
        "application ?",
        "s/line 1",
        "s/line 3",
        "s/line 4.name",
        "s/x y",
    ]


@pytest.mark.parametrize("skip_invalid", [False, True])
def test_lines_that_were_cut_off_are_no_tool_to_skip(*, skip_invalid: bool) -> None:
    cut = lines(PLAIN, PLAIN | {"name": "b"})[:-3]
    with pytest.raises(CatalogError, match="is cut off in line 2"):
        read_tool_lines(cut, application="app", surface="s", skip_invalid=skip_invalid)


@given(st.binary(max_size=60) | st.lists(json_values, max_size=3).map(lambda values: lines(*values)))
def test_any_bytes_give_tools_or_the_one_error(data: bytes) -> None:
    for read in (
        lambda: read_tool_lines(data, application="app", surface="s"),
        lambda: read_tool_lines(data, application="app", surface="s", skip_invalid=True),
        lambda: tool_lines_as_they_are(data),
    ):
        try:
            read()
        except CatalogError as error:
            str(error).encode()


def test_for_evaluation_odd_names_and_schemas_stay_as_they_are() -> None:
    odd = PLAIN | {"name": "get weather /today", "parameters": {"type": ["string", "null"]}}
    (tool,) = tool_lines_as_they_are(lines(odd))
    assert tool.name == "get weather /today"


def test_even_for_evaluation_names_are_unique() -> None:
    with pytest.raises(CatalogError, match="2 tools have this name"):
        tool_lines_as_they_are(lines(PLAIN, PLAIN))


def test_a_file_without_a_tool_is_no_catalog() -> None:
    for data in (b"", b"\n\n"):
        with pytest.raises(CatalogError, match="the file holds no tool"):
            read_tool_lines(data, application="shop", surface="clerk")
