"""LangChain's `create_agent`: the conformance suite in the four ways of running it, and the shared story."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.tools import StructuredTool

from surface import Tool
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.langchain import langchain_tool
from surface.testing import AdapterConformance, AnthropicVoice, DialectHarness, Harness
from tests.frameworks.catalog import Operation, library_tool
from tests.frameworks.langchain_harness import LangChainHarness
from tests.frameworks.story import Account, tell


class TestLangChainInvoke(AdapterConformance):
    def harness(self) -> Harness:
        return LangChainHarness("invoke")


class TestLangChainAinvoke(AdapterConformance):
    def harness(self) -> Harness:
        return LangChainHarness("ainvoke")


class TestLangChainStream(AdapterConformance):
    def harness(self) -> Harness:
        return LangChainHarness("stream")


class TestLangChainAstream(AdapterConformance):
    def harness(self) -> Harness:
        return LangChainHarness("astream")


@pytest.fixture(scope="module")
def reference() -> Account:
    return asyncio.run(tell(DialectHarness(ANTHROPIC_MESSAGES, AnthropicVoice())))


def langchains_own(operation: Operation) -> Tool:
    """The operation as a tool of LangChain's."""
    native = StructuredTool.from_function(
        func=operation.function,
        name=operation.name,
        description=operation.description,
        args_schema=dict(operation.input_schema),
    )
    return langchain_tool(native, read_only=operation.read_only, service=operation.service)


@pytest.mark.parametrize(("how", "made"), [("ainvoke", langchains_own), ("stream", library_tool)])
@pytest.mark.rule("EVD-1", "ACT-1", "RCP-7")
async def test_langchain_tells_the_same_story(how: str, made: object, reference: Account) -> None:
    assert await tell(LangChainHarness(how), made) == reference  # type: ignore[arg-type]
