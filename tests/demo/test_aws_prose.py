"""HTML documentation as plain sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.aws_prose import first_sentence, plain_sentences


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>Lists <code>buckets</code>.</p>", "Lists buckets."),
        ("<p>One.</p><p>Two.</p>", "One. Two."),
        ("<p>wrapped\n   lines &amp; entities &lt;b&gt;</p>", "wrapped lines & entities <b>"),
        ("<p>See <a href='x'>the guide</a>.</p>", "See the guide."),
        ("<note><p>Not for everyone.</p></note><p>Lists things.</p>", "Lists things."),
        ("<note><p>Only this note.</p></note>", "Only this note."),
        (
            "<p>Reads it.</p><p>The following operations are related to <code>Get</code>:</p><ul><li>Put</li></ul>",
            "Reads it.",
        ),
        ("", ""),
        ("<p></p>", ""),
        ("no tags, no end", "no tags, no end"),
        ("<p>Unclosed <b>tags", "Unclosed tags"),
        ("<p>Use it e.g. In tests. Then stop.</p>", "Use it e.g. In tests. Then stop."),
    ],
)
def test_only_the_text_is_left(html: str, text: str) -> None:
    assert plain_sentences(html, 600) == text


def test_a_text_is_cut_at_the_end_of_a_sentence() -> None:
    assert plain_sentences("<p>First one. Second one. Third one.</p>", 24) == "First one. Second one."


def test_an_announced_list_that_does_not_fit_is_not_announced() -> None:
    html = "<p>Does it.</p><p>Choose one:</p><ul><li>a very long first choice</li></ul>"
    assert plain_sentences(html, 30) == "Does it."


def test_only_a_first_sentence_that_is_too_long_is_cut_between_words() -> None:
    assert plain_sentences("<p>This sentence, however, never ends</p>", 20) == "This sentence…"
    assert first_sentence("<p>This sentence, however, never ends</p>", 20) == "This sentence…"


def test_the_first_sentence_is_the_first_sentence() -> None:
    assert first_sentence("<p>The name, e.g. Foo. It must be unique.</p>", 160) == "The name, e.g. Foo."
    assert first_sentence("", 160) == ""


@given(html=st.text(alphabet="ab .<>/&;p\n\"'=!-?", max_size=300), limit=st.integers(min_value=2, max_value=40))
def test_any_text_gives_folded_text_within_the_limit(html: str, limit: int) -> None:
    for text in (plain_sentences(html, limit), first_sentence(html, limit)):
        assert len(text) <= limit
        assert text == " ".join(text.split())
