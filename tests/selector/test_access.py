"""Keys, what they grant, and the file they stand in: strict, hashed, and never repeated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selector.access import ANY, EVERYTHING, KEY_BYTES, KEY_PREFIX, Grant, Keyring, Rate, hashed, key_of
from selector.commands.key import KEY
from selector.errors import AccessError
from selector.key_file import parse_key_file
from surface.adapters.command_line import run

KEY_A = key_of(bytes(range(KEY_BYTES)))
KEY_B = key_of(bytes(KEY_BYTES))
ENTRY = f'[[key]]\nid = "web"\nhashes = ["{hashed(KEY_A)}"]\nsurfaces = {{ shop = ["reader"] }}\n'

names = st.sampled_from(["shop", "bank", "reader", "writer", ANY, ""])


def _grant(surfaces: Mapping[str, list[str]]) -> Grant:
    return Grant(id="x", surfaces={key: frozenset(value) for key, value in surfaces.items()})


@pytest.mark.parametrize(
    ("surfaces", "allowed"),
    [
        ({}, set()),
        ({"shop": ["reader"]}, {"shop/reader"}),
        ({"shop": [ANY]}, {"shop/reader", "shop/writer"}),
        ({ANY: ["reader"]}, {"shop/reader", "bank/reader"}),
        ({ANY: [ANY]}, {"shop/reader", "shop/writer", "bank/reader", "bank/writer"}),
        ({"shop": ["writer"], ANY: ["reader"]}, {"shop/reader", "shop/writer", "bank/reader"}),
    ],
)
def test_a_grant_allows_what_it_names_and_nothing_else(surfaces: Mapping[str, list[str]], allowed: set[str]) -> None:
    grant = _grant(surfaces)
    every = [(application, surface) for application in ("shop", "bank") for surface in ("reader", "writer")]
    assert {f"{one}/{two}" for one, two in every if grant.allows(one, two)} == allowed
    assert grant.sees_everything == (len(allowed) == len(every))


@given(st.dictionaries(names, st.lists(names, max_size=3), max_size=3), names, names)
def test_to_name_more_never_allows_less(surfaces: dict[str, list[str]], application: str, surface: str) -> None:
    before = {(one, two) for one in ("shop", "bank") for two in ("reader", "writer")}
    more = {**surfaces, application: [*surfaces.get(application, []), surface]}
    assert all(_grant(more).allows(*pair) for pair in before if _grant(surfaces).allows(*pair))
    assert all(EVERYTHING.allows(*pair) for pair in before)


def test_a_key_is_known_by_its_hash_and_any_other_text_is_nobodys() -> None:
    grant = _grant({"shop": ["reader"]})
    ring = Keyring([(hashed(KEY_A), grant)])
    assert ring.grant_of(KEY_A) is grant
    for text in (KEY_B, "", KEY_A[:-1], KEY_A + "x", KEY_A.upper(), hashed(KEY_A), "\ud800", "x" * 10_000):
        assert ring.grant_of(text) is None


def test_no_key_hashes_to_the_hash_that_stands_for_nobody() -> None:
    # A keyring that held it would let somebody in who has no key.
    assert Keyring([]).grant_of("") is None
    assert hashed(KEY_A) != hashed(KEY_B)


def test_a_key_file_is_read_with_its_surfaces_and_rate_and_two_hashes_while_a_key_changes() -> None:
    text = (
        f'{ENTRY}rate = "100/second"\n[[key]]\nid = "ops"\nhashes = ["{hashed(KEY_B)}"]\nsurfaces = {{ "*" = ["*"] }}'
    )
    ring = parse_key_file(text.encode())
    web, ops = ring.grant_of(KEY_A), ring.grant_of(KEY_B)
    assert web == Grant(id="web", surfaces={"shop": frozenset({"reader"})}, rate=Rate(amount=100, seconds=1))
    assert ops is not None
    assert ops.sees_everything
    both = parse_key_file(ENTRY.replace("]\ns", f', "{hashed(KEY_B)}"]\ns').encode())
    assert both.grant_of(KEY_A) == both.grant_of(KEY_B)
    assert both.grant_of(KEY_A) is not None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "key"),
        ("key = 1", "key"),
        ("[[key]", "TOML at line 1"),
        ("\xff", "UTF-8"),
        (ENTRY + "extra = 1", "key 1: holds a field nobody knows"),
        (ENTRY + ENTRY, "key 2: its id stands twice"),
        (ENTRY + ENTRY.replace("web", "other"), "key 2: hashes: one of them stands twice"),
        (ENTRY.replace("web", "we b"), "key 1: id"),
        (ENTRY.replace(hashed(KEY_A), KEY_A), "key 1: hashes 1: is a key itself"),
        (ENTRY.replace("sha256-v1", "md5"), "key 1: hashes 1"),
        (ENTRY.replace("shop", '"s h"'), "key 1: surfaces"),
        (ENTRY.replace('["reader"]', "[]"), "key 1: surfaces"),
        (ENTRY.replace('["reader"]', '"reader"'), "key 1: surfaces"),
        (ENTRY + 'rate = "fast"', "key 1: rate: needs a number"),
        (ENTRY + 'rate = "0/second"', "key 1: rate: needs a number"),
        ("[[key]]\nid = 1\nhashes = []\nsurfaces = {}", "key 1: id"),
    ],
)
def test_a_wrong_key_file_is_refused_whole_by_its_entry_and_repeats_no_key(text: str, named: str) -> None:
    with pytest.raises(AccessError) as refused:
        parse_key_file(text.encode("latin-1"))
    assert named in str(refused.value)
    assert KEY_A not in str(refused.value)


@pytest.mark.parametrize("content", [b"a = " + b"1" * 5_000, b"a = " + b"[" * 10_000], ids=["digits", "depth"])
def test_what_no_parser_takes_is_an_access_error(content: bytes) -> None:
    with pytest.raises(AccessError, match="is not TOML"):
        parse_key_file(content)


@given(st.binary(max_size=200))
def test_any_bytes_are_keys_or_an_access_error(content: bytes) -> None:
    try:
        parse_key_file(content)
    except AccessError:
        return
    raise AssertionError("random bytes granted something")


@pytest.mark.parametrize("text", ["1/second", "6000/minute", "999999999/hour"])
def test_a_rate_reads_what_it_writes(text: str) -> None:
    assert str(Rate.parse(text)) == text


def _made(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    try:
        code = run([KEY], "toolsurface", ["key", "new", *arguments])
    except SystemExit as left:
        code = int(str(left.code))
    out, err = capsys.readouterr()
    return code, out, err


def test_key_new_shows_the_key_once_and_lines_that_a_key_file_takes(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "--application",
        "shop",
        "--surface",
        "reader",
        "--surface",
        "a.b",
        "--id",
        "web",
        "--rate",
        "5/minute",
    ]
    code, out, _ = _made(*arguments, capsys=capsys)
    key, lines = out.split("\n", 1)
    assert code == 0
    assert key.startswith(KEY_PREFIX)
    assert key not in lines
    grant = parse_key_file(lines.encode()).grant_of(key)
    assert grant == Grant(id="web", surfaces={"shop": frozenset({"reader", "a.b"})}, rate=Rate(amount=5, seconds=60))


def test_key_new_without_surfaces_grants_the_application_and_no_two_keys_are_alike(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made: list[dict[str, Any]] = [
        json.loads(_made("--application", name, "--json", capsys=capsys)[1]) for name in ("shop", "shop", "*")
    ]
    assert made[0]["key"] != made[1]["key"]
    grants = [parse_key_file(each["entry"].encode()).grant_of(each["key"]) for each in made]
    assert [grant and (grant.id, grant.sees_everything) for grant in grants] == [
        ("shop", False),
        ("shop", False),
        ("operator", True),
    ]


@pytest.mark.parametrize(
    "arguments",
    [["--application", "a b"], ["--application", "a", "--surface", ""], ["--application", "a", "--id", "é"],
     ["--application", "a", "--rate", "much"], []],
)  # fmt: skip
def test_key_new_names_the_argument_that_is_wrong(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _made(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert (arguments[-2:-1] or ["--application"])[0] in err
