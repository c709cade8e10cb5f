"""Benchmarks of the ranking service; see `__main__`."""
