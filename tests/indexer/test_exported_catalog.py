"""What a surface exports is what the indexer reads, down to the digests: the hand-over between two parts."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel, Field

from indexer.build import build
from indexer.catalog_file import read_catalog
from indexer.document import documents_of
from surface.export import export_catalog
from surface.input_model import PydanticInput
from surface.limits import Limits
from surface.registry import Surface, build_registry
from surface.tool import Service, Tool
from tests.indexer.samples import EMBEDDER


class Node(BaseModel):
    """A schema of every kind: recursion, an alias, an enum, a default, a union, numbers that are floats."""

    value: Literal["ä", "b"] = Field(alias="Wert", description="Der Wert")
    weight: float = 1.0
    child: Node | None = None


def handler(given: Node) -> None:
    """Does nothing."""


def test_an_exported_catalog_is_read_whole_and_its_digests_are_the_surfaces_own() -> None:
    services = Service(
        name="files", tools=[Tool(name="list", description="Lists.", input=PydanticInput(Node), handler=handler)]
    )
    runtime = Tool(name="tree", description="Über Bäume.", input=PydanticInput(Node), handler=handler, read_only=True)
    surface = Surface(key="reader", tools=[services, runtime], always_on=["tree"])
    registry = build_registry("app", [surface], limits=Limits(), search_tool="tool_search")
    catalog = read_catalog(json.dumps(export_catalog(registry)).encode()).catalog
    own = registry.surfaces["reader"].catalog
    documents = documents_of(catalog.surfaces["reader"].tools)
    assert {document.name: document.digest for document in documents} == {
        name: made.digest for name, made in own.tools.items()
    }
    artefact = build(documents, application="app", surface="reader", embedder=EMBEDDER)
    assert artefact.manifest.catalog_digest == own.digest
    assert catalog.surfaces["reader"].always_on == ("tree",)
