"""Tests of the library inside an agent's process."""
