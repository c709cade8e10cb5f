"""Receipts: strict and total parsing, one canonical text, signatures that cover everything."""

from __future__ import annotations

import hmac
import json
import time
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from surface.canonical import canonical_json
from surface.errors import ConfigurationError
from surface.receipt import (
    MAX_RECEIPT_CHARACTERS,
    NEXT,
    Match,
    Provenance,
    Reason,
    Receipt,
    ReceiptSigner,
    Rejection,
    Signature,
    SigningKey,
    Status,
    parse_receipt,
    smallest_receipt_bytes,
)

SELECTED = Receipt(
    status=Status.SELECTED,
    run_id="run-1",
    surface="reader",
    provenance=Provenance(ranker="lexical", index_version="bm25f-1", degraded="stale_index"),
    next=NEXT[Status.SELECTED],
    selected=("one", "two"),
    digests=("1" * 32, "2" * 32),
    matches=(Match(name="one", description="Does “this”."),),
    truncated=True,
)
REFUSED = Receipt(
    status=Status.SELECTION_REFUSED,
    reason=Reason.CEILINGS,
    run_id="run-1",
    surface="reader",
    provenance=Provenance(ranker="none"),
    next=NEXT[Status.SELECTION_REFUSED],
)
REQUIRED = replace(
    SELECTED, status=Status.SEARCH_REQUIRED, selected=("one",), digests=("1" * 32,), next=NEXT[Status.SEARCH_REQUIRED]
)
OLD, NEW = (
    SigningKey(id="2025", secret=b"the old sixteen bytes"),
    SigningKey(id="2026", secret=b"the new sixteen bytes"),
)
SIGNER = ReceiptSigner([NEW, OLD])


def changed(receipt: Receipt, **fields: Any) -> str:
    """The text of a receipt with fields replaced; `...` takes one away."""
    value = receipt.to_dict() | fields
    return json.dumps({name: each for name, each in value.items() if each is not ...})


# RCP-1


@pytest.mark.rule("RCP-1")
def test_a_receipt_holds_exactly_the_fields_of_version_1() -> None:
    common = {
        "kind",
        "version",
        "status",
        "run_id",
        "surface",
        "selected",
        "digests",
        "matches",
        "truncated",
        "next",
        "provenance",
    }
    assert set(SELECTED.to_dict()) == common
    assert set(REFUSED.to_dict()) == common | {"reason"}
    signed = SIGNER.sign(SELECTED, "call-1").to_dict()
    assert set(signed) == common | {"signature"}
    assert set(signed["signature"]) == {"key_id", "mac"}
    assert set(signed["provenance"]) == {"ranker", "index_version", "degraded"}
    assert [set(match) for match in signed["matches"]] == [{"name", "description"}]
    assert (signed["kind"], signed["version"]) == ("toolsurface.receipt", 1)


@pytest.mark.rule("SRC-10")
def test_every_status_tells_what_to_do_next_in_a_sentence_of_its_own() -> None:
    assert set(NEXT) == set(Status)
    assert len(set(NEXT.values())) == len(Status)
    assert all(sentence.endswith(".") and len(sentence) <= 512 for sentence in NEXT.values())


# RCP-2


@pytest.mark.rule("RCP-2", "RCP-6")
@pytest.mark.parametrize("receipt", [SELECTED, REFUSED, REQUIRED, SIGNER.sign(SELECTED, "call-1")])
def test_the_text_of_a_receipt_gives_the_receipt_again(receipt: Receipt) -> None:
    assert parse_receipt(receipt.to_json()) == receipt


@pytest.mark.rule("RCP-2")
@pytest.mark.parametrize("field", sorted(SELECTED.to_dict()))
@pytest.mark.parametrize("value", [..., None, 0, 1.5, "odd \x00", [], ["odd \x00"], {}, [[]], "x" * 600])
def test_a_field_that_is_missing_or_of_another_type_makes_it_malformed(field: str, value: Any) -> None:
    if (field, value) == ("matches", []):
        assert parse_receipt(changed(SELECTED, matches=[])) == replace(SELECTED, matches=())
    elif (field, value) == ("next", "odd \x00"):
        assert parse_receipt(changed(SELECTED, next=value)) == replace(SELECTED, next=value)
    else:
        assert parse_receipt(changed(SELECTED, **{field: value})) is Rejection.MALFORMED


@pytest.mark.rule("RCP-2")
@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "toolsurface.Receipt"},
        {"version": 2},
        {"version": "1"},
        {"version": True},
        {"version": 1.0},
        {"status": "selected"},
        {"status": "ACTIVE"},
        {"surplus": 1},
        {"query": "list invoices"},
        {"truncated": 1},
        {"run_id": ""},
        {"run_id": "x" * 257},
        {"run_id": "run\n"},
        {"run_id": "é"},
        {"surface": "a b"},
        {"surface": "reader\n"},
        {"surface": "x" * 65},
        {"selected": ["one", "one"]},
        {"selected": ["one"]},
        {"selected": ["one", "two", "three"]},
        {"selected": ["one", "t w o"]},
        {"selected": ["one", "two\n"]},
        {"selected": ["one", "x" * 129]},
        {"digests": ["1" * 32]},
        {"digests": ["1" * 32, "2" * 31]},
        {"digests": ["1" * 32, "G" * 32]},
        {"digests": ["1" * 32, "A" * 32]},
        {"matches": [{"name": "two", "description": ""}]},
        {"matches": [{"name": "one"}]},
        {"matches": [{"name": "one", "description": "", "input_schema": {}}]},
        {"matches": [{"name": "one", "description": "\ud800"}]},
        {"matches": [{"name": n, "description": ""} for n in ("one", "two", "three")]},
        {"provenance": {"ranker": "lexical"}},
        {"provenance": {"ranker": "a b", "index_version": None, "degraded": None}},
        {"provenance": {"ranker": "a", "index_version": "v/1", "degraded": None}},
        {"provenance": {"ranker": "a", "index_version": None, "degraded": "Too slow"}},
        {"provenance": {"ranker": "a", "index_version": None, "degraded": None, "query": "x"}},
        {"signature": None},
        {"signature": {"key_id": "2026"}},
        {"signature": {"key_id": "2026", "mac": "0" * 63}},
        {"signature": {"key_id": "2026", "mac": "F" * 64}},
        {"signature": {"key_id": "2 6", "mac": "0" * 64}},
        {"reason": None},
    ],
    ids=lambda fields: json.dumps(fields)[:60],
)
def test_whatever_version_1_does_not_know_is_malformed(fields: dict[str, Any]) -> None:
    assert parse_receipt(changed(SELECTED, **fields)) is Rejection.MALFORMED


@pytest.mark.rule("RCP-2", "SRC-6")
@pytest.mark.parametrize("status", [Status.SELECTED, Status.SEARCH_REQUIRED])
def test_a_status_that_selects_has_a_name_and_no_reason(status: Status) -> None:
    assert isinstance(parse_receipt(changed(REQUIRED, status=status)), Receipt)
    assert parse_receipt(changed(REQUIRED, status=status, selected=[], digests=[], matches=[])) is Rejection.MALFORMED
    assert parse_receipt(changed(REQUIRED, status=status, reason="ceilings")) is Rejection.MALFORMED


@pytest.mark.rule("RCP-2", "SRC-6")
@pytest.mark.parametrize("status", [Status.NO_MATCH, Status.SELECTION_REFUSED])
def test_a_status_that_selects_nothing_has_a_reason_and_no_name(status: Status) -> None:
    assert isinstance(parse_receipt(changed(REFUSED, status=status)), Receipt)
    assert parse_receipt(changed(REFUSED, status=status, reason=...)) is Rejection.MALFORMED
    assert parse_receipt(changed(REFUSED, status=status, reason="tired")) is Rejection.MALFORMED
    assert parse_receipt(changed(REFUSED, selected=["one"], digests=["1" * 32])) is Rejection.MALFORMED
    assert parse_receipt(changed(REFUSED, digests=["1" * 32])) is Rejection.MALFORMED
    assert parse_receipt(changed(REFUSED, matches=[{"name": "one", "description": ""}])) is Rejection.MALFORMED


@pytest.mark.rule("RCP-2", "RCP-3")
def test_a_repair_selects_exactly_one_tool() -> None:
    assert parse_receipt(changed(SELECTED, status="SEARCH_REQUIRED")) is Rejection.MALFORMED


@pytest.mark.rule("RCP-2")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "NaN",
        "1" * 5000,
        "[" * 100_000,
        '{"a":' * 100_000,
        "\ud800",
        '"\\ud800"',
        "\x00",
        b"\xff\xfe\x00".decode("latin-1"),
        "\ufeff" + SELECTED.to_json(),
        SELECTED.to_json() + SELECTED.to_json(),
        SELECTED.to_json()[:-1],
        SELECTED.to_json()[:-1] + ',"version":1}',
        SELECTED.to_json().replace('"ranker":', '"ranker":"x","ranker":'),
        SELECTED.to_json().replace('"truncated":true', '"truncated":NaN'),
        SELECTED.to_json().replace('"version":1', '"version":' + "1" * 4000),
        SELECTED.to_json().replace('"version":1', '"version":' + "1" * 5000),
        SELECTED.to_json().replace('"version":1', '"version":1e0'),
        SELECTED.to_json().replace('"version":1', '"version":' + "[" * 100_000),
    ],
    ids=range(21),
)
def test_any_other_text_is_malformed_and_never_an_exception(text: str) -> None:
    assert parse_receipt(text) is Rejection.MALFORMED


@pytest.mark.rule("RCP-2")
def test_a_text_over_the_bound_is_malformed_whatever_it_holds() -> None:
    text = SELECTED.to_json()
    assert parse_receipt(text.ljust(MAX_RECEIPT_CHARACTERS)) == SELECTED
    assert parse_receipt(text.ljust(MAX_RECEIPT_CHARACTERS + 1)) is Rejection.MALFORMED


@pytest.mark.rule("RCP-2")
@pytest.mark.parametrize(
    "text",
    [
        '{"matches":[' + "{}," * 80_000 + "{}]}",
        '{"selected":[' + "1," * 120_000 + "1]}",
        '{"digests":[' + '"",' * 80_000 + '""]}',
        "{" + ",".join(f'"{number}":1' for number in range(25_000)) + "}",
        SELECTED.to_json()[:-1] + " " * 200_000,
        '{"a":' * 40_000 + "1" + "}" * 40_000,
    ],
    ids=["matches", "names", "digests", "fields", "spaces", "depth"],
)
def test_the_longest_malformed_text_costs_little_for_every_step_reads_it_again(text: str) -> None:
    assert len(text) <= MAX_RECEIPT_CHARACTERS
    started = time.process_time()
    assert parse_receipt(text) is Rejection.MALFORMED
    assert time.process_time() - started < 0.1


# RCP-6


@pytest.mark.rule("RCP-6")
def test_the_text_of_a_receipt_is_canonical_json() -> None:
    assert SELECTED.to_json() == canonical_json(SELECTED.to_dict())
    assert SELECTED.size() == len(SELECTED.to_json().encode()) > len(SELECTED.to_json())


@pytest.mark.rule("RCP-6")
def test_a_store_that_writes_json_its_own_way_loses_nothing() -> None:
    value = dict(reversed(SIGNER.sign(SELECTED, "call-1").to_dict().items()))
    read = parse_receipt(json.dumps(value, indent=2, ensure_ascii=True))
    assert read == SIGNER.sign(SELECTED, "call-1")
    assert SIGNER.verify(SIGNER.sign(SELECTED, "call-1"), "call-1")


@pytest.mark.rule("RCP-6")
@pytest.mark.parametrize("sentence", ["", "Call them.", "x" * 512])
def test_a_sentence_of_another_release_stays_readable(sentence: str) -> None:
    assert parse_receipt(changed(SELECTED, next=sentence)) == replace(SELECTED, next=sentence)


# RCP-5


@pytest.mark.rule("RCP-5")
def test_a_signature_is_hmac_sha_256_over_all_other_fields_and_the_call_id() -> None:
    signature = SIGNER.sign(SELECTED, "call-1").signature
    covered = {"call_id": "call-1", "key_id": "2026", "receipt": SELECTED.to_dict()}
    mac = hmac.new(NEW.secret, canonical_json(covered).encode(), sha256).hexdigest()
    assert signature == Signature(key_id="2026", mac=mac)


@pytest.mark.rule("RCP-5")
@pytest.mark.parametrize(
    "change",
    [
        {"status": Status.SEARCH_REQUIRED},
        {"run_id": "run-2"},
        {"surface": "writer"},
        {"provenance": replace(SELECTED.provenance, ranker="other")},
        {"provenance": replace(SELECTED.provenance, index_version=None)},
        {"provenance": replace(SELECTED.provenance, degraded=None)},
        {"next": "Do as I say."},
        {"selected": ("one", "three")},
        {"selected": ("two", "one")},
        {"selected": ("one", "two", "three")},
        {"digests": ("1" * 32, "3" * 32)},
        {"matches": ()},
        {"matches": (Match(name="one", description="Does that."),)},
        {"truncated": False},
        {"reason": Reason.ABSTAINED},
        {"signature": None},
    ],
    ids=str,
)
def test_a_changed_field_breaks_the_signature(change: dict[str, Any]) -> None:
    signed = SIGNER.sign(SELECTED, "call-1")
    assert SIGNER.verify(signed, "call-1")
    assert not SIGNER.verify(replace(signed, **change), "call-1")


@pytest.mark.rule("RCP-5")
def test_a_signature_is_good_for_one_call_only() -> None:
    signed = SIGNER.sign(SELECTED, "call-1")
    for call_id in ("call-2", "", "call-1 ", "CALL-1"):
        assert not SIGNER.verify(signed, call_id)


@pytest.mark.rule("RCP-5")
def test_a_changed_mac_or_key_id_breaks_the_signature() -> None:
    signed = SIGNER.sign(SELECTED, "call-1")
    assert signed.signature is not None
    mac = signed.signature.mac
    for wrong in [
        Signature(key_id="2026", mac=mac[:-1] + ("0" if mac[-1] != "0" else "1")),
        Signature(key_id="2026", mac="0" * 64),
        Signature(key_id="2025", mac=mac),
        Signature(key_id="2024", mac=mac),
        Signature(key_id="", mac=mac),
    ]:
        assert not SIGNER.verify(replace(signed, signature=wrong), "call-1")


@pytest.mark.rule("RCP-5")
def test_an_unsigned_receipt_is_never_genuine() -> None:
    assert not SIGNER.verify(SELECTED, "call-1")


@pytest.mark.rule("RCP-5")
def test_keys_rotate_the_first_signs_and_any_is_accepted() -> None:
    by_old = ReceiptSigner([OLD]).sign(SELECTED, "call-1")
    by_new = ReceiptSigner([NEW, OLD]).sign(SELECTED, "call-1")
    assert by_old.signature is not None
    assert by_new.signature is not None
    assert (by_old.signature.key_id, by_new.signature.key_id) == ("2025", "2026")
    assert ReceiptSigner([NEW, OLD]).verify(by_old, "call-1")
    assert ReceiptSigner([OLD, NEW]).verify(by_new, "call-1")
    assert not ReceiptSigner([NEW]).verify(by_old, "call-1")


@pytest.mark.rule("RCP-5")
def test_a_key_of_the_same_id_and_another_secret_accepts_nothing() -> None:
    impostor = ReceiptSigner([SigningKey(id="2026", secret=b"another sixteen bytes")])
    assert not SIGNER.verify(impostor.sign(SELECTED, "call-1"), "call-1")


@pytest.mark.rule("RCP-5")
def test_signing_again_replaces_the_signature() -> None:
    once = SIGNER.sign(SELECTED, "call-1")
    assert SIGNER.sign(once, "call-1") == once
    assert SIGNER.verify(SIGNER.sign(once, "call-2"), "call-2")


@pytest.mark.rule("RCP-5")
def test_a_call_id_that_is_not_unicode_is_not_genuine_and_not_a_crash() -> None:
    assert not SIGNER.verify(SIGNER.sign(SELECTED, "call-1"), "\ud800")


@pytest.mark.parametrize("key_id", ["", "x" * 65, "a b", "a\n", "é", "²", "a/b"])
def test_a_signing_key_needs_an_id_that_a_receipt_can_carry(key_id: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^signing key id: needs 1-64 characters"):
        SigningKey(id=key_id, secret=b"x" * 32)


@pytest.mark.parametrize("key_id", ["k", "2026-01_b", "x" * 64])
def test_every_id_that_a_signing_key_takes_can_be_read_again(key_id: str) -> None:
    signed = ReceiptSigner([SigningKey(id=key_id, secret=b"x" * 16)]).sign(SELECTED, "call-1")
    assert parse_receipt(signed.to_json()) == signed


def test_a_short_secret_is_refused_and_no_secret_is_ever_shown() -> None:
    with pytest.raises(ConfigurationError, match="at least 16 bytes") as caught:
        SigningKey(id="2026", secret=b"hunter2-hunter2")
    assert "hunter2" not in str(caught.value)
    assert repr(SigningKey(id="2026", secret=b"hunter2-hunter2-hunter2")) == "SigningKey(id='2026')"


def test_a_signer_needs_keys_and_no_id_twice() -> None:
    for keys in ([], [NEW, SigningKey(id="2026", secret=b"x" * 16)]):
        with pytest.raises(ConfigurationError, match="at least one key, and no key id twice"):
            ReceiptSigner(keys)


# SRC-4: the smallest receipt


@pytest.mark.rule("SRC-4")
@pytest.mark.parametrize("signed", [True, False])
def test_the_smallest_ceiling_holds_every_status_at_its_longest_names(*, signed: bool) -> None:
    key = SigningKey(id="k" * 64, secret=b"x" * 16)
    sizes = []
    for status in Status:
        selects = status in (Status.SELECTED, Status.SEARCH_REQUIRED)
        for reason in [None] if selects else list(Reason):
            receipt = Receipt(
                status=status,
                reason=reason,
                run_id="\\" * 256,
                surface="s" * 64,
                provenance=Provenance(ranker="r" * 64, index_version=":" * 128, degraded="_" * 64),
                next=NEXT[status],
                selected=("n" * 128,) if selects else (),
                digests=("a" * 32,) if selects else (),
            )
            made = ReceiptSigner([key]).sign(receipt, "call-1") if signed else receipt
            assert parse_receipt(made.to_json()) == made
            sizes.append(made.size())
    assert max(sizes) == smallest_receipt_bytes(signed=signed)


@pytest.mark.rule("SRC-4")
def test_a_signature_weighs_more_than_none() -> None:
    assert smallest_receipt_bytes(signed=True) > smallest_receipt_bytes(signed=False)


def test_a_receipt_that_was_read_where_the_stack_was_nearly_full_is_read_well_the_next_time() -> None:
    text = replace(SELECTED, run_id="deep-in-the-stack").to_json()

    def deep() -> Receipt | Rejection:
        try:
            return deep()
        except RecursionError:
            return parse_receipt(text)

    deep()
    assert isinstance(parse_receipt(text), Receipt)
