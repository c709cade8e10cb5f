"""What ranking reads of a tool is short, bounded, and follows from the tool alone."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.catalog_file import CatalogTool
from indexer.document import document_of, documents_of
from surface.identity import catalog_digest, tool_digest
from tests.indexer.samples import tool, tools


def test_the_text_is_the_name_in_words_the_description_and_the_parameters() -> None:
    schema = {"type": "object", "properties": {"repoName": {"type": "string"}, "issue_number": {"type": "integer"}}}
    document = document_of(tool("mcp__github__closeIssue", "Closes an  issue.\nFor good.", input_schema=schema))
    assert document.text == "mcp github close Issue\nCloses an issue. For good.\nrepo Name, issue number"


def test_a_long_description_is_cut_after_a_sentence() -> None:
    document = document_of(tool("a", "One sentence of some length that says what it does. " * 20))
    body = document.text.split("\n")[1]
    assert 120 < len(body) <= 240
    assert body.endswith("does.")


def test_a_long_description_without_sentences_is_cut_between_words() -> None:
    body = document_of(tool("a", "word " * 500)).text.split("\n")[1]
    assert 200 < len(body) <= 240
    assert set(body.split()) == {"word"}


def test_dense_scripts_are_cut_sooner_because_each_sign_is_a_token() -> None:
    assert len(document_of(tool("a", "文件" * 500)).text) <= 62


def test_parameters_behind_a_reference_are_read() -> None:
    schema = {"$ref": "#/$defs/Node", "$defs": {"Node": {"type": "object", "properties": {"child": {}}}}}
    assert document_of(tool("a", "", input_schema=schema)).text == "a\nchild"


@given(st.text(max_size=3000), st.dictionaries(st.text(max_size=200), st.none(), max_size=100))
def test_the_text_is_short_whatever_the_author_wrote(description: str, properties: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": properties}
    one = tool("n" * 128, "", input_schema=schema)
    assert len(document_of(one.model_copy(update={"description": description})).text) <= 128 + 240 + 80 + 2


def test_schemas_that_refer_to_themselves_end() -> None:
    schema = {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}
    assert document_of(tool("a", "", input_schema=schema)).text == "a"


@settings(max_examples=50)
@given(tools, st.randoms(use_true_random=False))
def test_the_order_of_the_tools_does_not_matter(given_tools: list[CatalogTool], order: random.Random) -> None:
    shuffled = list(given_tools)
    order.shuffle(shuffled)
    documents = documents_of(given_tools)
    assert documents_of(shuffled) == documents
    assert [document.name for document in documents] == sorted(one.name for one in given_tools)


def test_the_digest_is_the_one_a_surface_takes() -> None:
    one = tool("a", "Does it.", service="files")
    expected = tool_digest(name="a", description="Does it.", input_schema=one.input_schema, service="files")
    assert document_of(one).digest == expected
    assert catalog_digest([expected]) == catalog_digest(document.digest for document in documents_of([one]))


def test_equal_texts_have_one_text_digest_whatever_the_tools_digest() -> None:
    one, other = document_of(tool("a_b", "Does it.")), document_of(tool("a-b", "Does it."))
    assert one.text_digest == other.text_digest
    assert one.digest != other.digest
