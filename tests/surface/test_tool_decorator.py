"""`@tool`: a typed function becomes a tool, and a signature that cannot is refused where it stands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import BaseModel, Field

from surface.call import CallContext
from surface.catalog import build_catalog
from surface.content import PartKind, Presenter
from surface.decorator import tool
from surface.errors import CatalogError, ConfigurationError
from surface.hooks import Lifecycle
from surface.input_model import InputRejectedError
from surface.tool import Tool

CALL = CallContext(run_id="run-1", surface="reader", call_id="call-1", tool="any")


class Invoice(BaseModel):
    number: int


class Wanted(BaseModel):
    """What is wanted."""

    overdue: bool = False


def properties_of(made: Tool) -> dict[str, Any]:
    return cast("dict[str, Any]", made.input.json_schema["properties"])


async def result_of(made: Tool, arguments: dict[str, Any], call: CallContext = CALL) -> Any:
    result = made.handler(made.input.validate(arguments), call)
    return await result if inspect.isawaitable(result) else result


def with_parameter(name: str) -> Callable[..., Any]:
    """A function whose one parameter has this name."""
    namespace: dict[str, Any] = {}
    exec(f"def function({name}: str) -> str:\n    return {name}", namespace)  # noqa: S102 - the name is the test's
    return cast("Callable[..., Any]", namespace["function"])


# Name, description, types


def test_name_description_and_output_come_from_the_function() -> None:
    @tool
    def list_invoices(customer: str) -> list[Invoice]:
        """Lists invoices.

        The newest come first.

        Args:
            customer: Whose.

        Returns:
            The invoices.
        """
        return []

    assert list_invoices.name == "list_invoices"
    assert list_invoices.description == "Lists invoices.\n\nThe newest come first."
    assert list_invoices.output == list[Invoice]
    assert not list_invoices.repeatable


def test_what_is_given_comes_before_what_is_derived() -> None:
    lifecycle = Lifecycle()
    presenter = Presenter(kinds=frozenset({PartKind.TEXT}), present=lambda output: [])

    @tool(
        name="invoices.list",
        description="Shows invoices.",
        output=int,
        presenter=presenter,
        lifecycle=lifecycle,
        scope="eu",
        read_only=True,
        idempotent=True,
        timeout=2.0,
    )
    def function() -> str:
        """Something else."""
        return ""

    assert (function.name, function.description, function.output) == ("invoices.list", "Shows invoices.", int)
    assert (function.presenter, function.lifecycle, function.scope) == (presenter, lifecycle, "eu")
    assert (function.read_only, function.idempotent, function.timeout) == (True, True, 2.0)


@pytest.mark.parametrize("returned", [None, Any])
def test_a_function_that_promises_nothing_has_no_output_type(returned: Any) -> None:
    def function() -> None: ...

    function.__annotations__["return"] = returned
    assert tool(function).output is None


def test_a_function_without_a_docstring_has_an_empty_description() -> None:
    @tool
    def function() -> None: ...

    assert function.description == ""


# The schema


@pytest.mark.rule("CAT-7")
def test_the_signature_becomes_an_object_schema_that_takes_nothing_else() -> None:
    @tool
    def search(
        query: str, limit: Annotated[int, Field(ge=1, le=50)] = 20, *, order: Literal["new", "old"] = "new"
    ) -> None: ...

    assert search.input.json_schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 20},
            "order": {"enum": ["new", "old"], "type": "string", "default": "new"},
        },
        "required": ["query"],
    }
    with pytest.raises(InputRejectedError, match="holds a field that is not known here"):
        search.input.validate({"query": "x", "planted": 1})


@pytest.mark.parametrize(
    "docstring",
    [
        "Sends.\n\nArgs:\n    to: The receiver.\n    text: From the docstring.",
        "Sends.\n\nParameters\n----------\nto : str\n    The receiver.\ntext : str\n    From the docstring.",
        "Sends.\n\n:param to: The receiver.\n:param text: From the docstring.",
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_a_docstring_describes_the_parameters_that_their_annotation_does_not(docstring: str) -> None:
    def send(to: str, text: Annotated[str, Field(description="From the annotation.")]) -> None: ...

    send.__doc__ = docstring
    made = tool(send)
    assert made.description == "Sends."
    assert properties_of(made)["to"]["description"] == "The receiver."
    assert properties_of(made)["text"]["description"] == "From the annotation."


@pytest.mark.rule("CAT-7")
async def test_an_alias_is_what_the_model_writes_and_the_parameter_what_the_function_gets() -> None:
    @tool
    def move(source: Annotated[str, Field(alias="from")]) -> str:
        return source

    assert list(properties_of(move)) == ["from"]
    assert await result_of(move, {"from": "here"}) == "here"


async def test_a_call_context_is_filled_in_and_stands_in_no_schema() -> None:
    @tool
    def whoami(call: CallContext, greeting: str = "hello") -> str:
        return f"{greeting} {call.run_id}"

    assert list(properties_of(whoami)) == ["greeting"]
    assert await result_of(whoami, {}) == "hello run-1"
    with pytest.raises(InputRejectedError):
        whoami.input.validate({"call": {"run_id": "forged"}})


async def test_an_optional_call_context_is_never_the_models_to_fill_in() -> None:
    def whoami(call: CallContext | None = None) -> str:
        return "nobody" if call is None else call.run_id

    try:
        made = tool(whoami)
    except ConfigurationError:
        return
    assert "call" not in properties_of(made)


async def test_defaults_reach_the_function_and_are_not_shared_between_calls() -> None:
    @tool
    def collect(item: str, into: list[str] = []) -> list[str]:  # noqa: B006 - what is tested
        into.append(item)
        return into

    assert await result_of(collect, {"item": "a"}) == ["a"]
    assert await result_of(collect, {"item": "b"}) == ["b"]


async def test_values_reach_the_function_as_the_types_it_asks_for() -> None:
    @tool
    async def number(invoice: Invoice, factor: int | str) -> str:
        return f"{type(invoice).__name__} {invoice.number} {factor!r}"

    assert await result_of(number, {"invoice": {"number": 3}, "factor": 2}) == "Invoice 3 2"


async def test_with_an_explicit_input_model_the_function_takes_one_instance() -> None:
    @tool(input=Wanted)
    def sync_tool(wanted: Wanted) -> bool:
        return wanted.overdue

    @tool(input=Wanted)
    async def async_tool(wanted: Wanted, *, call: CallContext) -> str:
        return f"{wanted.overdue} {call.tool}"

    assert properties_of(sync_tool) == {"overdue": {"type": "boolean", "default": False}}
    assert await result_of(sync_tool, {"overdue": True}) is True
    assert await result_of(async_tool, {}) == "False any"


@pytest.mark.rule("MNT-5")
def test_a_sync_function_stays_sync_and_an_async_one_async() -> None:
    def sync_function(x: int) -> int:
        return x

    async def async_function(x: int) -> int:
        return x

    assert not inspect.iscoroutinefunction(tool(sync_function).handler)
    assert inspect.iscoroutinefunction(tool(async_function).handler)
    assert inspect.iscoroutinefunction(tool(input=Wanted)(async_function).handler)
    assert not inspect.iscoroutinefunction(tool(input=Wanted)(sync_function).handler)


# What is refused


def test_a_parameter_that_a_model_could_not_name_is_refused() -> None:
    def positional(x: int, /) -> None: ...
    def variable(*items: int) -> None: ...
    def anything(**fields: int) -> None: ...

    refused: list[tuple[Callable[..., Any], str]] = [(positional, "x"), (variable, "items"), (anything, "fields")]
    for function, name in refused:
        with pytest.raises(ConfigurationError, match=f"tool {function.__name__}: parameter '{name}' has no name"):
            tool(function)


def test_a_parameter_without_a_type_is_refused() -> None:
    def untyped(x) -> None: ...  # type: ignore[no-untyped-def]

    with pytest.raises(ConfigurationError, match="tool untyped: parameter 'x' needs a type annotation"):
        tool(untyped)


def test_an_annotation_that_cannot_be_resolved_is_refused_by_its_name() -> None:
    def function(x: int) -> None: ...

    function.__annotations__["x"] = "Missing"
    with pytest.raises(ConfigurationError, match="tool function: the annotation 'Missing' cannot be resolved"):
        tool(function)


def test_a_type_without_a_schema_is_refused() -> None:
    class Foreign:
        pass

    def function(x: int) -> None: ...

    function.__annotations__["x"] = Foreign
    with pytest.raises(ConfigurationError, match="tool function: its signature has no JSON Schema"):
        tool(function)


@pytest.mark.parametrize("name", ["text", "self", "cls", "model", "model_name", "json", "schema", "copy", "validate"])
async def test_a_parameter_may_have_any_ordinary_name(name: str) -> None:
    made = tool(with_parameter(name))
    assert list(properties_of(made)) == [name]
    assert await result_of(made, {name: "x"}) == "x"


@pytest.mark.parametrize("name", ["_hidden", "model_config", "model_dump", "model_fields", "model_extra"])
async def test_a_parameter_that_cannot_be_a_field_is_refused_and_never_silently_lost(name: str) -> None:
    try:
        made = tool(with_parameter(name))
    except ConfigurationError as error:
        assert repr(name) in str(error)  # noqa: PT017 - either outcome is right; losing the parameter is not
        return
    assert list(properties_of(made)) == [name]
    assert await result_of(made, {name: "x"}) == "x"


@pytest.mark.rule("CAT-2")
def test_a_function_without_a_name_of_its_own_is_a_fault_of_the_catalog() -> None:
    with pytest.raises(CatalogError, match="the name must match"):
        build_catalog([tool(lambda: None)])
