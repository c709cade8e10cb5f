"""The receipts in `tests/vectors/receipts.json`: data that an implementation in another language could run.

The file is never regenerated: a receipt of a released version stays readable (RCP-6). New cases are added to it.
"""

from __future__ import annotations

import hmac
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from surface.receipt import Reason, Receipt, ReceiptSigner, Rejection, SigningKey, Status, parse_receipt

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "vectors" / "receipts.json").read_text(encoding="utf-8")
)
KEYS: dict[str, str] = VECTORS["keys"]
SIGNER = ReceiptSigner([SigningKey(id=key_id, secret=secret.encode()) for key_id, secret in KEYS.items()])


def cases(kind: str) -> pytest.MarkDecorator:
    """One test per vector, named by its reason."""
    return pytest.mark.parametrize("vector", VECTORS[kind], ids=lambda vector: vector["why"])


def receipt_of(text: str) -> Receipt:
    read = parse_receipt(text)
    assert isinstance(read, Receipt)
    return read


@pytest.mark.rule("RCP-6", "RCP-2")
@cases("valid")
def test_a_valid_receipt_comes_out_of_the_parser_byte_for_byte(vector: dict[str, str]) -> None:
    assert receipt_of(vector["text"]).to_json() == vector["text"]


@pytest.mark.rule("RCP-5")
@pytest.mark.parametrize(
    "vector", [each for each in VECTORS["valid"] if "key_id" in each], ids=lambda each: each["why"]
)
def test_a_signature_is_the_mac_that_the_file_says_how_to_compute(vector: dict[str, str]) -> None:
    receipt = receipt_of(vector["text"])
    mac = hmac.new(KEYS[vector["key_id"]].encode(), vector["signed_text"].encode(), sha256).hexdigest()
    assert receipt.signature is not None
    assert (receipt.signature.key_id, receipt.signature.mac) == (vector["key_id"], mac)
    signed = json.loads(vector["signed_text"])
    covered = {name: value for name, value in json.loads(vector["text"]).items() if name != "signature"}
    assert signed == {"call_id": vector["call_id"], "key_id": vector["key_id"], "receipt": covered}
    assert SIGNER.verify(receipt, vector["call_id"])


@pytest.mark.rule("RCP-2")
@cases("malformed")
def test_a_malformed_text_is_rejected(vector: dict[str, str]) -> None:
    assert parse_receipt(vector["text"]) is Rejection.MALFORMED


@pytest.mark.rule("RCP-5")
@cases("forged")
def test_a_forged_receipt_is_well_formed_and_not_genuine(vector: dict[str, str]) -> None:
    assert not SIGNER.verify(receipt_of(vector["text"]), vector["call_id"])


@pytest.mark.rule("SRC-6")
def test_the_valid_receipts_show_every_status_and_every_reason() -> None:
    receipts = [receipt_of(each["text"]) for each in VECTORS["valid"]]
    assert {receipt.status for receipt in receipts} == set(Status)
    assert {receipt.reason for receipt in receipts} == {None, *Reason}
