"""YAML as the JSON value it stands for, and what a hostile file cannot do."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.importing.yaml_document import MAX_YAML_DEPTH, NotYamlError, parse_yaml

letters = st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | letters,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(letters.filter("<<".__ne__), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_json_is_yaml_that_stands_for_the_same_value(value: object) -> None:
    assert parse_yaml(json.dumps(value).encode()) == value


@given(st.binary(max_size=80) | st.text(alphabet="-:{}[]&*!|>?#,'\"\n abc12.~", max_size=40).map(str.encode))
def test_any_bytes_give_a_value_or_the_one_error(data: bytes) -> None:
    try:
        json.dumps(parse_yaml(data))
    except NotYamlError as error:
        assert str(error)  # noqa: PT017 - the other outcome is a value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[no, on, Yes, y]", ["no", "on", "Yes", "y"]),
        ("[true, False, ~, null, '']", [True, False, None, None, ""]),
        ("[2024-05-01, 12:30:45, 1_000]", ["2024-05-01", "12:30:45", "1_000"]),
        ("[0o17, 0x1F, -3, +4, 012]", [15, 31, -3, 4, 12]),
        ("[1.5, 1e3, .5, 3.1.0, '3.1']", [1.5, 1000.0, 0.5, "3.1.0", "3.1"]),
        ("{200: ok, true: yes, ~: none}", {"200": "ok", "true": "yes", "~": "none"}),
        ("a: |\n  two\n  lines\nb: >-\n  one\n  line\n", {"a": "two\nlines\n", "b": "one line"}),
        ("a: &x [1]\nb: *x\n", {"a": [1], "b": [1]}),
        ("\ufeffa: !!str 1", {"a": "1"}),
        ("", None),
    ],
)
def test_scalars_follow_the_core_schema_of_yaml_1_2(text: str, value: object) -> None:
    assert parse_yaml(text.encode()) == value


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(12)
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (BOMB, "each alias counted as what it means"),
        ("a: &a [*a]", "an alias stands before or inside what it means"),
        ("a: *b", "an alias stands before or inside what it means"),
        ("[" * 100_000, "not YAML|nests deeper"),
        ("".join(f"{' ' * n}a:\n" for n in range(MAX_YAML_DEPTH + 2)), f"nests deeper than {MAX_YAML_DEPTH}"),
        ("- " * 3_000 + "x", f"nests deeper than {MAX_YAML_DEPTH}"),
        ("a: 1\nb: 2\na: 3\n", "line 3: a mapping holds the key a twice"),
        ("base: &b {x: 1}\nc: {<<: *b}\n", "line 2: merge keys"),
        ("a: !!python/object/apply:os.system ['true']", "line 1: a tag asks for a type"),
        ("a: !!binary aGk=", "a tag asks for a type"),
        ("? [1, 2]\n: x\n", "a key is no text"),
        ("a: .inf", "a number is no finite one"),
        ("a: 1e999", "a number is no finite one"),
        ("a: 1\n---\nb: 2\n", "a second document"),
        ("a: [", "not YAML at line"),
    ],
)
def test_what_is_not_one_json_value_is_refused_in_one_message(text: str, told: str) -> None:
    with pytest.raises(NotYamlError, match=told) as caught:
        parse_yaml(text.encode())
    assert caught.value.__cause__ is None
