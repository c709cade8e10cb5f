"""Tests of `training`, as far as it runs without torch."""
