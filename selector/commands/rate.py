"""`--rate`, the same for `serve` and `key new`; imports nothing heavy, so that a key is made at once."""

from __future__ import annotations

import argparse

from selector.access import Rate


def rate(text: str) -> Rate:
    """An argument that is a rate."""
    try:
        return Rate.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
