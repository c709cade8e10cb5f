"""The whole path in real processes."""
