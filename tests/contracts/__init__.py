"""Suites that every implementation of a port is held to; each subclass brings its own fixtures."""
