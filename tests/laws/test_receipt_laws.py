"""Laws of receipts: total parsing, one text, signatures that cover everything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surface.canonical import canonical_json
from surface.receipt import Receipt, ReceiptSigner, Rejection, SigningKey, parse_receipt
from tests.strategies import LAW, call_ids, hostile_texts, receipts

SECRETS = st.binary(min_size=16, max_size=64)


@pytest.mark.rule("RCP-2")
@LAW
@given(text=hostile_texts)
def test_any_text_gives_a_receipt_or_a_reason_and_never_an_exception(text: str) -> None:
    read = parse_receipt(text)
    if isinstance(read, Receipt):
        assert parse_receipt(read.to_json()) == read
        assert canonical_json(json.loads(text)) == read.to_json()
    else:
        assert read is Rejection.MALFORMED


@pytest.mark.rule("RCP-2", "RCP-6", "SRC-6")
@LAW
@given(receipt=receipts())
def test_every_valid_receipt_survives_its_own_text_byte_for_byte(receipt: Receipt) -> None:
    text = receipt.to_json()
    read = parse_receipt(text)
    assert read == receipt
    assert isinstance(read, Receipt)
    assert read.to_json() == text == canonical_json(json.loads(text))
    assert receipt.size() == len(text.encode())


@pytest.mark.rule("RCP-6")
@LAW
@given(
    receipt=receipts(),
    form=st.sampled_from([{"indent": 2}, {"ensure_ascii": True}, {"ensure_ascii": False}]),
    data=st.data(),
)
def test_whitespace_escapes_and_the_order_of_keys_are_not_content(
    receipt: Receipt, form: dict[str, Any], data: st.DataObject
) -> None:
    shuffled = dict(data.draw(st.permutations(list(receipt.to_dict().items()))))
    assert parse_receipt(json.dumps(shuffled, **form)) == receipt


@pytest.mark.rule("RCP-2")
@LAW
@given(receipt=receipts(), extra=st.text(min_size=1, max_size=20), value=st.none() | st.integers() | st.text())
def test_a_field_that_nobody_knows_makes_it_malformed(receipt: Receipt, extra: str, value: Any) -> None:
    fields = receipt.to_dict()
    if extra not in ("reason", "signature") and extra not in fields:
        assert parse_receipt(json.dumps(fields | {extra: value})) is Rejection.MALFORMED


@pytest.mark.rule("RCP-5")
@LAW
@given(receipt=receipts(), call_id=call_ids, secrets=st.lists(SECRETS, min_size=1, max_size=3, unique=True))
def test_what_was_signed_for_a_call_is_genuine_with_any_signer_that_still_holds_the_key(
    receipt: Receipt, call_id: str, secrets: list[bytes]
) -> None:
    key_ring = [SigningKey(id=f"key-{number}", secret=secret) for number, secret in enumerate(secrets)]
    for first in key_ring:
        signed = ReceiptSigner([first]).sign(receipt, call_id)
        assert parse_receipt(signed.to_json()) == signed
        assert ReceiptSigner(key_ring).verify(signed, call_id)
        others = [key for key in key_ring if key is not first]
        assert not (others and ReceiptSigner(others).verify(signed, call_id))


@pytest.mark.rule("RCP-5")
@LAW
@given(receipt=receipts(), other=receipts(), call_id=call_ids, other_call=call_ids)
def test_a_signature_is_good_for_nothing_but_its_receipt_and_call(
    receipt: Receipt, other: Receipt, call_id: str, other_call: str
) -> None:
    signer = ReceiptSigner([SigningKey(id="key", secret=b"sixteen bytes or more")])
    signed = signer.sign(receipt, call_id)
    assert signer.verify(signed, other_call) is (call_id == other_call)
    moved = Receipt(**{name: getattr(other, name) for name in other.__slots__} | {"signature": signed.signature})
    assert signer.verify(moved, call_id) is (receipt == other)
