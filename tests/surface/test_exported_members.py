"""Each export is a decision."""

from __future__ import annotations

import surface


def test_what_is_exported_is_sorted_by_name_and_each_name_stands_once() -> None:
    assert surface.__all__ == sorted(set(surface.__all__))


def test_everything_that_is_exported_is_there() -> None:
    assert all(hasattr(surface, name) for name in surface.__all__)


def test_everything_public_that_is_imported_is_exported() -> None:
    offered = {
        name
        for name, value in vars(surface).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("surface.")
    }
    assert offered <= set(surface.__all__)
