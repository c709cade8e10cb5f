"""Canonical JSON: one text for one value."""

from __future__ import annotations

import pytest

from surface.canonical import DIGEST_LENGTH, canonical_bytes, canonical_json, digest


@pytest.mark.rule("CAT-5")
def test_canonical_json_sorts_keys_at_every_depth_and_holds_no_space() -> None:
    assert canonical_json({"b": [1, {"d": None, "c": True}], "a": "x y"}) == '{"a":"x y","b":[1,{"c":true,"d":null}]}'


@pytest.mark.rule("CAT-5")
def test_canonical_bytes_are_utf_8_and_not_escapes() -> None:
    assert canonical_bytes("é€😀") == '"é€😀"'.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_json_has_no_number_for_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": [number]})


def test_a_lone_surrogate_has_no_canonical_bytes() -> None:
    with pytest.raises(UnicodeEncodeError):
        canonical_bytes("\ud800")


def test_a_digest_is_the_first_half_of_sha_256_over_the_canonical_bytes() -> None:
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e"  # sha256("{}") = 44136fa3…9e94fb4f…
    assert len(digest("anything")) == DIGEST_LENGTH
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 3})
