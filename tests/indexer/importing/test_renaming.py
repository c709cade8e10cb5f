"""New names, where they were asked for: valid, one tool's alone, the same every time."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.importing.candidate import Candidate
from indexer.importing.renaming import rename
from indexer.importing.report import import_json, import_lines
from tests.indexer.importing.samples import imported, mcp_tool, refusals


def candidate(name: str, *, description: str = "", service: str | None = None, fixed: bool = False) -> Candidate:
    return Candidate(
        where=f"f: {name}",
        name=name,
        description=description,
        input_schema={"type": "object"},
        service=service,
        fixed=fixed,
    )


def names(*candidates: Candidate) -> list[str]:
    return [one.name for one in rename(candidates)[0]]


def test_nothing_is_renamed_unless_it_was_asked_for() -> None:
    assert refusals([mcp_tool("repos/get")]) == [
        "tools.json: tools[0] repos/get: the name must match [A-Za-z0-9_.-]{1,128}; rename the tool, or say --rename"
    ]
    read = imported([mcp_tool("repos/get")], rename_tools=True)
    assert [(one.where, one.old, one.new) for one in read.renamed] == [
        ("tools.json: tools[0] repos/get", "repos/get", "repos_get")
    ]


def test_valid_names_stay_and_others_lose_what_no_provider_carries() -> None:
    assert names(candidate("a.b"), candidate("repos/get one!"), candidate("ü.x"), candidate("x" * 128)) == [
        "a.b",
        "repos_get_one",
        "x",
        "x" * 128,
    ]


def test_tools_of_one_name_get_their_service_in_front() -> None:
    assert names(candidate("s", service="git hub"), candidate("s", service="slack"), candidate("t")) == [
        "git_hub_s",
        "slack_s",
        "t",
    ]


def test_what_an_application_exported_keeps_its_name_and_the_other_one_yields() -> None:
    assert names(candidate("s", fixed=True), candidate("s", service="slack"), candidate("a/b"), candidate("a_b")) == [
        "s",
        "slack_s",
        "a_b_" + names(candidate("a/b"), candidate("a_b"))[0][-8:],
        "a_b",
    ]


def test_tools_that_differ_in_nothing_are_refused() -> None:
    told = refusals([mcp_tool(), mcp_tool()], rename_tools=True)
    assert [one.partition("; ")[2] for one in told] == ["they are the same in everything; keep one"] * 2


def test_a_name_without_a_single_good_character_is_refused() -> None:
    assert len(refusals([mcp_tool("文件")], rename_tools=True)) == 1


def test_services_are_mended_too_and_the_report_says_so() -> None:
    servers = {"my server": {"tools": [mcp_tool()]}, "文件": {"tools": [mcp_tool("open")]}, "plain": {"tools": []}}
    result = imported(servers, rename_tools=True)
    assert {tool.service for tool in next(iter(result.catalog.surfaces.values())).tools} == {"my_server", None}
    assert import_json(result, written=None)["renamed_services"] == {"my server": "my_server", "文件": None}
    lines = import_lines(result, written=None)
    assert lines[lines.index("renamed:") + 1 :][:2] == ["  - service my server → my_server", "  - service 文件 → none"]
    told = refusals({"my server": {"tools": [mcp_tool()]}})[0]
    assert "the service my server needs 1-64 of A-Z a-z 0-9 _ . -; say --rename, or" in told


drawn = st.lists(
    st.builds(
        candidate,
        st.sampled_from(["a", "a_b", "a/b", "a b", "s_a", "ü", "", "a" * 129, "b" * 64 + "/" + "c" * 80]),
        description=st.sampled_from(["", "one", "two"]),
        service=st.none() | st.sampled_from(["s", "s t"]),
    ),
    max_size=8,
)


@settings(max_examples=50)
@given(drawn, st.randoms(use_true_random=False))
def test_new_names_do_not_depend_on_the_order_and_fit_every_provider(tools: list[Candidate], random: Any) -> None:
    renamed = dict(zip(map(id, tools), names(*tools), strict=True))
    shuffled = random.sample(tools, len(tools))
    assert dict(zip(map(id, shuffled), names(*shuffled), strict=True)) == renamed
    for one in tools:
        new = renamed[id(one)]
        assert new == one.name or re.fullmatch(r"[A-Za-z0-9_-]{0,64}", new)


@settings(max_examples=50)
@given(drawn)
def test_only_tools_that_are_the_same_share_a_name_afterwards(tools: list[Candidate]) -> None:
    kept, _ = rename(tools)
    seen: dict[str, set[tuple[Any, ...]]] = {}
    for old, new in zip(tools, kept, strict=True):
        if new.name:
            seen.setdefault(new.name, set()).add((old.name, old.description, new.service))
    assert all(len(same) == 1 for same in seen.values())
