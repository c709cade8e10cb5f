"""Tests that need torch: `make test-models`, never `make test`."""
