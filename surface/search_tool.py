"""What a model reads of the search tool: its name, its description, its one argument (SRC-10).

The description says when to search and, within a byte ceiling, what the surface covers: service names and how many
tools each has. It is made from the catalog alone, so its bytes are the same in every step.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from surface.catalog import Catalog, ManifestEntry
from surface.input_model import PydanticInput

DEFAULT_NAME = "search_tools"
MAX_COVERAGE_BYTES = 1_024
"""The most that the list of what a surface covers may add to the description, in bytes: service names are ASCII."""


class SearchInput(BaseModel):
    # The search tool's arguments. No docstring: it would stand in the schema that every step sends.
    model_config = ConfigDict(extra="forbid")

    query: str = Field(description="What you want to do, in plain words. Name every need when there are several.")

    @field_validator("query")
    @classmethod
    def _not_blank(cls, query: str) -> str:
        if not query.strip():
            raise PydanticCustomError("blank", "must not be blank")
        return query


SEARCH_INPUT = PydanticInput(SearchInput)


def search_query(arguments: Any) -> str:
    """The query in the raw arguments of a search call; raises InputRejectedError."""
    validated = SEARCH_INPUT.validate(arguments)
    return SearchInput.model_validate(validated).query


def search_entry(name: str, catalog: Catalog) -> ManifestEntry:
    """The search tool of a surface, as a manifest entry."""
    description = (
        "Finds the tools for a task. Most tools of this catalog are not listed: search before you conclude that "
        "something cannot be done, or when the listed tools do not fit. The tools found become callable by name in "
        f"your next step. {_coverage(catalog)}"
    )
    return ManifestEntry.of(name, description, SEARCH_INPUT.json_schema)


def _coverage(catalog: Catalog) -> str:
    counts = Counter(made.tool.service for made in catalog.tools.values() if made.tool.service is not None)
    total = f"The catalog holds {len(catalog)} tools"
    if not counts:
        return f"{total}."
    listed: list[str] = []
    for service, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        longer = [*listed, f"{service} {count}"]
        if len(", ".join(longer)) > MAX_COVERAGE_BYTES:
            return f"{total}, among them: {', '.join(listed)}."
        listed = longer
    return f"{total}: {', '.join(listed)}."
