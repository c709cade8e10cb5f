"""What `lint` finds: text checks by cases and laws, likeness by vectors, shadows through real rankers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.catalog_file import CatalogTool
from selector.__main__ import COMMANDS
from selector.commands import lint as lint_command
from selector.lint import Code, Finding, groups, lint_texts
from selector.lint_likeness import lint_likeness
from selector.lint_report import MEANS
from selector.lint_shadows import lint_shadows
from surface.adapters.command_line import run
from surface.testing import ScriptedRanker
from tests.indexer.embedders import Listening
from tests.selector.builders import TOOLS
from tests.strategies import LAW


def _tool(name: str, description: str = "Does something of its own", schema: Mapping[str, Any] | None = None) -> Any:
    return CatalogTool(name=name, description=description, input_schema=dict(schema or {"type": "object"}))


def _found(tools: Sequence[CatalogTool], code: Code) -> list[tuple[str, ...]]:
    return [finding.tools for finding in lint_texts(tools) if finding.code is code]


@pytest.mark.parametrize("description", ["", "   ", "…", "\n-\n"])
def test_a_description_without_a_letter_or_digit_is_none(description: str) -> None:
    assert _found([_tool("invoice_list", description)], Code.NO_DESCRIPTION) == [("invoice_list",)]
    assert _found([_tool("invoice_list", description)], Code.REPEATS_NAME) == []


@pytest.mark.parametrize(
    "description",
    ["Invoice list.", "Lists the invoices", "The tool to list invoices", "TODO", "list_invoices", "of the"],
)
def test_a_description_that_says_no_more_than_the_name_is_found(description: str) -> None:
    assert _found([_tool("list_invoices", description)], Code.REPEATS_NAME) == [("list_invoices",)]


@pytest.mark.parametrize("description", ["Lists overdue invoices", "請求書", "Lists invoices of 2024"])
def test_a_description_that_says_more_is_not(description: str) -> None:
    assert _found([_tool("list_invoices", description)], Code.REPEATS_NAME) == []


def test_a_description_counts_as_shared_whatever_its_blanks_and_case() -> None:
    tools = [
        _tool("b", "Send the mail"),
        _tool("a", " send\nthe MAIL "),
        _tool("c", "Send a mail"),
        _tool("d", ""),
        _tool("e", ""),
    ]
    assert _found(tools, Code.SHARED_DESCRIPTION) == [("a", "b")]


def test_parameters_without_a_description_are_named_and_those_that_a_definition_describes_are_not() -> None:
    schema = {
        "type": "object",
        "properties": {
            "to": {"type": "string", "description": "Who gets it"},
            "text": {"type": "string", "description": " "},
            "at": {"$ref": "#/$defs/Moment"},
            "flag": True,
        },
        "$defs": {"Moment": {"type": "string", "description": "A moment in time"}},
    }
    (finding,) = [
        each for each in lint_texts([_tool("send", schema=schema)]) if each.code is Code.UNDOCUMENTED_PARAMETERS
    ]
    assert finding == Finding(
        code=Code.UNDOCUMENTED_PARAMETERS, tools=("send",), detail={"parameters": ["text", "flag"], "of": 4}
    )


def test_names_that_differ_by_one_character_or_by_case_stand_together() -> None:
    names = ["get_user", "set_user", "get_users", "GET_USER", "delete_user", "get__user", "abx", "xab"]
    assert _found([_tool(name) for name in names], Code.SIMILAR_NAMES) == [
        ("GET_USER", "get__user", "get_user", "get_users", "set_user")
    ]


@LAW
@given(st.sets(st.text("abAB", min_size=1, max_size=4), max_size=8))
def test_similar_names_are_exactly_those_one_edit_apart(names: set[str]) -> None:
    def near(first: str, second: str) -> bool:
        a, b = sorted((first.casefold(), second.casefold()), key=len)
        replaced = len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) <= 1
        return replaced or any(b[:at] + b[at + 1 :] == a for at in range(len(b)))

    pairs = [(first, second) for first in names for second in names if first < second and near(first, second)]
    assert _found([_tool(name) for name in names], Code.SIMILAR_NAMES) == groups(names, pairs)


@LAW
@given(st.permutations(list(TOOLS)))
def test_the_order_of_tools_changes_no_finding(names: list[str]) -> None:
    tools = {name: _tool(name, TOOLS[name] if len(name) % 2 else "") for name in names}
    assert list(lint_texts([tools[name] for name in names])) == list(
        lint_texts([tools[name] for name in sorted(names)])
    )


def test_tools_are_indistinguishable_where_both_vector_and_words_nearly_agree() -> None:
    tools = [
        _tool("send_mail", "Send a mail to a person"),
        _tool("mail_send", "Sends mail to a person"),
        _tool("weather"),
    ]
    near = np.array([[1.0, 0.0], [0.96, 0.28], [0.0, 1.0]], dtype=np.float32)
    assert [finding.tools for finding in lint_likeness(tools, near)] == [("mail_send", "send_mail")]
    far = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], dtype=np.float32)
    assert list(lint_likeness(tools, far)) == []
    other_words = [_tool("send_mail", "Send a mail"), _tool("mail_delete", "Delete a mail"), _tool("weather")]
    assert list(lint_likeness(other_words, near)) == []


def test_likeness_is_seen_across_the_blocks_that_are_compared_at_once() -> None:
    count = 1_500
    drawn = np.random.default_rng(1).normal(size=(count, 32)).astype(np.float32)
    drawn[-1] = drawn[0]
    vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    tools = [_tool(f"alone_{at}", f"word{at} thing{at} other{at}") for at in range(count)]
    assert list(lint_likeness(tools, vectors)) == []
    text = "Sends one and the same friendly mail to every person on the list"
    tools[0], tools[-1] = _tool("twin_a", text), _tool("a_twin", text)
    assert [finding.tools for finding in lint_likeness(tools, vectors)] == [("a_twin", "twin_a")]


def test_many_copies_of_one_tool_are_one_group() -> None:
    text = (
        "Send one long and friendly mail about any kind of business matter to every single person on this mailing list"
    )
    tools = [_tool(f"send_{at:02}", text) for at in range(60)]
    (finding,) = lint_likeness(tools, np.full((60, 4), 0.5, dtype=np.float32))
    assert finding.tools == tuple(tool.name for tool in tools)


@pytest.mark.parametrize("count", [0, 1])
def test_there_is_nothing_like_a_single_tool(count: int) -> None:
    assert list(lint_likeness([_tool("send")] * count, np.ones((count, 1), dtype=np.float32))) == []


async def test_a_tool_that_its_own_description_does_not_find_first_is_shadowed() -> None:
    tools = [_tool("mail_send", "Send a mail. To whom you like."), _tool("note", "Write it down")]
    answers = {
        "Send a mail. To whom you like.": ["mail_post", "mail_send"],
        "Send a mail.": ["mail_send"],
        "mail send": ["mail_send"],
        "Write it down": ["note"],
    }
    ranker = ScriptedRanker(answers=answers)
    assert await lint_shadows(tools, ranker) == [
        Finding(code=Code.SHADOWED, tools=("mail_send",), detail={"by": "mail_post", "place": 2})
    ]
    assert [request.query for request in ranker.requests].count("note") == 0


async def test_a_tool_that_the_same_other_one_always_precedes_is_behind_it() -> None:
    tool = _tool("mail_send", "Send a mail. To whom you like.")
    answers = {
        "Send a mail. To whom you like.": ["x", "mail_post"],
        "Send a mail.": ["mail_post", "mail_send"],
        "mail send": ["y", "mail_post", "mail_send"],
    }
    assert await lint_shadows([tool], ScriptedRanker(answers=answers)) == [
        Finding(code=Code.ALWAYS_BEHIND, tools=("mail_send",), detail={"by": "mail_post"})
    ]


async def test_a_tool_that_finds_nothing_is_shadowed_by_none() -> None:
    assert await lint_shadows([_tool("mail_send", "Send it")], ScriptedRanker(answers={})) == [
        Finding(code=Code.SHADOWED, tools=("mail_send",), detail={"by": None, "place": None})
    ]
    assert await lint_shadows([_tool("_", "")], ScriptedRanker(answers={})) == []


def test_every_code_is_explained() -> None:
    assert set(MEANS) == set(Code)
    page = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text(encoding="utf-8")
    assert [code for code in Code if f"`{code}`" not in page] == []


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    path = tmp_path / "tools.jsonl"
    odd = {
        "file_erase": "s3cret Delete a file from the disk",
        "file_move": "",
        "file_moves": "s3cret moving of folders",
    }
    lines = [{"name": name, "description": text} for name, text in (dict(TOOLS) | odd).items()]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def _lint(*arguments: object) -> int:
    return run(COMMANDS, "selector", ["lint", *map(str, arguments)])


@pytest.mark.rule("EVD-2")
def test_lint_reports_names_and_no_description(catalog: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _lint(catalog) == 0
    shown = capsys.readouterr()
    assert "catalog: 11 tools" in shown.out
    assert "no_description (1): the description says nothing\n  file_move" in shown.out
    assert "similar_names (1)" in shown.out
    assert "s3cret" not in shown.out + shown.err


def test_lint_as_json_counts_every_check_and_a_cache_changes_nothing(
    catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = []
    for _ in range(2):
        assert _lint(catalog, "--json", "--cache", tmp_path / "cache") == 0
        reports.append(json.loads(capsys.readouterr().out))
    assert reports[0] == reports[1]
    assert reports[0]["checks"] == list(Code)
    assert reports[0]["counts"]["no_description"] == 1
    (surface,) = reports[0]["surfaces"]
    assert {"code": "no_description", "tools": ["file_move"]} in surface["findings"]


def test_lint_embeds_with_the_model_it_is_told(
    catalog: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _lint(catalog, "--model", "org/none") == 1
    assert "pip install 'toolsurface[sentence-transformers]'" in capsys.readouterr().err
    embedder = Listening()
    # Only a model of torch could be named here; `tests/with_torch` names one.
    monkeypatch.setattr(lint_command, "chosen_embedder", lambda *_, **__: embedder)
    assert _lint(catalog, "--model", "./hashing") == 0
    assert len(embedder.asked) == 11


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--fail-on", "no_description"), 1, "lint: failed on no_description (1)"),
        (("--fail-on", "any", "--only", "similar_names"), 1, "lint: failed on similar_names (1)"),
        (("--fail-on", "shared_description"), 0, ""),
        (("--only", "shared_description"), 0, ""),
    ],
)
def test_lint_fails_on_what_it_is_told_to(
    catalog: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], code: int, said: str
) -> None:
    text_checks = () if "--only" in options else ("--only", "no_description,similar_names,shared_description")
    assert _lint(catalog, *text_checks, *options) == code
    assert said in capsys.readouterr().err


def test_lint_looks_at_each_surface_of_an_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tool = {"name": "file_delete", "description": "", "input_schema": {"type": "object"}}
    export = {"version": 1, "application": "shop", "surfaces": {"a": {"tools": [tool]}, "b": {"tools": []}}}
    path = tmp_path / "shop.json"
    path.write_text(json.dumps(export))
    texts = ("--only", "no_description")
    assert _lint(path, *texts, "--json") == 0
    assert [one["surface"] for one in json.loads(capsys.readouterr().out)["surfaces"]] == ["a", "b"]
    assert _lint(path, *texts, "--surface", "a", "--show", 1) == 0
    assert "b: " not in capsys.readouterr().out
    assert _lint(path, "--surface", "c") == 1
    assert "it has: a, b" in capsys.readouterr().err


def test_lint_names_what_it_cannot_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _lint(tmp_path / "nowhere.jsonl") == 1
    assert "CATALOG" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        _lint(tmp_path, "--only", "nope")
    assert ended.value.code == 2
    assert "or any" in capsys.readouterr().err
