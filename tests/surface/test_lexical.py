"""The lexical rule: which words a text has, and how they score."""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import log
from typing import Any

import pytest

from surface.lexical import (
    FIELDS,
    K1,
    ToolText,
    best_first,
    build_postings,
    query_words,
    score,
    tool_text,
    words,
)


def text(name: str, description: str = "", parameters: str = "", service: str = "") -> ToolText:
    return ToolText(name=name, description=description, parameters=parameters, service=service)


def ranked(texts: list[ToolText], query: str) -> list[str]:
    postings = build_postings(texts)
    names = [each.name for each in texts]
    return [name for name, _ in best_first(names, score(postings, query_words(query)), len(texts))]


def parameters_of(schema: Mapping[str, Any] | None) -> list[str]:
    return tool_text(name="x", description="", input_schema=schema, service=None).parameters.split()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("list_open_invoices", ["list", "open", "invoice"]),
        ("listOpenInvoices", ["list", "open", "invoice", "listopeninvoice"]),
        ("HTTPServer2", ["http", "server", "2", "httpserver2"]),
        ("s3.getObject", ["s", "3", "s3", "get", "object", "getobject"]),
        ("the list of an invoice", ["list", "invoice"]),
        ("Cities cities CITY", ["city", "city", "city"]),
        ("boxes glasses buses status bus dies", ["boxe", "glasse", "buse", "status", "bus", "dy"]),
        ("Ｆｕｌｌ　ｗｉｄｔｈ", ["full", "width"]),  # noqa: RUF001 - what is folded
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("列出文件", ["列出", "出文", "文件"]),
        ("列", ["列"]),
        ("ВыставитьСчёт", ["выставить", "счёт", "выставитьсчёт"]),
        ("", []),
        ("?! -- …", []),
        ("\ud800 half", ["half"]),
        ("to do: what?", []),
    ],
)
def test_the_words_of_a_text(written: str, expected: list[str]) -> None:
    assert words(written) == expected


def test_a_query_counts_each_word_once_in_the_order_it_first_stands() -> None:
    assert query_words("send invoices, then SEND the invoice to Ann") == ("send", "invoice", "then", "ann")


def test_parameters_are_the_names_descriptions_and_enums_of_a_schema_from_the_outside_in() -> None:
    schema = {
        "description": "of-the-whole",
        "properties": {
            "city": {"type": "string", "description": "where"},
            "units": {"enum": ["metric", 3, None, "imperial"]},
            "stops": {"items": {"properties": {"street": {}}}},
            "either": {"anyOf": [{"description": "one"}, {"description": "two"}]},
            "any": {"additionalProperties": {"properties": {"free": {}}}},
            "ref": {"$ref": "#/$defs/Part"},
            "odd": True,
        },
        "$defs": {"Part": {"properties": {"size": {}}}},
    }
    found = parameters_of(schema)
    assert found[:7] == ["city", "units", "stops", "either", "any", "ref", "odd"]
    assert set(found[7:]) == {"where", "metric", "imperial", "street", "one", "two", "free", "size"}
    assert parameters_of(None) == []
    assert parameters_of({"properties": [], "enum": "text", "anyOf": "text", "$defs": 3, "description": 4}) == []


def test_the_words_of_a_huge_schema_stop_counting() -> None:
    deep: dict[str, Any] = {}
    for level in range(5_000):
        deep = {"properties": {f"level{level}": deep}}
    assert len(parameters_of(deep)) < 500


def test_a_score_is_the_sum_of_the_impacts_that_the_rule_gives() -> None:
    texts = [text("send", "send mail"), text("list", "mail")]
    scores = score(build_postings(texts), ("send", "mail"))
    name, description = FIELDS["name"], FIELDS["description"]
    norm = 1 - description.b + description.b * 2 / 1.5
    send = name.weight + description.weight / norm
    idf = log(1 + (2 - 1 + 0.5) / 1.5)
    mail, mail_idf = description.weight / norm, log(1 + 0.5 / 2.5)
    expected = idf * send * (K1 + 1) / (K1 + send) + mail_idf * mail * (K1 + 1) / (K1 + mail)
    assert scores[0] == pytest.approx(expected)
    assert scores[0] > scores[1] > 0


def test_a_word_counts_most_in_the_name_then_in_the_description_the_service_and_the_parameters() -> None:
    fields = ("name", "description", "service", "parameters")
    texts = [ToolText(**{each: "invoice" if each == field else f"other{each}" for each in fields}) for field in fields]
    scores = score(build_postings(texts), ("invoice",))
    assert sorted(scores, key=lambda row: -scores[row]) == [0, 1, 2, 3]
    assert len(set(scores.values())) == 4


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    texts = [text(f"t{number}", "common" + (" rare" if number == 7 else "")) for number in range(9)]
    postings = build_postings(texts)
    assert score(postings, ("rare",))[7] > score(postings, ("common",))[1]


def test_a_long_description_is_held_against_a_tool() -> None:
    assert ranked([text("a", "mail " + "word " * 50), text("b", "mail word")], "mail") == ["b", "a"]


@pytest.mark.rule("CAT-3")
def test_equal_scores_stand_in_the_order_of_names() -> None:
    texts = [text(name, "mail") for name in ("c", "a", "b")]
    assert ranked(texts, "mail") == ["a", "b", "c"]


def test_only_tools_that_hold_a_word_of_the_query_are_ranked() -> None:
    texts = [text("a", "mail"), text("b", "file")]
    assert ranked(texts, "mail") == ["a"]
    assert ranked(texts, "weather") == ranked(texts, "") == ranked([], "mail") == []


def test_best_first_gives_no_more_than_was_asked_for() -> None:
    assert best_first(["a", "b", "c"], {0: 1.0, 1: 3.0, 2: 2.0}, 2) == [("b", 3.0), ("c", 2.0)]
    assert best_first(["a"], {0: 1.0}, 0) == []


@pytest.mark.parametrize("odd", ["x" * 200_000, "aA" * 100_000, "列" * 200_000, "a1" * 100_000, "\ufdfa" * 20_000])
def test_words_of_a_hostile_text_are_found_in_linear_time(odd: str) -> None:
    started = time.process_time()
    assert words(odd)
    assert time.process_time() - started < 2
