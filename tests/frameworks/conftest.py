"""The account that every framework's telling of the story is held against."""

from __future__ import annotations

import asyncio

import pytest

from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.testing import AnthropicVoice, DialectHarness
from tests.frameworks.story import Account, tell


@pytest.fixture(scope="session")
def reference() -> Account:
    """The story on the raw Anthropic dialect."""
    return asyncio.run(tell(DialectHarness(ANTHROPIC_MESSAGES, AnthropicVoice())))
