"""Laws of the lexical rule: any text has words, and the order of tools is not content."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surface.lexical import (
    _ASCII_CUT,
    ToolText,
    _humps,
    best_first,
    build_postings,
    query_words,
    score,
    tool_text,
    words,
)
from tests.strategies import LAW, any_texts, json_values, tool_names

TEXTS = st.lists(
    st.builds(ToolText, name=tool_names, description=any_texts, parameters=any_texts, service=any_texts),
    max_size=6,
    unique_by=lambda made: made.name,
)


def ranked(texts: list[ToolText], query: str) -> list[tuple[str, float]]:
    names = [made.name for made in texts]
    return best_first(names, score(build_postings(texts), query_words(query)), len(texts))


@LAW
@given(text=any_texts)
def test_any_text_has_words_that_are_neither_empty_nor_in_capitals(text: str) -> None:
    found = words(text)
    assert all(word and word == word.casefold() for word in found)
    assert list(query_words(text)) == list(dict.fromkeys(found))


@LAW
@given(token=st.from_regex(r"[A-Za-z0-9]{1,12}", fullmatch=True))
def test_a_token_of_ascii_is_cut_where_any_script_is(token: str) -> None:
    assert _ASCII_CUT.split(token) == _humps(token)


@pytest.mark.rule("CAT-3")
@LAW
@given(texts=TEXTS, query=any_texts, data=st.data())
def test_the_order_of_tools_changes_no_rank_and_no_score(
    texts: list[ToolText], query: str, data: st.DataObject
) -> None:
    # A word of the catalog makes the query hit something.
    hit = f"{query} {texts[0].name if texts else ''}"
    assert ranked(data.draw(st.permutations(texts)), hit) == ranked(texts, hit)


@LAW
@given(texts=TEXTS)
def test_every_word_of_a_catalog_scores_exactly_the_tools_that_hold_it(texts: list[ToolText]) -> None:
    postings = build_postings(texts)
    assert postings.tools == len(texts)
    held = [
        {word for field in (made.name, made.description, made.parameters, made.service) for word in words(field)}
        for made in texts
    ]
    assert set(postings.rows) == set(postings.impacts) == set().union(*held)
    for word, rows in postings.rows.items():
        assert list(rows) == [row for row, found in enumerate(held) if word in found]
        assert all(impact > 0 for impact in postings.impacts[word])


@LAW
@given(schema=st.dictionaries(st.sampled_from(["properties", "enum", "anyOf", "items", "$defs"]), json_values))
def test_any_schema_has_parameters(schema: dict[str, object]) -> None:
    assert isinstance(tool_text(name="x", description="", input_schema=schema, service=None).parameters, str)
