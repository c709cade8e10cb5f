"""Sizes as operators write them."""

from __future__ import annotations

import argparse

import pytest

from selector.commands.memory import size


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1000", 1000), ("800MB", 800_000_000), ("2GiB", 2**31), ("64k", 64_000), ("3 mib", 3 * 2**20), ("1g", 10**9)],
)
def test_a_size_is_read_with_its_unit(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "0", "0GiB", "-1", "1.5G", "GiB", "10TB", "1e9", "9" * 13])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="800MB or 2GiB"):
        size(text)
