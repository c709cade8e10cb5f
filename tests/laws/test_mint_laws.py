"""Laws of fitting a receipt under its ceiling (SRC-4)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surface.mint import ELLIPSIS, fitted
from surface.receipt import Match, Receipt, ReceiptSigner, Status, parse_receipt, smallest_receipt_bytes
from tests.strategies import LAW, receipts, texts
from tests.surface.shop import SIGNER

SIGNERS = st.sampled_from([None, SIGNER])


@st.composite
def unfitted(draw: st.DrawFn) -> tuple[Receipt, dict[str, str]]:
    """A receipt as the search makes it, with the descriptions of what it selects."""
    receipt = draw(receipts().filter(lambda drawn: drawn.status is Status.SELECTED or draw(st.booleans())))
    blank = replace(receipt, matches=(), truncated=False, next="What to do next.")
    return blank, {name: draw(texts | texts.map(lambda text: text * 20)) for name in receipt.selected}


def fit(
    drawn: tuple[Receipt, dict[str, str]], max_bytes: int, signer: ReceiptSigner | None
) -> tuple[Receipt, dict[str, str]]:
    receipt, descriptions = drawn
    return fitted(receipt, descriptions, max_bytes=max_bytes, signer=signer, call_id="call-1"), descriptions


@pytest.mark.rule("SRC-4")
@LAW
@given(drawn=unfitted(), over=st.integers(0, 3_000), signer=SIGNERS)
def test_a_fitted_receipt_never_exceeds_its_ceiling_and_can_be_read_again(
    drawn: tuple[Receipt, dict[str, str]], over: int, signer: ReceiptSigner | None
) -> None:
    max_bytes = smallest_receipt_bytes(signed=signer is not None) + over
    made, _ = fit(drawn, max_bytes, signer)
    assert made.size() <= max_bytes
    assert parse_receipt(made.to_json()) == made
    assert signer is None or signer.verify(made, "call-1")


@pytest.mark.rule("SRC-4")
@LAW
@given(drawn=unfitted(), max_bytes=st.integers(300, 4_000), signer=SIGNERS)
def test_names_stay_until_nothing_is_left_to_cut(
    drawn: tuple[Receipt, dict[str, str]], max_bytes: int, signer: ReceiptSigner | None
) -> None:
    receipt = drawn[0]
    made, descriptions = fit(drawn, max_bytes, signer)
    kept = len(made.selected)
    assert made.selected == receipt.selected[:kept]
    assert made.digests == receipt.digests[:kept]
    bare = receipt if signer is None else signer.sign(receipt, "call-1")
    assert kept == len(receipt.selected) or (kept > 0 and bare.size() > max_bytes)
    assert [match.name for match in made.matches] == list(made.selected[: len(made.matches)])
    for match in made.matches:
        whole = descriptions[match.name]
        cut = match.description.removesuffix(ELLIPSIS)
        assert match.description in (whole, "") or (match.description == cut + ELLIPSIS and whole.startswith(cut))
    lost = [Match(name=name, description=descriptions[name]) for name in receipt.selected] != list(made.matches)
    assert made.truncated is lost


@pytest.mark.rule("SRC-4")
@LAW
@given(drawn=unfitted(), over=st.integers(0, 8), signer=SIGNERS)
def test_what_fits_whole_stays_whole(
    drawn: tuple[Receipt, dict[str, str]], over: int, signer: ReceiptSigner | None
) -> None:
    whole, _ = fit(drawn, 1_000_000, signer)
    assert not whole.truncated
    assert fit(drawn, whole.size() + over, signer)[0] == whole
