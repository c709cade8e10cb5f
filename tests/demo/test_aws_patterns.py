"""Which patterns of the models a schema keeps."""

from __future__ import annotations

import pytest

from demo.aws_patterns import is_portable


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("[a-zA-Z0-9-]+", True),
        ("^arn:aws:iam::\\d{12}:role/.+$", True),
        ("(?!aws:)[a-z]{1,5}", True),
        ("", False),
        (".*", False),
        ("^[\\s\\S]*$", False),
        ("\\p{L}+", False),
        ("[\\w-_]*", False),
        ("(?i)abc", False),
        ("[a-z]++", False),
        ("abc\\Z", False),
        ("[a-z&&[^b]]", False),
        ("^([a-z]+)*$", False),
        ("(a|b+){2,}", False),
        ("((a+)b?)+", False),
        ("(?:[a-z]+-){1,5}", False),
        ("([a-z]{1,3})?", True),
        ("[(*]([a-z])*\\(+", True),
        ("[", False),
        ("a" * 121, False),
    ],
)
def test_a_pattern_is_kept_where_every_validator_reads_it_alike_and_quickly(pattern: str, kept: bool) -> None:  # noqa: FBT001
    assert is_portable(pattern) is kept
