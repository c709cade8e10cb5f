"""A ledger's bytes: whatever happened to them is found, and who looks often parses them once."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore

from indexer import sealed_ledger
from indexer.adapters.directory_store import DirectoryStore
from indexer.adapters.object_store import placed_in
from indexer.deploy import deploy
from indexer.errors import ArtefactError
from indexer.ledger import Ledger, empty_ledger
from indexer.ports import ArtefactStore
from indexer.release import Release
from indexer.sealed_ledger import ActiveReleases, LastLedger, read_kept_ledger, read_ledger, sealed
from surface.canonical import canonical_bytes, digest
from tests.indexer.samples import EMBEDDER, NOW, artefact, catalog, json_values, release, tool
from tests.strategies import LAW

ONE, OTHER = artefact("a"), artefact("b")


def filled() -> Ledger:
    ledger = empty_ledger("app")
    for each in (ONE, OTHER):
        active = ledger.active
        ledger = ledger.published(each.manifest, at=NOW)
        ledger = ledger.activated(release(each), expected=active.id if active else None, at=NOW)
    return ledger


WHOLE = sealed(filled())
PLAIN: dict[str, Any] = json.loads(WHOLE)["ledger"]


def sealing(body: bytes) -> bytes:
    """What a hostile writer can make: any body under a right checksum."""
    return b'{"checksum":"%s","format":2,"ledger":%s}' % (sha256(body).hexdigest()[:32].encode(), body)


def test_a_ledger_survives_its_bytes_which_are_canonical_json() -> None:
    assert read_ledger(WHOLE, application="app") == filled()
    assert read_ledger(sealed(empty_ledger("app")), application="app") == empty_ledger("app")
    assert canonical_bytes(json.loads(WHOLE)) == WHOLE == sealing(canonical_bytes(PLAIN))


def test_any_changed_bit_of_any_byte_is_found() -> None:
    for at, byte in enumerate(WHOLE):
        for bit in range(8):
            with pytest.raises(ArtefactError, match=r"^ledger: "):
                read_ledger(WHOLE[:at] + bytes([byte ^ (1 << bit)]) + WHOLE[at + 1 :], application="app")


def test_any_byte_that_is_lost_or_added_and_any_cut_is_found() -> None:
    for at in range(len(WHOLE) + 1):
        for other in (WHOLE[:at] + b" " + WHOLE[at:], WHOLE[:at] + WHOLE[at + 1 :], WHOLE[:at]):
            if other != WHOLE:
                with pytest.raises(ArtefactError, match=r"^ledger: "):
                    read_ledger(other, application="app")


def test_what_has_no_checksum_is_refused_and_not_taken_for_an_earlier_ledger() -> None:
    earlier = PLAIN | {"format": 1}
    values: list[Any] = [
        {},
        [],
        None,
        PLAIN,
        {"application": "app"},
        earlier,
        earlier | {"checksum": digest(earlier)},
        earlier | {"checksum": digest(earlier)},
        {"format": 2, "ledger": PLAIN},
        {"checksum": None, "format": 2, "ledger": PLAIN},
        {"checksum": "", "format": 2, "ledger": PLAIN},
    ]
    for value in values:
        with pytest.raises(ArtefactError, match="damaged, or an earlier version's"):
            read_ledger(canonical_bytes(value), application="app")
    for written in (json.dumps(json.loads(WHOLE)).encode(), b"\xef\xbb\xbf" + WHOLE, WHOLE + b"\n", b""):
        with pytest.raises(ArtefactError, match="damaged, or an earlier version's"):
            read_ledger(written, application="app")


def test_a_later_format_is_called_so() -> None:
    with pytest.raises(ArtefactError, match=r"written by another version of toolsurface \(its format is 3, read here"):
        read_ledger(WHOLE.replace(b'"format":2', b'"format":3'), application="app")


def test_whoever_cannot_read_a_newer_ledger_is_told_to_use_the_newer_version_before_to_lose_the_history() -> None:
    told = (
        r"^here: ledger: was written by another version .*; use that version here too, or, where there is none, drop it"
    )
    with pytest.raises(ArtefactError, match=told):
        kept(WHOLE.replace(b'"format":2', b'"format":3'))
    with pytest.raises(ArtefactError, match=r"^here: ledger: checksum: .* was changed; drop it and deploy again$"):
        kept(WHOLE[:-1])
    assert kept(WHOLE) == filled()


def kept(data: bytes) -> Ledger:
    return read_kept_ledger(data, application="app", where="here", remedy="drop it")


@LAW
@given(st.sampled_from(sorted(PLAIN)), json_values)
def test_any_json_in_any_field_gives_a_ledger_or_an_artefact_error(field: str, value: Any) -> None:
    try:
        read_ledger(sealing(json.dumps(PLAIN | {field: value}).encode()), application="app")
    except ArtefactError as error:
        str(error).encode()


@LAW
@given(st.binary(max_size=100))
def test_any_bytes_under_a_right_checksum_are_an_artefact_error(body: bytes) -> None:
    with pytest.raises(ArtefactError):
        read_ledger(sealing(body), application="app")


def test_a_ledger_that_contradicts_itself_is_refused() -> None:
    changes: list[dict[str, Any]] = [
        {"application": "other"},
        {"activations": []},
        {"activations": PLAIN["activations"][:1]},
        {"releases": PLAIN["releases"][::-1]},
        {"versions": [one for one in PLAIN["versions"] if one["version"] != OTHER.version]},
        {"format": 1},
    ]
    for changed in changes:
        with pytest.raises(ArtefactError, match="ledger: "):
            read_ledger(sealing(json.dumps(PLAIN | changed).encode()), application="app")


def test_bytes_are_read_again_only_where_they_are_others() -> None:
    known, read = ActiveReleases(), list[str]()

    def reading(data: bytes, application: str) -> Ledger:
        read.append(application)
        return read_ledger(data, application=application)

    def active(data: bytes, application: str = "app") -> Release | None:
        return known.of(application, data, reading)

    assert [active(WHOLE) for _ in range(3)] == [release(OTHER)] * 3
    assert read == ["app"]
    assert active(sealed(empty_ledger("app"))) is None
    assert active(bytes(bytearray(WHOLE))) == release(OTHER)
    assert read == ["app"] * 3
    for _ in range(2):  # damage is found each time, and whole bytes after it are believed
        with pytest.raises(ArtefactError):
            active(WHOLE[:-1])
    assert active(WHOLE) == release(OTHER)
    assert read == ["app"] * 5
    with pytest.raises(ArtefactError, match="application: is another one"):
        active(WHOLE, "other")


def test_the_last_ledger_is_parsed_once_and_not_at_all_by_whoever_wrote_it() -> None:
    last, how = LastLedger(), {"where": "here", "remedy": "delete it"}
    read = last.of(WHOLE, application="app", **how)
    assert read == filled()
    assert last.of(WHOLE, application="app", **how) is read
    written = read.published(artefact("c").manifest, at=NOW)
    last.wrote(written, sealed(written))
    assert last.of(sealed(written), application="app", **how) is written
    assert last.of(WHOLE, application="app", **how) == filled()


def test_other_bytes_than_the_last_ones_and_another_application_s_are_refused_as_ever() -> None:
    last, how = LastLedger(), {"where": "here", "remedy": "delete it"}
    read = last.of(WHOLE, application="app", **how)
    with pytest.raises(ArtefactError, match="checksum"):
        last.of(WHOLE.replace(b'"app"', b'"ape"'), application="app", **how)
    with pytest.raises(ArtefactError, match="application: is another one"):
        last.of(WHOLE, application="other", **how)
    assert last.of(WHOLE, application="app", **how) is read


@pytest.mark.parametrize("kind", ["directory", "placed"])
def test_a_deploy_of_many_surfaces_parses_the_ledger_that_it_found_and_none_of_its_own(
    kind: str, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, parsed = MemoryStore(), list[bytes]()

    def handle() -> ArtefactStore:
        return DirectoryStore(memory) if kind == "directory" else placed_in(bucket, name="s3://bucket")

    def read(data: bytes, *, application: str) -> Ledger:
        parsed.append(data)
        return read_ledger(data, application=application)

    deploy(catalog(old=[tool("a")]), embedder=EMBEDDER, store=handle(), now=lambda: NOW)
    monkeypatch.setattr(sealed_ledger, "read_ledger", read)
    many: dict[str, Any] = {f"surface_{number}": [tool("a")] for number in range(8)}
    deploy(catalog(**many), embedder=EMBEDDER, store=handle(), now=lambda: NOW)
    assert len(parsed) == 1
