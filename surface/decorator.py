"""`@tool`: a typed function becomes a tool.

    @tool(read_only=True)
    async def list_invoices(overdue: bool, limit: int = 20) -> list[Invoice]:
        '''Lists invoices.

        Args:
            overdue: Only those past their due date.
        '''

The input model comes from the signature: unknown arguments are refused, a docstring describes the parameters that
their annotation does not, a parameter annotated `CallContext` is filled in and is no part of the schema, and a return
annotation becomes the output type.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, get_args, get_origin, get_type_hints, overload

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from surface.call import CallContext
from surface.content import Presenter
from surface.errors import ConfigurationError
from surface.hooks import Lifecycle
from surface.input_model import PydanticInput
from surface.tool import Tool

_FIELD = "argument_"


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    input: type[BaseModel] | None = None,
    output: Any = None,
    presenter: Presenter | None = None,
    lifecycle: Lifecycle | None = None,
    scope: str | None = None,
    read_only: bool = False,
    idempotent: bool = False,
    timeout: float | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    input: type[BaseModel] | None = None,  # noqa: A002 - the word of the field it fills
    output: Any = None,
    presenter: Presenter | None = None,
    lifecycle: Lifecycle | None = None,
    scope: str | None = None,
    read_only: bool = False,
    idempotent: bool = False,
    timeout: float | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """A runtime tool from a typed function, sync or async.

    Name and description default to the function's name and the docstring's text without its parameter section. With
    `input` the function takes one instance of that model (and a `CallContext` where it asks for one) instead of
    keyword arguments. Raises ConfigurationError where the signature cannot become an object schema.
    """

    def decorate(function: Callable[..., Any]) -> Tool:
        if not inspect.isroutine(function):
            raise ConfigurationError(f"@tool: needs a function, not a {type(function).__name__}; use Tool(...) for it")
        documented = docstring_parser.parse(inspect.getdoc(function) or "")
        hints = _hints(function)
        asking = (key for key, hint in hints.items() if key != "return" and _asks_for_context(hint))
        context_name = next(asking, None)
        if input is None:
            model = _model_of(function, hints, {item.arg_name: item.description for item in documented.params})
            handler = _by_keyword(function, context_name)
        else:
            model = input
            handler = _by_instance(function, context_name)
        returned = hints.get("return")
        return Tool(
            name=name or function.__name__,
            description=description
            or "\n\n".join(text for text in (documented.short_description, documented.long_description) if text),
            input=PydanticInput(model),
            handler=handler,
            output=output if output is not None else None if returned in (None, type(None), Any) else returned,
            presenter=presenter,
            lifecycle=lifecycle,
            scope=scope,
            read_only=read_only,
            idempotent=idempotent,
            timeout=timeout,
        )

    return decorate if function is None else decorate(function)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigurationError(
            f"tool {function.__name__}: the annotation {error.name!r} cannot be resolved; "
            "import it at run time, not only for type checking"
        ) from error


def _model_of(
    function: Callable[..., Any], hints: Mapping[str, Any], described: Mapping[str, str | None]
) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if _asks_for_context(hints.get(parameter.name)):
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ConfigurationError(
                f"tool {function.__name__}: parameter {parameter.name!r} has no name a model could use; "
                "make it an ordinary or keyword-only parameter, or give an explicit input model"
            )
        if parameter.name not in hints:
            raise ConfigurationError(f"tool {function.__name__}: parameter {parameter.name!r} needs a type annotation")
        annotation = hints[parameter.name]
        said = [extra for extra in get_args(annotation)[1:] if isinstance(extra, FieldInfo)]
        text = described.get(parameter.name)
        if text and not any(extra.description for extra in said):
            annotation = Annotated[annotation, Field(description=text)]
        if not any(extra.alias or extra.validation_alias for extra in said):
            annotation = Annotated[annotation, Field(alias=parameter.name)]
        default = ... if parameter.default is parameter.empty else parameter.default
        # The model knows the parameter by its alias: a field called `schema` or `copy` would hide pydantic's own.
        fields[_FIELD + parameter.name] = (annotation, default)
    try:
        return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)
    except (PydanticUserError, NameError, TypeError) as error:
        raise ConfigurationError(
            f"tool {function.__name__}: its signature has no JSON Schema ({type(error).__name__}); "
            "annotate with types that Pydantic knows, or give an explicit input model"
        ) from error


def _asks_for_context(hint: Any) -> bool:
    return hint is CallContext or (get_origin(hint) is not None and CallContext in get_args(hint))


def _by_keyword(function: Callable[..., Any], context_name: str | None) -> Callable[..., Any]:
    def bound(validated: BaseModel, call: CallContext) -> dict[str, Any]:
        arguments = {field.removeprefix(_FIELD): getattr(validated, field) for field in type(validated).model_fields}
        return arguments if context_name is None else {**arguments, context_name: call}

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def call_async(validated: BaseModel, call: CallContext) -> Any:
            return await function(**bound(validated, call))

        return call_async

    @wraps(function)
    def call_sync(validated: BaseModel, call: CallContext) -> Any:
        return function(**bound(validated, call))

    return call_sync


def _by_instance(function: Callable[..., Any], context_name: str | None) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def call_async(validated: BaseModel, call: CallContext) -> Any:
            return await function(validated, **({} if context_name is None else {context_name: call}))

        return call_async

    @wraps(function)
    def call_sync(validated: BaseModel, call: CallContext) -> Any:
        return function(validated, **({} if context_name is None else {context_name: call}))

    return call_sync
