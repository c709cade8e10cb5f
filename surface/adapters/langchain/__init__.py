"""Deferred tools for agents of LangChain, LangGraph and deepagents (extra ``langchain``): what an application imports.

middleware    one agent's, with its hooks around models and calls
advertising   what a model request shows
calls         one call behind the gate, and how the tool node answers it
reviews       a reviewer's edit of a call
attempts      whether a call may run again
taken_over    calls that an input left open, shown to reviewers before one runs
journal       what a checkpointer knows of a call's beginning
stored        waits until the turn of a call is stored
asking        what both ask of a checkpointer
steps         the steps that this process prepared last
recent        what this process remembers of them, bounded
messages      the dialect
tools         tools written for LangChain, in a catalog as they are
injected      which of their arguments no model writes
contents      what they answer with where no graph runs them
"""

try:
    from surface.adapters.langchain.messages import LANGCHAIN_MESSAGES, LangChainMessages
    from surface.adapters.langchain.middleware import DeferredTools, DeferredToolsState
    from surface.adapters.langchain.tools import langchain_tool
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("needs an extra: pip install 'toolsurface[langchain]'", name=error.name) from error

__all__ = [
    "LANGCHAIN_MESSAGES",
    "DeferredTools",
    "DeferredToolsState",
    "LangChainMessages",
    "langchain_tool",
]
