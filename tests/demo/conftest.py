"""The demo's catalog, built once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from demo.aws_operations import AwsOperation, aws_operations


@pytest.fixture(scope="session")
def catalog() -> Mapping[str, AwsOperation]:
    return {operation.name: operation for operation in aws_operations()}
