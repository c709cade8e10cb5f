"""A reviewer's edit of a call, which LangChain keeps in the graph's state and applies where the call runs.

The messages hold what the model wrote. A reviewer who stands inside `DeferredTools` applies the edit only behind the
gate, and finds no tool of the catalog that the edit may name; so the gate applies it first, and what it judges is what
runs. One who stands outside has applied it already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AIMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

EDITS = "hitl_edited_tool_calls"
"""Where `HumanInTheLoopMiddleware` keeps them in the state: by call id, each with its `name` and `args`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A call as it is to run."""

    request: ToolCallRequest
    redirected: bool
    """Whether the reviewer made it a call of another tool."""

    @classmethod
    def of(cls, request: ToolCallRequest, message: AIMessage | None) -> Reviewed:
        """The call of a request, and the message that the model wrote it in."""
        asked = request.tool_call
        edit = (request.state.get(EDITS) or {}).get(asked["id"])
        if edit is None or message is None:
            return cls(request=request, redirected=False)
        written = next(call for call in message.tool_calls if call["id"] == asked["id"])
        if (asked["name"], asked["args"]) == (written["name"], written["args"]):
            request = request.override(tool_call={**asked, "name": edit["name"], "args": edit["args"]})
        redirected = request.tool_call["name"] == edit["name"] != written["name"]
        if redirected:
            offered = {tool.name: tool for tool in request.runtime.tools}
            request = request.override(tool=cast("Any", offered.get(edit["name"])))
        return cls(request=request, redirected=redirected)

    def turn(self, message: AIMessage) -> AIMessage:
        """The message that holds the call, with the call under the name that is to run."""
        if not self.redirected:
            return message
        asked = self.request.tool_call
        calls: Sequence[Any] = [
            {**each, "name": asked["name"]} if each["id"] == asked["id"] else each for each in message.tool_calls
        ]
        return message.model_copy(update={"tool_calls": calls})
