"""What `--store` may name, and that no refusal repeats a secret."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import indexer.adapters
from indexer.adapters.directory_store import DirectoryStore
from indexer.adapters.opening import PASSWORD_VARIABLE, open_store
from indexer.adapters.redis_link import read_redis_url
from indexer.commands.status import STATUS
from indexer.errors import StoreError, kind_of
from indexer.placed_store import PlacedStore
from surface.adapters.command_line import run
from tests.indexer.redis_server import free_port

SECRET = "zebra-crossing-7731"  # noqa: S105 - that is the point


@pytest.mark.parametrize(
    ("url", "name", "namespace"),
    [
        ("redis://cache", "redis://cache:6379", "toolsurface"),
        (f"redis://deployer:{SECRET}@cache:7000/3", "redis://cache:7000/3", "toolsurface"),
        (f"rediss://:{SECRET}@[::1]:7000?namespace=prod", "rediss://[::1]:7000", "prod"),
        ("redis+cluster://cache/0", "redis+cluster://cache:6379", "toolsurface"),
        (f"rediss+cluster://u:{SECRET}@cache?ssl_ca_certs=/ca.pem", "rediss+cluster://cache:6379", "toolsurface"),
    ],
)
def test_a_redis_url_is_read_and_its_password_is_never_shown(url: str, name: str, namespace: str) -> None:
    place = read_redis_url(url)
    assert (place.name, place.namespace) == (name, namespace)
    assert place.password in (None, SECRET)
    assert SECRET not in f"{place!r} {place}"
    assert isinstance(open_store(url, environ={}), PlacedStore)


def test_the_variable_s_password_is_for_urls_without_one() -> None:
    assert read_redis_url("redis://user@cache", password=SECRET).password == SECRET
    assert read_redis_url("redis://user:own@cache", password=SECRET).password == "own"  # noqa: S105


@pytest.mark.parametrize(
    "location",
    [
        "",
        "-",
        f"ftp://u:{SECRET}@host/",
        f"redis://:{SECRET}@/0",
        f"redis://:{SECRET}#{SECRET}@host/0",
        f"redis://u:{SECRET}@host:port/0",
        f"redis://u:{SECRET}@host/name",
        f"redis://u:{SECRET}@host/0?unknown={SECRET}",
        f"redis://u:{SECRET}@host/0?namespace=a b",
        f"redis://u:{SECRET}@host/0?ssl_ca_certs=x",
        f"redis+cluster://u:{SECRET}@host/1",
        f"s3://key:{SECRET}@bucket/prefix",
        f"s3://bucket/prefix?secret={SECRET}",
        f"s3://key:{SECRET}",
        f"s3://key/{SECRET}@bucket",
        f"s3://key:pass/{SECRET}@bucket/prefix",
        f"az://account?sig={SECRET}",
        f"gs://bucket/prefix#{SECRET}",
        f"redis://user:7{SECRET}?host/0",
        f"redis://user:6379?{SECRET}@host/0",
        f"redis://user:6379?namespace={SECRET}@host/0",
        f"redis://user:6379/{SECRET}@host/0",
        f"redis://user:6379#{SECRET}@host/0",
        f"redis://{SECRET} {SECRET}",
        f"redis://[::1{SECRET}]:6379",
        f"rediss://u@host?ssl_ca_certs={SECRET}&{SECRET}=1",
        f"redis:/u:{SECRET}@host",
        f"redis:u:{SECRET}@host/0",
        f"redis:{SECRET}",
        f"Redis:/{SECRET}",
        f"rediss+cluster:///{SECRET}",
        f"S3:/bucket/{SECRET}",
        f"http:/u:{SECRET}@host",
        f"u:{SECRET}@host:6379/0",
        f"u:7/{SECRET}@host:6379",
        f"redis//:{SECRET}@host",
        f"redis//u:{SECRET}@host",
        f"redis;//u:{SECRET}@host",
        f"//u:{SECRET}@host",
        f"u@{SECRET}:host",
        "redis:",
        "s3://",
        "az://",
        "file://host/path",
        f"file:///srv?{SECRET}",
        f"file:/{SECRET}",
    ],
)
def test_a_location_that_cannot_be_is_refused_in_one_sentence(location: str) -> None:
    with pytest.raises(StoreError, match=r"^--store: ") as caught:
        open_store(location, environ={PASSWORD_VARIABLE: SECRET})
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_directory_is_named_by_its_path_or_by_a_file_url(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    for location in (str(tmp_path / "a b"), (tmp_path / "a b").as_uri()):
        assert isinstance(open_store(location, there=True), DirectoryStore)
    with pytest.raises(StoreError, match="no directory"):
        open_store(str(tmp_path / "c"), there=True)


@pytest.mark.parametrize(
    "name", ["./-", "./redis:old", "./12:30", "../a:b", "/srv/user:x@host", "~x", "./redis://x", "/s3://x"]
)
def test_an_odd_name_of_a_directory_is_one(name: str) -> None:
    assert isinstance(open_store(name), DirectoryStore)


def test_what_a_library_says_is_repeated_without_the_secret_parts_of_urls() -> None:
    told = f"GET http://user:{SECRET}@host/x?sig={SECRET}&a=b failed (redis://:{SECRET}/{SECRET}@host?)\n{SECRET}"
    assert kind_of(OSError(told)) == "OSError: GET http://…host/x… failed (redis://…host?)"


@pytest.mark.parametrize(
    ("location", "library", "adapters", "extra"),
    [
        ("redis://host", "redis", ("redis_link", "redis_store"), "redis"),
        ("s3://bucket", "obstore", ("object_store",), "object-store"),
    ],
)
def test_a_library_that_is_not_installed_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, location: str, library: str, adapters: tuple[str, ...], extra: str
) -> None:
    for name in adapters:
        monkeypatch.delitem(sys.modules, f"indexer.adapters.{name}", raising=False)
        monkeypatch.delattr(indexer.adapters, name, raising=False)
    monkeypatch.setitem(sys.modules, library, None)  # what the import system does for a module that is not there
    with pytest.raises(StoreError, match=rf"needs {library}.*toolsurface\[{extra}\]"):
        open_store(location)


def test_a_server_that_is_not_there_is_one_line_without_the_password(capsys: pytest.CaptureFixture[str]) -> None:
    for scheme in ("redis", "redis+cluster"):
        store = f"{scheme}://user:{SECRET}@127.0.0.1:{free_port()}"
        assert run((STATUS,), "toolsurface", ["status", "--store", store]) == 1
        said = capsys.readouterr()
        assert f"{scheme}://127.0.0.1:" in said.err
        assert "cannot be reached now" in said.err
        assert SECRET not in said.err + said.out
        assert said.err.count("\n") == 1


def test_a_directory_that_the_system_refuses_to_look_at_is_one_sentence() -> None:
    with pytest.raises(StoreError, match=r"--store: a+: File name too long; mend the path, or the rights on it"):
        open_store("a" * 300, there=True)
    for location in ("file:///srv/a%00b", "/srv/a\0b"):
        with pytest.raises(StoreError, match="--store: the name of a directory holds no zero byte"):
            open_store(location)
