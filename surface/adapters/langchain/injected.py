"""Which arguments of a LangChain tool are injected: given by the application, shown to no model, written by none."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, InjectedToolArg
from pydantic import AliasChoices, AliasPath, BaseModel


def injected(native: BaseTool) -> frozenset[str]:
    """The names under which they could be written, aliases included; of a JSON Schema's tool those of its function."""
    functions = [getattr(native, name, None) for name in ("func", "coroutine", "_run", "_arun")]
    names = {name for each in functions if callable(each) for name in _of_function(each)}
    whole, shown = native.get_input_schema(), native.tool_call_schema
    if isinstance(shown, type) and issubclass(shown, BaseModel) and issubclass(whole, BaseModel):
        hidden = whole.model_fields.keys() - shown.model_fields.keys()
        names |= hidden | {alias for name in hidden for alias in _aliases(whole, name)}
        names -= shown.model_fields.keys()
    return frozenset(names)


def _aliases(model: type[BaseModel], name: str) -> list[str]:
    found = model.model_fields[name]
    return [*_read_from(found.alias), *_read_from(found.validation_alias)]


def _read_from(alias: str | AliasPath | AliasChoices | None) -> list[str]:
    """The arguments that an alias reads; of a path the outermost, so that all of it is left out."""
    match alias:
        case AliasChoices():
            return [name for choice in alias.choices for name in _read_from(choice)]
        case AliasPath():
            return [str(alias.path[0])]
        case _:
            return [] if alias is None else [alias]


def _of_function(function: Callable[..., Any]) -> list[str]:
    """The parameters that are marked as injected."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError):  # names that only a type checker knows: then the signature says what it can
        hints = {name: each.annotation for name, each in inspect.signature(function).parameters.items()}
    return [name for name, hint in hints.items() if name != "return" and _is_marked(hint)]


def _is_marked(hint: Any) -> bool:
    marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    kinds = (*marks, get_origin(hint) or hint, *(get_origin(each) or each for each in get_args(hint)))
    return any(
        isinstance(each, InjectedToolArg)
        or (isinstance(each, type) and issubclass(each, (InjectedToolArg, ToolRuntime)))
        for each in kinds
    )
