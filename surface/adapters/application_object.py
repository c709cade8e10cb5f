"""Finding an application's surfaces: ``MODULE:OBJECT``, as a command line names them."""

from __future__ import annotations

import importlib
import os
import sys

from surface.adapters.command_line import WrongUseError
from surface.controller import DeferredAgentToolSurface
from surface.registry import SurfaceRegistry


def load_registry(reference: str) -> SurfaceRegistry:
    """The registry of the object that ``MODULE:OBJECT`` names: a deferred surface, or a function that makes one.

    The current folder can be imported from, as with ``python -m``. Raises WrongUseError saying which part of the
    reference is wrong; whatever the application's own import raises is not hidden.
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
            raise
        raise WrongUseError(f"{reference}: there is no module {error.name}") from None
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise WrongUseError(f"{reference}: {module_name} has no {path}") from None
    if callable(found) and not isinstance(found, (DeferredAgentToolSurface, SurfaceRegistry)):
        found = found()
    if isinstance(found, DeferredAgentToolSurface):
        return found.registry
    if isinstance(found, SurfaceRegistry):
        return found
    raise WrongUseError(
        f"{reference}: needs a DeferredAgentToolSurface or a function that returns one, not {type(found).__name__}"
    )
