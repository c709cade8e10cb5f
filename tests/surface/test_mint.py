"""Fitting a receipt under its ceiling: descriptions first, then matches, and a selected name last."""

from __future__ import annotations

import pytest

from surface.mint import ELLIPSIS, fitted
from surface.receipt import NEXT, Match, Provenance, Receipt, ReceiptSigner, Status
from tests.surface.shop import SIGNER

NAMES = ("one", "two", "three")
RECEIPT = Receipt(
    status=Status.SELECTED,
    run_id="run-1",
    surface="reader",
    provenance=Provenance(ranker="lexical"),
    next=NEXT[Status.SELECTED],
    selected=NAMES,
    digests=("1" * 32, "2" * 32, "3" * 32),
)
BARE = RECEIPT.size()


def fit(max_bytes: int, *descriptions: str, signer: ReceiptSigner | None = None) -> Receipt:
    described = dict(zip(NAMES, descriptions or ("",) * 3, strict=True))
    made = fitted(RECEIPT, described, max_bytes=max_bytes, signer=signer, call_id="call-1")
    assert made.size() <= max_bytes
    return made


def shown(receipt: Receipt) -> list[str]:
    return [match.description for match in receipt.matches]


@pytest.mark.rule("SRC-4")
def test_with_room_every_description_is_whole_and_nothing_is_truncated() -> None:
    made = fit(10_000, "First.", "Second.", "Third.")
    assert made.matches == tuple(
        Match(name=name, description=text) for name, text in zip(NAMES, ["First.", "Second.", "Third."], strict=True)
    )
    assert not made.truncated


@pytest.mark.rule("SRC-4")
def test_long_descriptions_are_cut_with_an_ellipsis_and_short_ones_stay_whole() -> None:
    made = fit(BARE + 400, "x" * 1_000, "Short.", "y" * 1_000)
    first, second, third = shown(made)
    assert made.truncated
    assert second == "Short."
    assert first == "x" * (len(first) - 1) + ELLIPSIS
    assert third == "y" * (len(third) - 1) + ELLIPSIS
    assert len(first) == len(third) > 50


@pytest.mark.rule("SRC-4")
@pytest.mark.parametrize("letter", ["ü", "列", "😀", '"', "\n", "\x01"])
def test_a_cut_falls_between_characters_however_many_bytes_they_take(letter: str) -> None:
    for max_bytes in range(BARE + 150, BARE + 180):
        made = fit(max_bytes, letter * 200, letter * 200, letter * 200)
        assert all(set(text) <= {letter, ELLIPSIS} for text in shown(made))
        assert made.to_json().encode()


@pytest.mark.rule("SRC-4")
def test_matches_go_from_the_lowest_rank_when_not_even_empty_descriptions_fit() -> None:
    one_match = len(b'{"description":"","name":"one"},')
    made = fit(BARE + 2 * one_match, "First.", "Second.", "Third.")
    assert [match.name for match in made.matches] == ["one", "two"]
    assert made.selected == NAMES
    assert made.truncated


@pytest.mark.rule("SRC-4")
def test_a_selected_name_goes_only_when_the_receipt_does_not_fit_without_any_match() -> None:
    bare = fit(BARE, "First.", "Second.", "Third.")
    assert (bare.selected, bare.matches, bare.truncated) == (NAMES, (), True)
    less = fit(BARE - 1, "First.", "Second.", "Third.")
    assert (less.selected, less.digests, less.truncated) == (NAMES[:2], RECEIPT.digests[:2], True)


@pytest.mark.rule("SRC-4")
def test_the_last_selected_name_never_goes() -> None:
    made = fitted(RECEIPT, dict.fromkeys(NAMES, ""), max_bytes=10, signer=None, call_id="call-1")
    assert (made.selected, made.matches, made.truncated) == (("one",), (), True)


@pytest.mark.rule("SRC-4")
def test_a_name_that_went_is_told_even_where_every_match_that_is_left_is_whole() -> None:
    long = Receipt(
        status=Status.SELECTED,
        run_id="run-1",
        surface="reader",
        provenance=Provenance(ranker="lexical"),
        next=NEXT[Status.SELECTED],
        selected=("one", "n" * 128),
        digests=("1" * 32, "2" * 32),
    )
    described = {"one": "First.", "n" * 128: "Second."}
    made = fitted(long, described, max_bytes=long.size() - 1, signer=None, call_id="call-1")
    assert made.matches == (Match(name="one", description="First."),)
    assert (made.selected, made.truncated) == (("one",), True)


@pytest.mark.rule("SRC-4", "RCP-5")
def test_the_signature_stands_under_the_ceiling_too_and_covers_what_was_cut() -> None:
    for max_bytes in range(BARE + 120, BARE + 400, 7):
        made = fit(max_bytes, "x" * 500, "y" * 500, "z" * 500, signer=SIGNER)
        assert SIGNER.verify(made, "call-1")


@pytest.mark.rule("SRC-4")
def test_a_receipt_that_selects_nothing_is_left_as_it_is() -> None:
    nothing = Receipt(
        status=Status.NO_MATCH, run_id="r", surface="s", provenance=Provenance(ranker="x"), next=NEXT[Status.NO_MATCH]
    )
    assert fitted(nothing, {}, max_bytes=1_000, signer=None, call_id="call-1") == nothing


@pytest.mark.rule("SRC-4")
def test_a_receipt_that_fits_to_the_byte_is_not_cut() -> None:
    whole = fit(10_000, "First.", "Second.", "Third.")
    assert fit(whole.size(), "First.", "Second.", "Third.") == whole
    assert fit(whole.size() - 1, "First.", "Second.", "Third.").truncated
