"""The conformance suite and the shared story on pydantic-ai: `run`, `run_sync`, streamed by a handler or by nodes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import ModelRetry, RunContext, Tool

import surface
from surface.adapters.json_schema import JsonSchemaInput
from surface.adapters.pydantic_ai import catalog_tools
from surface.input_model import InputRejectedError
from surface.testing import AdapterConformance, Harness
from tests.frameworks.catalog import Operation
from tests.frameworks.pydantic_ai_harness import PydanticAIHarness
from tests.frameworks.story import Account, tell


class TestAsync(AdapterConformance):
    def harness(self) -> Harness:
        return PydanticAIHarness("async")


class TestSync(AdapterConformance):
    def harness(self) -> Harness:
        return PydanticAIHarness("sync")


class TestStreamed(AdapterConformance):
    def harness(self) -> Harness:
        return PydanticAIHarness("stream")


class TestIterated(AdapterConformance):
    def harness(self) -> Harness:
        return PydanticAIHarness("iter")


@pytest.mark.rule("EVD-1", "ACT-1", "RCP-7")
async def test_the_story_is_the_same_in_pydantic_ai(reference: Account) -> None:
    assert await tell(PydanticAIHarness("stream")) == reference


@pytest.mark.rule("EVD-1", "MNT-1", "MNT-9")
async def test_the_story_is_the_same_with_tools_that_are_pydantic_ais_own(reference: Account) -> None:
    assert await tell(PydanticAIHarness("async"), own_tool) == reference


def own_tool(operation: Operation) -> surface.Tool:
    """The operation as a tool that was written for pydantic-ai."""

    def validate(_: RunContext[Any], **arguments: Any) -> None:
        try:
            JsonSchemaInput(operation.input_schema).validate(arguments)
        except InputRejectedError as rejected:
            raise ModelRetry(str(rejected)) from None

    written = Tool.from_schema(
        operation.function,
        name=operation.name,
        description=operation.description,
        json_schema=dict(operation.input_schema),
        args_validator=validate,
    )
    read_only = [operation.name] if operation.read_only else []
    (made,) = catalog_tools(written, read_only=read_only, service=operation.service)
    return made
