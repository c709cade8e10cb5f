"""Arguments as the model wrote them, carried through pydantic-ai to the library, which validates its own tools."""

from __future__ import annotations

from typing import Any

from surface.adapters.message_values import arguments_of


class _Odd(dict[str, Any]):
    """Arguments that are no object, as pydantic-ai can carry them."""

    value: Any


class _Anything:
    """Takes arguments as they are."""

    def validate_json(self, input: Any, **_: Any) -> dict[str, Any]:  # noqa: A002 - the protocol's name
        """The object in a JSON text."""
        return self.validate_python(arguments_of(input))

    def validate_python(self, input: Any, **_: Any) -> dict[str, Any]:  # noqa: A002 - the protocol's name
        """The object itself."""
        if isinstance(input, dict):
            return input
        odd = _Odd()
        odd.value = input
        return odd


ANYTHING = _Anything()
"""The validator of every tool that the library answers."""


def as_written(arguments: dict[str, Any]) -> Any:
    """The JSON value that the model wrote, whatever it is."""
    return arguments.value if isinstance(arguments, _Odd) else arguments
