"""A file that is read again: the last good content stays in force, and each change is told once."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path
from threading import Semaphore

import pytest

from selector.adapters.watched_file import WatchedFile
from selector.errors import AccessError


def _number(content: bytes) -> int:
    try:
        return int(content)
    except ValueError:
        raise AccessError("is no number") from None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "number"
    path.write_text("1")
    return path


def _watched(path: Path) -> WatchedFile[int]:
    return WatchedFile(path, parse=_number, argument="--number", max_bytes=8)


def test_what_changes_is_in_force_and_told_once(path: Path) -> None:
    watched = _watched(path)
    assert (watched.value, watched.refresh()) == (1, None)
    path.write_text("2")
    news = watched.refresh()
    assert news is not None
    assert str(path) in news
    assert (watched.value, watched.refresh()) == (2, None)


def test_a_bad_file_leaves_the_last_good_one_in_force_and_is_told_once(path: Path) -> None:
    watched = _watched(path)
    for content, word in (("x", "no number"), ("123456789", "larger than"), (None, "No such file")):
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_text(content)
        news = watched.refresh()
        assert news is not None
        assert word in news
        assert "stays" in news
        assert (watched.value, watched.refresh()) == (1, None)
    path.write_text("1")
    assert "as it was before" in str(watched.refresh())
    assert watched.refresh() is None


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(path))


ODD = pytest.mark.parametrize(
    "put_in_place",
    [os.mkfifo, _socket, Path.mkdir, lambda path: path.symlink_to("/dev/zero")],
    ids=["a pipe", "a socket", "a folder", "a device"],
)


@ODD
def test_what_is_no_regular_file_is_refused_without_waiting_for_it(
    put_in_place: Callable[[Path], None], path: Path
) -> None:
    watched = _watched(path)
    path.unlink()
    put_in_place(path)
    assert watched.refresh() == (
        f"--number: {path}: is not a regular file; write it to one and name that; what was in force stays"
    )
    assert (watched.value, watched.refresh()) == (1, None)
    with pytest.raises(AccessError, match="is not a regular file"):
        _watched(path)


async def test_a_pipe_in_the_place_of_the_file_holds_up_neither_the_following_nor_its_end(path: Path) -> None:
    news = asyncio.Queue[str]()
    watched = _watched(path)
    os.mkfifo(path.parent / "pipe")
    (path.parent / "pipe").replace(path)
    following = asyncio.create_task(watched.follow(every=0.001, tell=news.put_nowait))
    assert "is not a regular file" in await asyncio.wait_for(news.get(), 10)
    _turned(path, "2")
    assert "read again" in await asyncio.wait_for(news.get(), 10)
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(following, 10)


def test_a_link_that_is_turned_is_seen(path: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("2")
    link = tmp_path / "link"
    link.symlink_to(path)
    watched = _watched(link)
    (tmp_path / "turned").symlink_to(tmp_path / "other")
    (tmp_path / "turned").replace(link)
    assert watched.refresh()
    assert watched.value == 2


@pytest.mark.parametrize("content", [None, "x", "123456789"])
def test_a_file_that_is_bad_at_the_start_is_an_error_with_its_argument(path: Path, content: str | None) -> None:
    path.unlink()
    if content is not None:
        path.write_text(content)
    with pytest.raises(AccessError, match=f"--number: {path}: "):
        _watched(path)


def _turned(path: Path, content: str) -> None:
    """At once, as whoever follows the file must not see half of it."""
    (path.parent / "next").write_text(content)
    (path.parent / "next").replace(path)


async def test_an_error_nobody_foresaw_is_told_once_by_its_class_and_the_following_goes_on(path: Path) -> None:
    news, tried = asyncio.Queue[str](), Semaphore(0)

    def parse(content: bytes) -> int:
        if content == b"x":
            tried.release()
            raise LookupError("a secret of the file")
        return int(content)

    watched = WatchedFile(path, parse=parse, argument="--number", max_bytes=8)
    _turned(path, "x")
    following = asyncio.create_task(watched.follow(every=0.001, tell=news.put_nowait))
    try:
        first = await asyncio.wait_for(news.get(), 10)
        assert ("LookupError" in first, "secret" in first, watched.value) == (True, False, 1)
        for _ in range(3):
            assert await asyncio.to_thread(tried.acquire, timeout=10)
        _turned(path, "2")
        assert "read again" in await asyncio.wait_for(news.get(), 10)
        assert watched.value == 2
    finally:
        following.cancel()
