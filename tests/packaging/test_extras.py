"""What an extra brings: the metadata of what is installed, followed to its end."""

from __future__ import annotations

from collections.abc import Set
from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.frameworks.matrix import FRAMEWORKS, TABLE


def brought_by(extra: str) -> set[str]:
    """The distributions that `toolsurface[extra]` needs, and those that they need."""
    found: set[tuple[str, str]] = set()
    asked = {("toolsurface", ""), ("toolsurface", extra)}
    while asked:
        name, of = asked.pop()
        found.add((name, of))
        for needed in map(Requirement, requires(name) or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": of}):
                asked |= {(canonicalize_name(needed.name), each) for each in ("", *needed.extras)} - found
    return {name for name, _ in found}


@pytest.mark.parametrize(
    ("extra", "frameworks"),
    [*((row.extra, row.frameworks) for row in TABLE), ("all", set()), ("", set())],
)
def test_an_extra_brings_the_framework_it_is_for_and_no_other(extra: str, frameworks: Set[str]) -> None:
    assert brought_by(extra) & FRAMEWORKS == frameworks


@pytest.mark.parametrize("extra", [row.extra for row in TABLE])
def test_the_extra_of_a_framework_brings_no_providers_sdk(extra: str) -> None:
    assert not brought_by(extra) & {"anthropic", "boto3", "google-genai", "mistralai", "openai"}
