"""Who may ask the service: what `serve` takes for it, and what it makes of it."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from indexer.adapters.opening import PASSWORD_VARIABLE, names_redis
from selector.access import KEY_PREFIX, Grant, Keyring
from selector.adapters.door import Access
from selector.adapters.rates import Rates
from selector.adapters.watched_file import WatchedFile
from selector.commands.rate import rate
from selector.key_file import MAX_FILE_BYTES, parse_key_file
from surface.adapters.command_line import WrongUseError, say

LOG: Final = logging.getLogger("toolsurface.selector")


@dataclass(frozen=True, slots=True, kw_only=True)
class Admittance:
    """What `build_app` needs to know of who may ask."""

    access: Access | None
    """None: the service is open."""
    rates: Rates | None
    background: Sequence[Callable[[], Awaitable[None]]] = field(default=())
    """Reads the files again when they change, and lets go of the store of the rates at the end."""


def add_access(parser: argparse.ArgumentParser) -> None:
    """The arguments that say who may ask."""
    group = parser.add_argument_group("who may ask")
    group.add_argument(
        "--keys", type=Path, metavar="FILE", help="API keys (TOML; see `toolsurface key new`), read again on a change"
    )
    group.add_argument(
        "--open", action="store_true", help="let everybody ask everything, on an address beyond this machine too"
    )
    group.add_argument(
        "--jwt-keys", type=Path, metavar="FILE", help="take signed tokens too: public key (PEM) or JWKS, likewise"
    )
    group.add_argument("--jwt-audience", metavar="A", help="the audience a token must name")
    group.add_argument("--jwt-issuer", metavar="I", help="the issuer a token must name (default: any)")
    group.add_argument(
        "--jwt-claim",
        default="toolsurface",
        metavar="C",
        help='the claim that holds {"application": ["surface", …]} (default: %(default)s)',
    )
    group.add_argument(
        "--rate", type=rate, metavar="N/TIME", help="of each key without one of its own, such as 100/second"
    )
    group.add_argument(
        "--rate-store",
        metavar="URL",
        help=f"redis://… or redis+cluster://… that counts for all replicas; a password may stand in "
        f"${PASSWORD_VARIABLE} (default: each counts for itself)",
    )


def admittance_of(arguments: argparse.Namespace, *, every: float) -> Admittance:
    """Who may ask, by the arguments; their files are looked at every so many seconds.

    Raises WrongUseError, or AccessError where a file cannot be used.
    """
    if arguments.open and (arguments.keys or arguments.jwt_keys):
        raise WrongUseError("--open: contradicts --keys and --jwt-keys; leave one out")
    if arguments.jwt_keys and not arguments.jwt_audience:
        raise WrongUseError("--jwt-keys: needs --jwt-audience, or a token meant for another service would do")
    rates = _rates(arguments)
    background: list[Callable[[], Awaitable[None]]] = [rates.close_at_the_end]
    keys: WatchedFile[Keyring] | None = None
    if arguments.keys:
        keys = WatchedFile(arguments.keys, parse=parse_key_file, argument="--keys", max_bytes=MAX_FILE_BYTES)
        background.append(partial(keys.follow, every=every, tell=LOG.warning))
    tokens: Access | None = None
    if arguments.jwt_keys:
        tokens, follow = _tokens(arguments, every=every)
        background.append(follow)
    if keys is None and tokens is None:
        return Admittance(access=None, rates=rates, background=background)
    return Admittance(access=_either(keys, tokens), rates=rates, background=background)


def check_openness(admittance: Admittance, *, host: str, opened: bool) -> None:
    """Says that an open service is open; WrongUseError where others could reach it and nobody said `--open`.

    `host`: the address that is bound.
    """
    if admittance.access is not None:
        return
    if not opened and not ip_address(host.partition("%")[0]).is_loopback:
        raise WrongUseError(
            f"--host {host}: everybody who reaches it could ask everything; give --keys FILE (`toolsurface key new` "
            "makes one), or --open where that is meant"
        )
    say("serving everybody who reaches this address: no --keys")


def _either(keys: WatchedFile[Keyring] | None, tokens: Access | None) -> Access:
    def access(secret: str) -> Grant | None:
        if secret.startswith(KEY_PREFIX):
            return keys.value.grant_of(secret) if keys is not None else None
        return tokens(secret) if tokens is not None else None

    return access


def _tokens(arguments: argparse.Namespace, *, every: float) -> tuple[Access, Callable[[], Awaitable[None]]]:
    try:
        from selector.adapters import tokens  # noqa: PLC0415 - the extra is needed by those alone who ask for it
    except ModuleNotFoundError as error:
        raise WrongUseError(
            f"--jwt-keys: needs {error.name}, which the extra brings: pip install 'toolsurface[jwt]'"
        ) from None
    file = WatchedFile(
        arguments.jwt_keys, parse=tokens.parse_public_keys, argument="--jwt-keys", max_bytes=tokens.MAX_FILE_BYTES
    )
    issued = tokens.Tokens(
        keys=lambda: file.value,
        audience=arguments.jwt_audience,
        claim=arguments.jwt_claim,
        issuer=arguments.jwt_issuer,
    )
    return issued.grant_of, partial(file.follow, every=every, tell=LOG.warning)


def _rates(arguments: argparse.Namespace) -> Rates:
    if arguments.rate_store is None:
        return Rates(usual=arguments.rate, shared=None, tell=LOG.warning)
    if not names_redis(arguments.rate_store):
        raise WrongUseError("--rate-store: needs redis://host:6379/0 or redis+cluster://host:6379 (rediss… for TLS)")
    try:
        from indexer.adapters.redis_link import read_redis_url  # noqa: PLC0415 - the extra is needed by those who ask
        from selector.adapters.shared_rates import shared_rates  # noqa: PLC0415 - likewise
    except ModuleNotFoundError as error:
        raise WrongUseError(
            f"--rate-store: needs {error.name}, which the extra brings: pip install 'toolsurface[redis]'"
        ) from None
    try:
        place = read_redis_url(arguments.rate_store, password=os.environ.get(PASSWORD_VARIABLE))
    except ValueError as error:
        raise WrongUseError(f"--rate-store: {error}") from None
    shared = shared_rates(
        place.address + ("" if place.cluster else f"/{place.database}"),
        cluster=place.cluster,
        tls=place.tls,
        namespace=place.namespace,
        login={"username": place.user, "password": place.password, **dict(place.tls_files)},
    )
    return Rates(usual=arguments.rate, shared=shared, tell=LOG.warning)
