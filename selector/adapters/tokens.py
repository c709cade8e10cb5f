"""Signed tokens (JWT) as grants, for those who have an issuer of their own.

Rules kept here:

1. The algorithm follows from the public key and never from the token: RS256 for RSA, ES256/ES384 for the curves P-256
   and P-384, EdDSA for Ed25519. A symmetric key or ``none`` cannot be configured.
2. A token must say its audience, when it expires and who it is for; clocks may differ by `LEEWAY` seconds.
3. What it grants stands in one claim, in the form of a key file's ``surfaces``. Anything else is no grant.
4. A JWKS may hold keys for other uses and of other kinds; they are left out, and at least one must be left.
5. Who it is for is known by a digest: a subject is often a person's address, and ids stand in logs.

Not done here: fetching keys from an issuer; a file is replaced, and read again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from pydantic import TypeAdapter, ValidationError

from selector.access import Grant
from selector.errors import AccessError
from selector.key_file import Surfaces, granted

LEEWAY: Final = 30
"""Seconds that an issuer's clock may differ from ours."""

MAX_FILE_BYTES: Final = 1_048_576

_CURVES: Final = {"secp256r1": "ES256", "secp384r1": "ES384"}
_KINDS: Final = {("RSA", None), ("EC", "P-256"), ("EC", "P-384"), ("OKP", "Ed25519")}
_MIN_RSA_BITS: Final = 2_048
_SURFACES: Final[TypeAdapter[dict[str, list[str]]]] = TypeAdapter(Surfaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """A key with the one algorithm it is used for."""

    algorithm: str
    key: Any
    """RSAPublicKey, EllipticCurvePublicKey or Ed25519PublicKey."""


PublicKeys = Mapping[str | None, PublicKey]
"""By the key id that tokens name; None for a key without one, which alone in a file answers whatever they name."""


class Tokens:
    """Grants of signed tokens."""

    def __init__(self, *, keys: Callable[[], PublicKeys], audience: str, claim: str, issuer: str | None = None) -> None:
        """`keys` is asked for each token, so that they can rotate. `claim`: the one that holds the surfaces."""
        self._keys = keys
        self._audience = audience
        self._claim = claim
        self._issuer = issuer

    def grant_of(self, token: str) -> Grant | None:
        """What a token allows; None for one that is not good now."""
        try:
            named = jwt.get_unverified_header(token).get("kid")
            keys = self._keys()
            key = keys.get(None if keys.keys() == {None} else named)
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm],
                audience=self._audience,
                issuer=self._issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "aud", "sub"]},
            )
            surfaces = _SURFACES.validate_python(claims.get(self._claim), strict=True)
        except (jwt.PyJWTError, ValidationError, ValueError, TypeError, RecursionError, OverflowError):
            return None
        subject = hashlib.sha256(claims["sub"].encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return granted(id=f"token-{subject}", surfaces=surfaces, rate=None)


def parse_public_keys(content: bytes) -> PublicKeys:
    """The keys of a PEM file with one public key, or of a JWKS; AccessError says what is wrong with it."""
    if content.lstrip().startswith(b"{"):
        return _of_jwks(content)
    try:
        return {None: _public(load_pem_public_key(content))}
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise AccessError("is neither a PEM public key nor a JWKS; export the issuer's public key") from None


def _of_jwks(content: bytes) -> PublicKeys:
    try:
        entries = [entry for entry in json.loads(content)["keys"] if _is_for_signatures(entry)]
        found = {entry.get("kid"): _public(jwt.PyJWK.from_dict(entry).key) for entry in entries}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, jwt.PyJWTError):
        raise AccessError("is not a JWKS of public keys; fetch the issuer's again") from None
    if not found:
        raise AccessError("has no key for signatures of RSA, P-256, P-384 or Ed25519; fetch the issuer's again")
    if len(found) != len(entries):
        raise AccessError("has two keys of one kid; fetch the issuer's again")
    return found


def _is_for_signatures(entry: Mapping[str, Any]) -> bool:
    kind = entry.get("kty")
    curve = None if kind == "RSA" else entry.get("crv")
    return entry.get("use", "sig") == "sig" and (kind, curve) in _KINDS


def _public(key: object) -> PublicKey:
    if isinstance(key, RSAPublicKey):
        if key.key_size < _MIN_RSA_BITS:
            raise AccessError(f"its RSA key is shorter than {_MIN_RSA_BITS} bits; use a longer one")
        return PublicKey(algorithm="RS256", key=key)
    if isinstance(key, EllipticCurvePublicKey) and key.curve.name in _CURVES:
        return PublicKey(algorithm=_CURVES[key.curve.name], key=key)
    if isinstance(key, Ed25519PublicKey):
        return PublicKey(algorithm="EdDSA", key=key)
    raise AccessError("needs public keys of RSA, P-256, P-384 or Ed25519; a symmetric or a private key is refused")
