"""The key file: who may ask, as an operator writes it.

    [[key]]
    id = "web"                                        # who is asking, in logs and metrics
    hashes = ["sha256-v1:4f2a…"]                      # of the keys in force: two while one takes the other's place
    surfaces = { shop = ["reader", "writer"] }        # "*" for every surface, or for every application
    rate = "100/second"                               # optional

Read strictly: a field nobody knows, an id or a hash that stands twice, or a key where its hash belongs is refused, all
of it, so that a slip never grants more than was meant. No message repeats what the file holds.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from selector.access import KEY_PREFIX, SCHEME, Grant, Keyring, Rate
from selector.errors import AccessError
from surface.protocol import Key

MAX_FILE_BYTES: Final = 4_194_304
"""About twenty thousand keys."""

_KeyOrAny = Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9_.-]{1,64}|\*)$")]
Surfaces = Annotated[
    dict[_KeyOrAny, Annotated[list[_KeyOrAny], Field(min_length=1)]],
    Field(min_length=1),
]
"""By application: the surfaces."""


def _no_key(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(KEY_PREFIX):
        raise ValueError("is a key itself; put the hash that `toolsurface key new` printed here, and make a new key")
    return value


_Hash = Annotated[str, BeforeValidator(_no_key), StringConstraints(pattern=rf"^{SCHEME}:[0-9a-f]{{64}}$")]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    id: Key
    hashes: Annotated[list[_Hash], Field(min_length=1, max_length=8)]
    surfaces: Surfaces
    rate: str | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    key: Annotated[list[_Entry], Field(min_length=1)]


def parse_key_file(content: bytes) -> Keyring:
    """The keys of a file; AccessError says what is wrong with it."""
    try:
        document = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise AccessError("is not UTF-8; save it as UTF-8") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a ValueError of its own
        where = str(error).rpartition("(")[2].rstrip(")") if "(at " in str(error) else "somewhere"
        raise AccessError(f"is not TOML {where}; see docs/service.md for its form") from None
    try:
        entries = _File.model_validate(document).key
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False, include_context=False)[0]
        raise AccessError(f"{_place(fault['loc'])}: {_in_words(fault['type'], fault['msg'])}") from None
    return Keyring(_grants(entries))


def granted(*, id: str, surfaces: Mapping[str, list[str]], rate: Rate | None) -> Grant:  # noqa: A002 - its field's name
    """The grant of what was parsed."""
    return Grant(id=id, surfaces={application: frozenset(keys) for application, keys in surfaces.items()}, rate=rate)


def _grants(entries: list[_Entry]) -> list[tuple[str, Grant]]:
    pairs: dict[str, Grant] = {}
    ids = set[str]()
    for at, entry in enumerate(entries, start=1):
        if entry.id in ids:
            raise AccessError(f"key {at}: its id stands twice; give one entry all the hashes")
        ids.add(entry.id)
        try:
            rate = Rate.parse(entry.rate) if entry.rate is not None else None
        except ValueError as error:
            raise AccessError(f"key {at}: rate: {error}") from None
        grant = granted(id=entry.id, surfaces=entry.surfaces, rate=rate)
        for hashed in entry.hashes:
            if hashed in pairs:
                raise AccessError(f"key {at}: hashes: one of them stands twice; make a new key")
            pairs[hashed] = grant
    return list(pairs.items())


def _place(path: tuple[int | str, ...]) -> str:
    """``key 3: hashes 1`` for where a fault is; only names of our own, and places."""
    known = {"key", *_Entry.model_fields}
    words: list[str] = []
    for step in path:
        if isinstance(step, int) and words:
            words[-1] += f" {step + 1}"
        elif step in known:
            words.append(str(step))
    return ": ".join(words) or "file"


def _in_words(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return f"holds a field nobody knows; an entry has {', '.join(_Entry.model_fields)}"
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    return message[0].lower() + message[1:]
