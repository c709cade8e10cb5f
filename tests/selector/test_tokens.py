"""Signed tokens: exactly right ones grant what their claim says, and nothing else does."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from selector.adapters.tokens import LEEWAY, Tokens, parse_public_keys
from selector.errors import AccessError

RSA = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
OTHER = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
KINDS: dict[str, Any] = {
    "RS256": RSA,
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "ES384": ec.generate_private_key(ec.SECP384R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}


def _pem(private: Any) -> bytes:
    pem: bytes = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return pem


def _tokens(file: bytes, issuer: str | None = None) -> Tokens:
    keys = parse_public_keys(file)
    return Tokens(keys=lambda: keys, audience="selector", claim="toolsurface", issuer=issuer)


def _claims(**changed: Any) -> dict[str, Any]:
    claims = {
        "sub": "ada@example.com",
        "aud": "selector",
        "exp": int(time.time()) + 600,
        "toolsurface": {"shop": ["reader"]},
        **changed,
    }
    return {name: value for name, value in claims.items() if value is not None}


def _part(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _by_hand(header: dict[str, Any], sign: Callable[[bytes], bytes]) -> str:
    body = f"{_part(json.dumps(header).encode())}.{_part(json.dumps(_claims()).encode())}"
    return f"{body}.{_part(sign(body.encode()))}"


@pytest.mark.parametrize("algorithm", KINDS)
def test_a_token_of_the_issuers_key_grants_what_its_claim_says(algorithm: str) -> None:
    private = KINDS[algorithm]
    grant = _tokens(_pem(private)).grant_of(jwt.encode(_claims(), private, algorithm=algorithm))
    assert grant is not None
    assert grant.surfaces == {"shop": frozenset({"reader"})}
    assert grant.id.startswith("token-")
    assert "ada" not in grant.id


WRONG: dict[str, Callable[[], str]] = {
    "another key": lambda: jwt.encode(_claims(), OTHER, algorithm="RS256"),
    "another algorithm of the same key": lambda: jwt.encode(_claims(), RSA, algorithm="RS512"),
    "no signature": lambda: _by_hand({"alg": "none"}, lambda body: b""),
    "the public key as a secret": lambda: _by_hand(
        {"alg": "HS256", "typ": "JWT"}, lambda body: hmac.digest(_pem(RSA), body, hashlib.sha256)
    ),
    "another key under a key id": lambda: jwt.encode(_claims(), OTHER, algorithm="RS256", headers={"kid": "x"}),
    "a key of its own": lambda: jwt.encode(
        _claims(), OTHER, algorithm="RS256", headers={"jwk": json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(OTHER))}
    ),
    "another audience": lambda: jwt.encode(_claims(aud="other"), RSA, algorithm="RS256"),
    "no audience": lambda: jwt.encode(_claims(aud=None), RSA, algorithm="RS256"),
    "too old": lambda: jwt.encode(_claims(exp=int(time.time()) - LEEWAY - 5), RSA, algorithm="RS256"),
    "without an end": lambda: jwt.encode(_claims(exp=None), RSA, algorithm="RS256"),
    "not yet": lambda: jwt.encode(_claims(nbf=int(time.time()) + LEEWAY + 60), RSA, algorithm="RS256"),
    "nobody's": lambda: jwt.encode(_claims(sub=None), RSA, algorithm="RS256"),
    "no claim": lambda: jwt.encode(_claims(toolsurface=None), RSA, algorithm="RS256"),
    "an empty claim": lambda: jwt.encode(_claims(toolsurface={}), RSA, algorithm="RS256"),
    "a claim that is no map": lambda: jwt.encode(_claims(toolsurface=["*"]), RSA, algorithm="RS256"),
    "a claim of words": lambda: jwt.encode(_claims(toolsurface={"shop": "reader"}), RSA, algorithm="RS256"),
    "a claim with odd names": lambda: jwt.encode(_claims(toolsurface={"s h": ["reader"]}), RSA, algorithm="RS256"),
    "a key of the file": lambda: "tsk1_" + "A" * 43,
    "cut": lambda: jwt.encode(_claims(), RSA, algorithm="RS256")[:-4],
    "three dots": lambda: "..",
}


@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG)
def test_a_token_that_is_not_exactly_right_grants_nothing(make: Callable[[], str]) -> None:
    assert _tokens(_pem(RSA)).grant_of(make()) is None


@given(st.text(max_size=200) | st.from_regex(r"[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,40}"))
def test_any_text_is_nobodys_and_no_exception(text: str) -> None:
    assert _tokens(_pem(RSA)).grant_of(text) is None


def test_clocks_may_differ_a_little_and_an_issuer_is_held_to_its_name() -> None:
    late = jwt.encode(_claims(exp=int(time.time()) - LEEWAY // 2), RSA, algorithm="RS256")
    assert _tokens(_pem(RSA)).grant_of(late) is not None
    token = jwt.encode(_claims(iss="https://issuer"), RSA, algorithm="RS256")
    assert _tokens(_pem(RSA), "https://issuer").grant_of(token) is not None
    assert _tokens(_pem(RSA), "https://other").grant_of(token) is None


def _jwks(**keys: Any) -> bytes:
    to_jwk = jwt.algorithms.RSAAlgorithm.to_jwk
    return json.dumps(
        {"keys": [{**json.loads(to_jwk(key.public_key())), "kid": kid} for kid, key in keys.items()]}
    ).encode()


def test_a_token_names_its_key_among_several() -> None:
    tokens = _tokens(_jwks(old=OTHER, new=RSA))
    for kid, private in (("old", OTHER), ("new", RSA)):
        assert tokens.grant_of(jwt.encode(_claims(), private, algorithm="RS256", headers={"kid": kid})) is not None
    assert tokens.grant_of(jwt.encode(_claims(), OTHER, algorithm="RS256", headers={"kid": "new"})) is None
    assert tokens.grant_of(jwt.encode(_claims(), RSA, algorithm="RS256")) is None
    assert tokens.grant_of(jwt.encode(_claims(), RSA, algorithm="RS256", headers={"kid": "x"})) is None


@pytest.mark.parametrize("file", ["pem", "jwks"])
@pytest.mark.parametrize("kid", [None, "2026-12"])
def test_one_key_without_an_id_answers_whatever_id_a_token_names(file: str, kid: str | None) -> None:
    jwks = json.dumps({"keys": [json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA.public_key()))]}).encode()
    tokens = _tokens(_pem(RSA) if file == "pem" else jwks)
    headers = None if kid is None else {"kid": kid}
    assert tokens.grant_of(jwt.encode(_claims(), RSA, algorithm="RS256", headers=headers)) is not None


_NOT_FOR_SIGNATURES: dict[str, dict[str, Any]] = {
    "an RSA key to encrypt with": {**json.loads(_jwks(enc=OTHER))["keys"][0], "use": "enc"},
    "P-521": json.loads(jwt.algorithms.ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP521R1()).public_key())),
    "a kind nobody knows": {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AAAA", "kid": "pq"},
    "X25519": {"kty": "OKP", "crv": "X25519", "x": "3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08"},
    "a symmetric key": {"kty": "oct", "k": "c2VjcmV0", "kid": "s"},
}


@pytest.mark.parametrize("other", _NOT_FOR_SIGNATURES.values(), ids=_NOT_FOR_SIGNATURES)
def test_a_key_that_is_not_for_our_signatures_is_left_out_of_a_jwks(other: dict[str, Any]) -> None:
    keys = json.loads(_jwks(a=RSA))["keys"]
    assert parse_public_keys(json.dumps({"keys": [other, *keys]}).encode()).keys() == {"a"}
    with pytest.raises(AccessError, match="no key for signatures"):
        parse_public_keys(json.dumps({"keys": [other]}).encode())


SMALL = rsa.generate_private_key(public_exponent=65_537, key_size=1_024)  # noqa: S505 - to be refused


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"-----BEGIN PUBLIC KEY-----",
        b"{}",
        b'{"keys": []}',
        b'{"keys": [1]}',
        b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}',
        json.dumps({"keys": [json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA))]}).encode(),
        _jwks(a=RSA)[:-2] + b", " + _jwks(a=RSA)[10:],
        _pem(SMALL),
        _pem(ec.generate_private_key(ec.SECP521R1())),
        b"[" * 10_000,
        b'{"keys":' + b"[" * 10_000,
    ],
    ids=range(12),
)
def test_a_file_without_public_keys_that_will_do_is_refused(content: bytes) -> None:
    with pytest.raises(AccessError):
        parse_public_keys(content)
