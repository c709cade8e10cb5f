"""Tools, catalogs and artefacts for tests, and the strategies that draw them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from indexer.artefact import Artefact
from indexer.build import build
from indexer.catalog_file import Catalog, CatalogTool, SurfaceCatalog
from indexer.document import documents_of
from indexer.release import Release, ReleasedSurface
from models.hashing import HashingEmbedder

EMBEDDER = HashingEmbedder(dimension=16)
NOW = datetime(2026, 12, 2, 12, tzinfo=UTC)


def tool(name: str, description: str = "Does a thing.", **other: Any) -> CatalogTool:
    schema = other.pop("input_schema", {"type": "object", "properties": {}})
    return CatalogTool(name=name, description=description, input_schema=schema, **other)


def catalog(*, application: str = "app", deploy: str = "d1", **surfaces: list[CatalogTool]) -> Catalog:
    return Catalog(
        application=application,
        deploy=deploy,
        surfaces={key: SurfaceCatalog(tools=tuple(tools)) for key, tools in surfaces.items()},
    )


def tool_json(name: Any = "a", /, **changed: Any) -> dict[str, Any]:
    return {"name": name, "description": "Does a thing.", "input_schema": {"type": "object"}} | changed


def catalog_json(*tools: Any, **changed: Any) -> bytes:
    surfaces = {"reader": {"always_on": changed.pop("always_on", []), "tools": list(tools)}}
    frame = {"version": 1, "application": "app", "deploy": "d1", "surfaces": surfaces}
    return json.dumps(frame | changed).encode()


def artefact(*names: str, application: str = "app", surface: str = "reader", describe: str = "Handles") -> Artefact:
    tools = [tool(name, f"{describe} {name}") for name in names or ("create_issue", "delete_branch", "list_files")]
    return build(documents_of(tools), application=application, surface=surface, embedder=EMBEDDER)


def release(*artefacts: Artefact, deploy: str = "d1") -> Release:
    return Release(
        application=artefacts[0].manifest.application,
        deploy=deploy,
        surfaces={
            one.manifest.surface: ReleasedSurface(version=one.version, catalog_digest=one.manifest.catalog_digest)
            for one in artefacts
        },
    )


names = st.from_regex(r"[A-Za-z0-9_.-]{1,12}", fullmatch=True)
# Few letters and words, so that words and texts are shared between tools.
prose = st.lists(
    st.sampled_from("list delete files of the issue Übersicht 文件 createUser2 a_b".split()), max_size=8
).map(" ".join)
schemas = st.dictionaries(
    names, st.fixed_dictionaries({"type": st.just("string"), "description": prose}), max_size=3
).map(lambda properties: {"type": "object", "properties": properties})
tools = st.lists(
    st.builds(CatalogTool, name=names, description=prose, input_schema=schemas, service=st.none() | st.just("files")),
    max_size=12,
    unique_by=lambda one: one.name,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
