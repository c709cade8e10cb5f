"""Names of surfaces, applications and runs are checked where they enter ("Words")."""

from __future__ import annotations

import pytest

from surface.errors import ConfigurationError
from surface.identity import catalog_digest, is_key, is_tool_name, require_key, require_run_id

ODD = ["", "a b", "a/b", "a\n", "\na", "é", "a\x00", "\ud800", "a:b", "١"]  # noqa: RUF001 - an Arabic digit


@pytest.mark.parametrize("key", ["a", "A.b_c-9", "x" * 64])
def test_a_key_of_up_to_64_letters_digits_and_three_marks_is_taken_as_it_is(key: str) -> None:
    assert require_key("surface", key) == key


@pytest.mark.parametrize("key", [*ODD, "x" * 65])
def test_any_other_key_is_refused_naming_the_field_and_not_the_key(key: str) -> None:
    assert not is_key(key)
    with pytest.raises(ConfigurationError, match=r"^surface: needs 1-64 characters of A-Z a-z 0-9 _ \. -$"):
        require_key("surface", key)


@pytest.mark.rule("CAT-2")
@pytest.mark.parametrize("name", [*ODD, "x" * 129])
def test_a_tool_name_outside_the_alphabet_or_too_long_is_none(name: str) -> None:
    assert not is_tool_name(name)


@pytest.mark.parametrize("run_id", ["r", " ", "~", 'a "quoted\\ id', "x" * 256])
def test_a_run_id_of_up_to_256_printable_ascii_bytes_is_taken_as_it_is(run_id: str) -> None:
    assert require_run_id(run_id) == run_id


@pytest.mark.parametrize("run_id", ["", "x" * 257, "a\n", "\t", "é", "\x7f", "\ud800"])
def test_any_other_run_id_is_refused(run_id: str) -> None:
    with pytest.raises(ConfigurationError, match="run_id: needs 1-256 bytes of printable ASCII"):
        require_run_id(run_id)


@pytest.mark.rule("CAT-3", "CAT-4")
def test_a_catalog_digest_covers_every_tool_digest_in_whatever_order() -> None:
    assert catalog_digest(["b", "a", "c"]) == catalog_digest(["a", "b", "c"])
    assert len({catalog_digest(each) for each in ([], ["a"], ["a", "a"], ["a", "b"], ["a", "c"])}) == 5
