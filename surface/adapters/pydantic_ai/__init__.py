"""Deferred tools for agents of pydantic-ai (extra ``pydantic-ai``): what an application imports.

capability    what an agent is given, and the toolset it brings
run           that toolset in one run: advertises, and is the gate
offers        what a step offers, the toolsets behind a surface among it
namesakes     what of the agent's own cannot stand beside a surface
withheld      a step from which every tool of a surface was taken
reading       the messages of a run, read once
journal       the record a durable engine keeps of a call
fence         what the fence says of a call, asked once
arguments     arguments as the model wrote them
messages      the dialect
tools         tools written for pydantic-ai, in a catalog as they are
"""

try:
    from surface.adapters.pydantic_ai.capability import DeferredTools, DeferredToolset
    from surface.adapters.pydantic_ai.journal import Journal
    from surface.adapters.pydantic_ai.messages import PYDANTIC_AI, PydanticAIMessages
    from surface.adapters.pydantic_ai.tools import catalog_tools, listed_tools
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("needs an extra: pip install 'toolsurface[pydantic-ai]'", name=error.name) from error

__all__ = [
    "PYDANTIC_AI",
    "DeferredTools",
    "DeferredToolset",
    "Journal",
    "PydanticAIMessages",
    "catalog_tools",
    "listed_tools",
]
