"""Who may ask a real `serve` process: what it refuses to start with, and keys that change under load."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import default_embedder
from selector.access import KEY_BYTES, hashed, key_of
from selector.commands.access import admittance_of
from selector.commands.serve import SERVE
from surface.adapters.command_line import run
from surface.adapters.selector_client import SelectorClient
from surface.errors import RankerUnavailable
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, ask, put
from tests.selector.server_process import DEADLINE, ServerProcess, running_server, until

OLD, NEW = key_of(b"o" * KEY_BYTES), key_of(b"n" * KEY_BYTES)


def _file(*keys: str) -> str:
    hashes = ", ".join(f'"{hashed(key)}"' for key in keys)
    return f'[[key]]\nid = "web"\nhashes = [{hashes}]\nsurfaces = {{ {APPLICATION} = ["{SURFACE}"] }}\n'


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys.toml"
    path.write_text(_file(OLD))
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--host", "0.0.0.0"], "--host 0.0.0.0: everybody who reaches it could ask everything; give --keys"),
        (["--keys", "{keys}", "--open"], "--open: contradicts --keys"),
        (["--keys", "{keys}.not"], "--keys: "),
        (["--keys", "{bad}"], "is not TOML"),
        (["--jwt-keys", "{keys}"], "--jwt-audience"),
        (["--jwt-keys", "{keys}", "--jwt-audience", "a"], "--jwt-keys: "),
        (["--rate-store", "http://x"], "--rate-store: needs redis://"),
        (["--rate-store", "redis://x/y"], "--rate-store: after the host"),
        (["--rate", "much"], "--rate: needs a number of queries and a time"),
    ],
)  # fmt: skip
def test_a_server_that_would_let_in_the_wrong_ones_does_not_start(
    arguments: list[str], told: str, keys: Path, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad").write_text("no")
    given = [each.format(keys=keys, bad=tmp_path / "bad") for each in arguments]
    try:
        code = run([SERVE], "toolsurface", ["serve", "--store", str(store), "--port", "0", *given])
    except SystemExit as left:
        code = int(str(left.code))
    assert code in {1, 2}
    error = capsys.readouterr().err
    assert told in error
    assert "serving" not in error


def test_keys_and_signed_tokens_stand_beside_each_other(keys: Path, store: Path, tmp_path: Path) -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    public = tmp_path / "issuer.pem"
    public.write_bytes(private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    claims = {"sub": "ada", "aud": "selector", "exp": int(time.time()) + 600, "toolsurface": {"bank": ["*"]}}
    token = jwt.encode(claims, private, algorithm="EdDSA")

    def access(*arguments: str) -> list[bool]:
        parser = argparse.ArgumentParser()
        SERVE.configure(parser)
        parsed = parser.parse_args(["--store", str(store), *arguments])
        found = admittance_of(parsed, every=1.0).access
        assert found is not None
        return [found(secret) is not None for secret in (OLD, token, NEW, "", token[:-1])]

    tokens = ("--jwt-keys", str(public), "--jwt-audience", "selector")
    assert access("--keys", str(keys), *tokens) == [True, True, False, False, False]
    assert access("--keys", str(keys)) == [True, False, False, False, False]
    assert access(*tokens) == [False, True, False, False, False]
    assert access(*tokens, "--jwt-issuer", "somebody") == [False] * 5


@pytest.fixture
def server(store: Path, keys: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    put(DirectoryStore(store), {SURFACE: TOOLS}, embedder=default_embedder(threads=1))
    with running_server(store, "--keys", str(keys), log=tmp_path / "log") as server:
        yield server


async def test_a_key_is_exchanged_under_load_and_nobody_who_has_a_good_one_is_turned_away(
    server: ServerProcess, keys: Path
) -> None:
    statuses: dict[str, list[int]] = {OLD: [], NEW: []}
    stop = asyncio.Event()
    path = f"{server.url}/v1/applications/{APPLICATION}/surfaces/{SURFACE}/rank"

    async def keep_asking(http: httpx2.AsyncClient, key: str) -> None:
        while not stop.is_set():
            headers = {"authorization": f"Bearer {key}"}
            answer = await http.post(path, json={"query": "delete a file", "limit": 3}, headers=headers)
            statuses[key].append(answer.status_code)

    def last(key: str, status: int) -> Callable[[], bool]:
        return lambda: statuses[key][-1:] == [status]

    async with httpx2.AsyncClient(timeout=DEADLINE) as http:
        asking = [asyncio.create_task(keep_asking(http, key)) for key in (OLD, NEW)]
        await until(last(NEW, 401))
        await asyncio.to_thread(keys.write_text, _file(OLD, NEW))
        await until(last(NEW, 200))
        seen = len(statuses[OLD])
        await asyncio.to_thread(keys.write_text, "spoiled")
        await until(lambda: "what was in force stays" in server.log.read_text())
        await asyncio.to_thread(keys.write_text, _file(NEW))
        await until(last(OLD, 401))
        stop.set()
        await asyncio.gather(*asking)

    async with SelectorClient(server.url, api_key=NEW, timeout=DEADLINE) as client:
        assert (await client.rank(ask("delete a file"))).ranked[0].name == "file_delete"
        with pytest.raises(RankerUnavailable, match="unknown_surface"):
            await client.rank(ask("delete a file", surface="writer"))
    async with SelectorClient(server.url, api_key=OLD, timeout=DEADLINE) as client:
        with pytest.raises(RankerUnavailable, match="unauthorised"):
            await client.rank(ask("delete a file"))

    assert set(statuses[OLD][:seen]) == {200}
    for key, turns in ((OLD, [200, 401]), (NEW, [401, 200])):
        changes = [status for at, status in enumerate(statuses[key]) if at == 0 or statuses[key][at - 1] != status]
        assert changes == turns
    written = server.log.read_text()
    assert written.count("what was in force stays") == 1
    assert OLD not in written
    assert NEW not in written
    assert "serving everybody" not in written


async def test_an_issuers_key_is_exchanged_in_a_running_service(store: Path, tmp_path: Path) -> None:
    put(DirectoryStore(store), {SURFACE: TOOLS}, embedder=default_embedder(threads=1))
    private = [ed25519.Ed25519PrivateKey.generate() for _ in range(2)]
    pems = [one.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo) for one in private]
    claims = {"sub": "ada", "aud": "selector", "exp": int(time.time()) + 600, "toolsurface": {APPLICATION: ["*"]}}
    old, new = (jwt.encode(claims, one, algorithm="EdDSA") for one in private)
    file = tmp_path / "issuer.pem"
    file.write_bytes(pems[0])
    with running_server(store, "--jwt-keys", str(file), "--jwt-audience", "selector", log=tmp_path / "log") as server:

        def statuses() -> list[int]:
            path = f"{server.url}/v1/applications"
            return [httpx2.get(path, headers={"authorization": f"Bearer {each}"}).status_code for each in (old, new)]

        assert statuses() == [200, 401]
        file.write_bytes(pems[1])
        await until(lambda: statuses() == [401, 200])
        assert old not in server.log.read_text()
