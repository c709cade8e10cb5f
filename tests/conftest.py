"""What every test may rely on: the marker that ties a test to the rules of the specification it guards."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rule(*ids): rules of the specification that a test guards")
