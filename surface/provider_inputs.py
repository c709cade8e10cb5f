"""What providers refuse in an input schema, though it is a JSON Schema of an object (CAT-7).

A provider that refuses one tool refuses the request, with every other tool in it; and a selected tool is in every
request that follows. So such a tool fails where it is mounted.

What each of them refuses is what its API answers, not what its pages say: Anthropic `tools.0.custom.input_schema`
("does not support oneOf, allOf, or anyOf at the top level", "Property keys should match pattern"), OpenAI
`invalid_function_parameters` ("not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level", "object schema missing
properties"). Judged here is the top alone; what a provider finds wrong further down, such as a list without `items`, is
not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surface.catalog_rules import shown
from surface.identity import KEY


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRules:
    """What may stand at the top of an input schema; by itself, everything."""

    argument_name: re.Pattern[str] | None = None
    """What an argument's name must match in full."""
    refused: frozenset[str] = frozenset()
    """Keywords that must not stand beside `type` and `properties`."""

    def refused_names(self, schema: Mapping[str, Any]) -> list[str]:
        """The names of arguments that are not carried, in the order of the schema."""
        properties = schema.get("properties")
        if self.argument_name is None or not isinstance(properties, Mapping):
            return []
        return [name for name in properties if self.argument_name.fullmatch(name) is None]

    def refused_keywords(self, schema: Mapping[str, Any]) -> list[str]:
        """The keywords that are not carried, sorted."""
        return sorted(self.refused & schema.keys())

    def problems(self, schema: Mapping[str, Any]) -> list[str]:
        """What keeps a tool of this input from being carried, each with what mends it."""
        pattern = "" if self.argument_name is None else self.argument_name.pattern
        names = [f"its argument {shown(name)} must match {pattern}" for name in self.refused_names(schema)]
        return names + [
            f"its input schema has {keyword} at its top; put it into an argument, or let the tool check it"
            for keyword in self.refused_keywords(schema)
        ]


def with_properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same input with its arguments said, though there are none: an MCP server may leave out what OpenAI wants."""
    return schema if "properties" in schema else {**schema, "properties": {}}


ANY_INPUT = InputRules()
ANTHROPIC = InputRules(argument_name=KEY, refused=frozenset({"allOf", "anyOf", "oneOf"}))
OPENAI = InputRules(refused=frozenset({"allOf", "anyOf", "const", "enum", "not", "oneOf"}))
EVERY_PROVIDER = InputRules(argument_name=KEY, refused=ANTHROPIC.refused | OPENAI.refused)
"""What no provider known here refuses."""
