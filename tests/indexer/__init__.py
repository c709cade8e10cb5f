"""Tests of the indexer."""
