"""Tests of the readers of other formats."""
