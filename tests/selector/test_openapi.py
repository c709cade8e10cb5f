"""The OpenAPI document: valid, bounded, with an example for everything, and each example what the service says."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, get_args

import httpx2
import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from prometheus_client import CollectorRegistry

from indexer.catalog_file import Catalog
from indexer.deploy import deploy
from indexer.memory_store import MemoryStore
from models.adapters.onnx import default_embedder
from selector.access import EVERYTHING
from selector.adapters.http_api import build_app
from selector.adapters.openapi_examples import QUERY, UNANSWERABLE
from selector.adapters.problems import PROBLEMS, Code
from selector.adapters.routes.explaining import explaining_routes
from selector.adapters.routes.metrics import metrics_routes
from selector.explaining import Explainer
from selector.service import Selector
from tests.selector.builders import library_over
from tests.selector.server_process import REPOSITORY

CATALOG = REPOSITORY / "deployment" / "example" / "catalog.json"
SURFACE = "/v1/applications/shop/surfaces/clerk"
TEMPLATE = "/v1/applications/{application}/surfaces/{surface}"


@pytest.fixture(scope="module")
def app() -> Iterator[Any]:
    embedder, store = default_embedder(threads=1), MemoryStore()
    catalog = Catalog.model_validate_json(CATALOG.read_bytes())
    deploy(catalog, embedder=embedder, store=store, now=lambda: datetime.now(UTC))
    library = library_over(store, embedder)
    library.refresh()
    with ThreadPoolExecutor(1) as executor:
        parts: Any = {"indexes": library, "embedder": embedder, "executor": executor}
        yield build_app(
            ranker=Selector(**parts),
            served=lambda: library.served,
            access=lambda key: EVERYTHING if key == "ours" else None,
            routers=[explaining_routes(Explainer(**parts)), metrics_routes(CollectorRegistry())],
        )


@pytest.fixture
async def http(app: Any) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"authorization": "Bearer ours"}
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://selector", headers=headers) as client:
        yield client


@pytest.fixture
async def document(http: httpx2.AsyncClient) -> dict[str, Any]:
    document: dict[str, Any] = (await http.get("/openapi.json")).json()
    return document


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield f"{method} {path}", operation


def _examples(document: dict[str, Any], content: dict[str, Any]) -> list[Any]:
    """The values of all examples of one media type."""
    found = list(content.get("examples", {}).values())
    named = [example for example in found if "$ref" in example]
    shared = [document["components"]["examples"][example["$ref"].rpartition("/")[2]] for example in named]
    alone = [content["example"]] if "example" in content else []
    return [example["value"] for example in (*(each for each in found if each not in named), *shared)] + alone


async def test_the_document_keeps_the_specification(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    validate(document)


async def test_every_answer_has_examples_and_each_keeps_its_schema(document: dict[str, Any]) -> None:
    for name, operation in _operations(document):
        assert {"400", "200"} <= set(operation["responses"]), name
        for status, response in operation["responses"].items():
            assert response["content"], (name, status)
            for content in response["content"].values():
                examples = _examples(document, content)
                assert examples, (name, status)
                schema = {**content["schema"], "components": document["components"]}
                for example in examples:
                    Draft202012Validator(schema).validate(example)


async def test_every_body_has_an_example_that_the_service_answers(
    http: httpx2.AsyncClient, document: dict[str, Any]
) -> None:
    bodies = [(path, operations["post"]) for path, operations in document["paths"].items() if "post" in operations]
    assert len(bodies) == 3
    for path, operation in bodies:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        (example,) = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["examples"]
        response = await http.post(path.replace("{application}", "shop").replace("{surface}", "clerk"), json=example)
        assert response.status_code == 200


def test_every_code_has_a_status_and_words_of_its_own() -> None:
    assert set(PROBLEMS) == set(get_args(Code))
    assert len({told for _, told in PROBLEMS.values()}) == len(PROBLEMS)


async def test_every_code_is_an_example_or_is_told_of_all_paths_together(document: dict[str, Any]) -> None:
    shown = {
        example["code"]
        for _, operation in _operations(document)
        for response in operation["responses"].values()
        for example in _examples(document, response["content"].get("application/problem+json", {}))
    }
    told = set(re.findall(r"`([a-z_]+)`", document["info"]["description"])) - {"code"}
    assert shown | told == set(get_args(Code))
    schema = document["components"]["schemas"]["Problem"]["properties"]["code"]
    assert set(schema["enum"]) == set(get_args(Code))


async def test_every_list_has_a_bound(document: dict[str, Any]) -> None:
    def lists(node: Any, at: str) -> Iterator[tuple[str, Any]]:
        if isinstance(node, dict):
            if node.get("type") == "array":
                yield at, node
            for key, each in node.items():
                yield from lists(each, f"{at}/{key}")

    found = dict(lists(document["components"]["schemas"], ""))
    assert len(found) >= 8
    assert [at for at, node in found.items() if "maxItems" not in node] == []


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return round(value, 2) if isinstance(value, float) else value


async def test_the_examples_are_what_a_service_answers_about_the_example_catalog(
    http: httpx2.AsyncClient, document: dict[str, Any]
) -> None:
    examples = {name: each["value"] for name, each in document["components"]["examples"].items()}

    async def answer(route: str, body: dict[str, Any]) -> Any:
        return _rounded((await http.post(f"{SURFACE}/{route}", json={**body, "limit": 3})).json())

    assert await answer("rank", {"query": QUERY}) == examples["several_tools"]
    assert await answer("rank", {"query": UNANSWERABLE}) == examples["nothing_fits"]
    assert await answer("rank-batch", {"queries": [QUERY, UNANSWERABLE]}) == examples["several_queries"]
    explained = await answer("explain", {"query": QUERY})
    shown = examples["explanation"]
    for part in ("ranked", "left_out"):  # the example shows the first of each
        assert explained[part][:1] == shown[part]
    assert {**explained, "ranked": [], "left_out": []} == {**shown, "ranked": [], "left_out": []}

    served = (await http.get("/v1/applications")).json()
    release = served["applications"]["shop"]["release"]
    # A release's id covers its moment.
    assert {**served["applications"]["shop"], "release": examples["one_application"]["release"]} == examples[
        "one_application"
    ]
    assert re.fullmatch("[0-9a-f]{32}", release)
    assert (await http.get("/health/live")).json() == examples["alive"]
    assert (await http.get("/health/ready", headers={"authorization": ""})).json() == examples["ready"]
    ready = (await http.get("/health/ready")).json()
    assert set(ready) == set(examples["ready_for_an_operator"])


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        ("400", {"query": "a", "limit": 5}, {"X-Request-Deadline-Ms": "soon"}),
        ("401", {"query": "a", "limit": 5}, {"authorization": ""}),
        ("422", {"query": "a", "limit": 101}, {}),
        ("422", ["a"], {}),
    ],
)
async def test_the_refusals_are_those_that_are_shown(
    http: httpx2.AsyncClient, document: dict[str, Any], status: str, body: Any, headers: dict[str, str]
) -> None:
    response = await http.post(f"{SURFACE}/rank", json=body, headers=headers)
    shown = document["paths"][f"{TEMPLATE}/rank"]["post"]["responses"][status]
    assert response.json() in _examples(document, shown["content"]["application/problem+json"])
    assert response.headers.keys() - {"content-type", "content-length"} == {name.lower() for name in shown["headers"]}


def test_the_page_about_the_service_shows_the_same_answer_and_names_every_code(app: Any) -> None:
    page = (REPOSITORY / "docs" / "service.md").read_text()
    blocks = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    asked, answered = (json.loads(block) for block in blocks[:2])
    assert asked["query"] == QUERY
    assert [each["name"] for each in answered["ranked"]] == ["overdue_invoices", "send_reminder"]
    table = page[page.index("| status | `code` |") :].partition("\n\n")[0]
    assert set(re.findall(r"`([a-z_]+)`", table)) - {"code"} == set(get_args(Code))
