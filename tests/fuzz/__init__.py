"""Tests of the fuzzer: a short run of it, and that it finds what is planted."""
