"""LangChain's own tools in a catalog, as they are (`BaseTool`, or what `langchain.tools.tool` makes of a function).

    Surface(key="clerk", tools=[langchain_tool(each) for each in tools])

LangChain runs them: injected state, store, runtime and call id, callbacks, streaming, artifacts, `Command` results, an
interrupt inside, `handle_tool_error` and `handle_validation_error` stay what they are. The library holds the gate, the
fence, the rule for restarts and the evidence around them, and validates the arguments a model wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolOutputMixin
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as tool_from_function
from pydantic import BaseModel, ValidationError

from surface.adapters.json_schema import JsonSchemaInput
from surface.adapters.langchain.contents import AS_CONTENT
from surface.adapters.langchain.injected import injected
from surface.adapters.langchain.messages import LANGCHAIN_MESSAGES, ClosedTool
from surface.call import CallContext
from surface.catalog import CatalogTool
from surface.errors import ConfigurationError, ToolError
from surface.input_model import AMBIGUOUS_DEPTH, InputModel, InputRejectedError, PydanticInput, deeper_than
from surface.tool import Tool

NEEDS_GRAPH = "NEEDS_GRAPH"
"""The code of an answer that changes a graph's state, where `dispatch` ran the tool and there is none."""
_NO_GRAPH = "The tool ran, but its answer is a change to the state of a graph, and there is no graph here to change."
_NOT_AGAIN = "Do not call it again: what it did is done, and it would answer so again."


def langchain_tool(
    tool: BaseTool | Callable[..., Any],
    *,
    service: str | None = None,
    read_only: bool | None = None,
    idempotent: bool | None = None,
) -> Tool:
    """A tool that LangChain runs, for the catalog of a controller with the LangChain dialect.

    None reads `read_only` and `idempotent` from the hints that MCP tools carry in their metadata (``readOnlyHint``,
    ``idempotentHint``). Raises ConfigurationError where LangChain can make no tool of it.
    """
    native = tool if isinstance(tool, BaseTool) else _made(tool)
    hints = native.metadata or {}
    return Tool(
        name=native.name,
        description=native.description,
        input=_NativeInput(native),
        handler=_NativeHandler(native),
        output=Any,
        presenter=AS_CONTENT,
        framework=LANGCHAIN_MESSAGES.name,
        service=service,
        read_only=hints.get("readOnlyHint") is True if read_only is None else read_only,
        idempotent=hints.get("idempotentHint") is True if idempotent is None else idempotent,
    )


def native_tool(made: CatalogTool) -> BaseTool | None:
    """The LangChain tool behind a tool of a catalog; None for one of the library's own."""
    handler = made.tool.handler
    return handler.native if isinstance(handler, _NativeHandler) else None


class ClosedDirectTool(ClosedTool):
    """Stands among an agent's own tools for one that ends the run with its answer, which LangChain asks those only.

    LangChain also looks here for what it has to inject into the tool that is supplied in its place.
    """

    original: BaseTool

    @classmethod
    def of(cls, native: BaseTool) -> ClosedDirectTool:
        """The stand-in for a tool with `return_direct`."""
        return cls(name=native.name, description=native.description, original=native, return_direct=True)

    @property
    def func(self) -> Any:
        """What LangChain reads annotations of."""
        return getattr(self.original, "func", None) or getattr(self.original, "coroutine", None)

    def get_input_schema(self, config: Any = None) -> Any:
        return self.original.get_input_schema(config)


def _is_a_graphs(made: Any) -> bool:
    """Whether a tool answered with what LangGraph alone can take up: a `Command`, or several messages."""
    each = made if isinstance(made, list) else [made]
    return bool(each) and all(isinstance(part, ToolOutputMixin) for part in each)


def _made(function: Any) -> BaseTool:
    if isinstance(function, Tool):
        raise ConfigurationError(
            "langchain_tool: this is a tool of the library already; put it on the surface as it is"
        )
    try:
        made: Any = tool_from_function(function)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"langchain_tool: needs a BaseTool or a function with type annotations and a docstring, not this "
            f"{type(function).__name__} ({type(error).__name__})"
        ) from error
    if not isinstance(made, BaseTool):
        raise ConfigurationError(f"langchain_tool: needs a BaseTool or a function, not a {type(function).__name__}")
    return made


@dataclass(frozen=True, slots=True)
class _NativeInput:
    """The arguments of a LangChain tool as a model may write them; injected ones are no part of it.

    `validate` gives back the arguments: what LangChain parses them into is its own affair.
    """

    native: BaseTool
    _model: InputModel = field(init=False)

    def __post_init__(self) -> None:
        schema: Any = self.native.tool_call_schema
        if isinstance(schema, Mapping):
            model: InputModel = JsonSchemaInput(schema)
        elif issubclass(schema, BaseModel):
            model = PydanticInput(schema)
        else:
            raise ConfigurationError(f"tool {self.native.name}: its args_schema needs a Pydantic 2 model")
        object.__setattr__(self, "_model", model)

    @property
    def json_schema(self) -> Mapping[str, Any]:
        return {key: value for key, value in self._model.json_schema.items() if key not in ("title", "description")}

    def validate(self, arguments: Any) -> Any:
        if not self.native.handle_validation_error:
            try:
                self._model.validate(arguments)
            except InputRejectedError:
                if not self._parses(arguments):
                    raise
        return arguments

    def _parses(self, arguments: Any) -> bool:
        """Whether the tool's own model takes what the one without injected arguments does not.

        The latter has none of its validators and aliases, and reads JSON only, which middleware may have gone beyond.
        """
        whole: Any = self.native.get_input_schema()
        if isinstance(self._model, JsonSchemaInput) or not issubclass(whole, BaseModel):
            return False
        if deeper_than(arguments, AMBIGUOUS_DEPTH):
            return False  # may cost a union any time to try
        hidden = whole.model_fields.keys() - self._model.json_schema.get("properties", {}).keys()
        try:
            whole.model_validate(arguments)
        except ValidationError as error:
            # LangChain injects those, and judges then once more.
            return all(each["type"] == "missing" and each["loc"][0] in hidden for each in error.errors())
        except Exception:  # noqa: BLE001 - a validator of the tool's own that meets what it does not know
            return False
        return True


@dataclass(frozen=True, slots=True)
class _NativeHandler:
    """Invokes the tool where `dispatch` runs it: with callbacks, without what only a graph has (state, `Command`)."""

    native: BaseTool

    async def __call__(self, arguments: Any, call: CallContext) -> Any:
        given = arguments
        if isinstance(arguments, dict):
            withheld = injected(self.native)  # whatever a model writes under those names, as a graph leaves it out, too
            given = {name: value for name, value in arguments.items() if name not in withheld}
        written = {"name": call.tool, "args": given, "id": call.call_id, "type": "tool_call"}
        made = await self.native.ainvoke(written)
        if isinstance(made, list) and len(made) == 1:
            (made,) = made
        if not isinstance(made, ToolMessage):
            if _is_a_graphs(made):
                raise ToolError(NEEDS_GRAPH, _NO_GRAPH, _NOT_AGAIN)
            return made
        if made.status == "error":
            raise ToolError("TOOL_ERROR", str(made.text))  # what the tool says itself of an error that it handled
        return made.content
