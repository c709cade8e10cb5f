"""Who may ask about which surfaces: keys, what each grants, and how one is recognised.

Rules kept here:

1. A key is 256 random bits, and only its hash is kept. SHA-256 is enough for that: a slow hash protects secrets that
   can be guessed, and nobody guesses 256 bits. The hash carries its scheme's name, so that another can follow it.
2. A hash is looked up and then compared in constant time, also where there is none; what a look-up's time may tell is
   about the hash, and a hash tells nothing about a key.
3. What a grant does not name is not there: nothing here or behind it looks whether the surface exists.

Not done here: the form of a key file (`key_file.py`), HTTP (`adapters/door.py`), randomness (`commands/key.py`).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

SCHEME: Final = "sha256-v1"
"""How the hashes in a key file are made: SHA-256 over this word, a zero byte and the key."""

KEY_PREFIX: Final = "tsk1_"
"""What every key begins with, so that a scanner for leaked secrets can know one."""

KEY_BYTES: Final = 32
MAX_SECRET_CHARACTERS: Final = 8_192
"""The longest secret that is looked at: a signed token, which is longer than a key."""

ANY: Final = "*"
"""Stands for every surface of an application, or for every application."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many queries a key may ask: `amount` in every window of `seconds`."""

    amount: int
    seconds: int
    """1, 60 or 3,600."""

    def __str__(self) -> str:
        unit = next(name for name, seconds in _SECONDS.items() if seconds == self.seconds)
        return f"{self.amount}/{unit}"

    @staticmethod
    def parse(text: str) -> Rate:
        """``100/second``, ``6000/minute`` or ``20000/hour``; ValueError says what is needed."""
        found = _RATE.fullmatch(text)
        if found is None:
            raise ValueError("needs a number of queries and a time, such as 100/second, 6000/minute or 20000/hour")
        return Rate(amount=int(found[1]), seconds=_SECONDS[found[2]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What one key or token allows."""

    id: str
    """Who is asking: a name for logs, metrics and rates, never a secret. 1-64 of ``A-Za-z0-9_.-``."""
    surfaces: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By application: the surfaces, or `ANY` among them for all it has. The application `ANY` is every one."""
    rate: Rate | None = None
    """None: no limit of its own."""

    def allows(self, application: str, surface: str) -> bool:
        """Whether this surface may be asked; says nothing about whether it exists."""
        return any(
            surface in granted or ANY in granted
            for granted in (self.surfaces.get(application, frozenset()), self.surfaces.get(ANY, frozenset()))
        )

    @property
    def sees_everything(self) -> bool:
        """Whether it allows every surface of every application: an operator's."""
        return ANY in self.surfaces.get(ANY, frozenset())


EVERYTHING: Final = Grant(id="open", surfaces=MappingProxyType({ANY: frozenset({ANY})}))
"""What everybody has where the service is open."""


class Keyring:
    """An immutable set of hashed keys."""

    def __init__(self, grants: Iterable[tuple[str, Grant]]) -> None:
        """`grants`: pairs of hash, as `hashed` gives it, and what its key allows."""
        self._grants = dict(grants)

    def grant_of(self, key: str) -> Grant | None:
        """What a key allows; None for one that nobody issued."""
        presented = hashed(key)
        found = presented if presented in self._grants else _NOBODYS
        same = hmac.compare_digest(presented, found)
        return self._grants.get(presented) if same else None


def hashed(key: str) -> str:
    """The form of a key that a file may hold: ``sha256-v1:`` and 64 hexadecimal digits."""
    digest = hashlib.sha256(SCHEME.encode() + b"\0" + key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{SCHEME}:{digest}"


def key_of(random: bytes) -> str:
    """The key made of `KEY_BYTES` random bytes: a prefix and 43 characters."""
    if len(random) != KEY_BYTES:
        raise ValueError(f"random: needs {KEY_BYTES} bytes")
    return KEY_PREFIX + urlsafe_b64encode(random).rstrip(b"=").decode()


_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3_600}
_RATE: Final = re.compile(r"([1-9][0-9]{0,8})/(second|minute|hour)")
_NOBODYS: Final = f"{SCHEME}:{'0' * 64}"
