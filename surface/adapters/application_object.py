"""Finding an application's surfaces: ``MODULE:OBJECT``, as a command line names them."""

from __future__ import annotations

import importlib
import os
import sys

from surface.adapters.command_line import CommandFailedError, WrongUseError
from surface.controller import DeferredAgentToolSurface
from surface.limits import Limits
from surface.mount import WHOLE, AgentMount
from surface.registry import Surface, SurfaceRegistry, build_registry
from surface.search_tool import DEFAULT_NAME


def load_registry(reference: str) -> SurfaceRegistry:
    """The registry of what ``MODULE:OBJECT`` names: a deferred surface, an ordinary mount, or a function making one.

    The current folder can be imported from, as with ``python -m``. Raises WrongUseError saying which part of the
    reference is wrong, CommandFailedError where the application's own import fails.
    """
    module_name, colon, path = reference.partition(":")
    if not colon or not module_name or not path:
        raise WrongUseError(f"{reference}: needs the form MODULE:OBJECT, such as shop.agent:controller")
    if (here := os.getcwd()) not in sys.path:  # noqa: PTH109 - sys.path holds strings
        sys.path.insert(0, here)
    try:
        found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise CommandFailedError(f"importing {module_name} failed: {error}") from error
        raise WrongUseError(f"{reference}: there is no module {error.name}") from None
    except Exception as error:
        told = f"importing {module_name} failed with {type(error).__name__}: {error}"
        raise CommandFailedError(f"{told}\nsee it whole with: python -c 'import {module_name}'") from error
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise WrongUseError(f"{reference}: {module_name} has no {path}") from None
    return _registry_of(found() if callable(found) and not isinstance(found, _OWNERS) else found, reference)


_OWNERS = (DeferredAgentToolSurface, SurfaceRegistry, AgentMount)


def _registry_of(found: object, reference: str) -> SurfaceRegistry:
    match found:
        case DeferredAgentToolSurface():
            return found.registry
        case SurfaceRegistry():
            return found
        case AgentMount():
            # What it would be if it were deferred, under the default limits: for advice before the move.
            whole = Surface(key=WHOLE, tools=[made.tool for made in found.catalog.tools.values()])
            return build_registry(found.application, [whole], limits=Limits(), search_tool=DEFAULT_NAME)
    raise WrongUseError(
        f"{reference}: needs a DeferredAgentToolSurface, an AgentMount, or a function that returns one, "
        f"not {type(found).__name__}"
    )
