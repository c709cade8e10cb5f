"""`toolsurface key new`: makes an API key, shows it once, and what to write into the key file."""

from __future__ import annotations

import argparse
import json
import secrets
from datetime import UTC, datetime

from selector.access import ANY, KEY_BYTES, Rate, hashed, key_of
from selector.commands.rate import rate
from surface.adapters.command_line import Command, WrongUseError, print_json, say, show
from surface.identity import is_key


def _configure_key(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    new = actions.add_parser(
        "new",
        help="make a key",
        description="Makes an API key. It is shown this once; the key file holds its hash alone. To replace a key, add "
        "the new hash to the entry's `hashes`, and take the old one out once everybody has the new key.",
    )
    new.add_argument("--application", required=True, metavar="A", help="whose surfaces it may ask; * for every one")
    new.add_argument(
        "--surface", action="append", metavar="S", help="a surface it may ask; again for more (default: all of them)"
    )
    new.add_argument("--id", metavar="NAME", help="who is asking, in logs and metrics (default: the application)")
    new.add_argument("--rate", type=rate, metavar="N/TIME", help="such as 100/second (default: what serve --rate says)")
    new.add_argument("--json", action="store_true", help="one JSON object on standard output")


def _key(arguments: argparse.Namespace) -> None:
    surfaces = arguments.surface or [ANY]
    name = arguments.id or ("operator" if arguments.application == ANY else arguments.application)
    for argument, value in (("--application", arguments.application), *(("--surface", one) for one in surfaces)):
        if value != ANY and not is_key(value):
            raise WrongUseError(f"{argument}: needs 1-64 characters of A-Z a-z 0-9 _ . - or * for all")
    if not is_key(name):
        raise WrongUseError("--id: needs 1-64 characters of A-Z a-z 0-9 _ . -")
    key = key_of(secrets.token_bytes(KEY_BYTES))
    entry = _entry(name, hashed(key), arguments.application, surfaces, arguments.rate)
    if arguments.json:
        print_json({"id": name, "key": key, "hash": hashed(key), "entry": entry})
        return
    say("the key, shown this once; whoever asks sends it as Authorization: Bearer KEY")
    show([key])
    say("\nfor the file that serve --keys names:\n")
    show(entry.split("\n"))


def _entry(name: str, hash_: str, application: str, surfaces: list[str], its_rate: Rate | None) -> str:
    """The lines of a key file. Names hold nothing that TOML would read otherwise than JSON."""
    lines = [
        f"[[key]]  # made {datetime.now(UTC):%Y-%m-%d}",
        f"id = {json.dumps(name)}",
        f"hashes = [{json.dumps(hash_)}]",
        f"surfaces = {{ {json.dumps(application)} = {json.dumps(surfaces)} }}",
    ]
    if its_rate is not None:
        lines.append(f'rate = "{its_rate}"')
    return "\n".join(lines) + "\n"


KEY = Command(
    name="key",
    summary="make API keys for the ranking service",
    configure=_configure_key,
    run=_key,
)
