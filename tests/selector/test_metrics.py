"""Metrics of a real `serve` process: what a scrape says, who may see it, and what never stands in it."""

from __future__ import annotations

import argparse
import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest
import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import default_embedder
from selector.access import KEY_BYTES, hashed, key_of
from selector.commands.observing import MOST, add_metrics_port, scraped
from surface.adapters.command_line import WrongUseError
from tests.selector.builders import APPLICATION, SURFACE, TOOLS, put
from tests.selector.server_process import DEADLINE, REPOSITORY, ServerProcess, running_server, until

OPERATOR, OWN = key_of(b"o" * KEY_BYTES), key_of(b"n" * KEY_BYTES)
MARKER = "s3cret-marker"
_KEYS = f"""
[[key]]
id = "operator"
hashes = ["{hashed(OPERATOR)}"]
surfaces = {{ "*" = ["*"] }}

[[key]]
id = "own"
hashes = ["{hashed(OWN)}"]
surfaces = {{ {APPLICATION} = ["*"] }}
"""
_METRIC = re.compile(r"\b(?:toolsurface|process)_[a-z_]+")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def metrics_url() -> str:
    return f"http://127.0.0.1:{_free_port()}/metrics"


@pytest.fixture(scope="module")
def began() -> float:
    return time.time()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, metrics_url: str, began: float) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("metrics")
    (folder / "store").mkdir()
    put(DirectoryStore(folder / "store"), {SURFACE: TOOLS}, embedder=default_embedder(threads=1))
    (folder / "keys.toml").write_text(_KEYS)
    port = metrics_url.removesuffix("/metrics").rpartition(":")[2]
    arguments = ["--keys", str(folder / "keys.toml"), "--metrics-port", port]
    with running_server(folder / "store", *arguments, log=folder / "log") as server:
        _ask(server, "delete a file")
        _ask(server, "delete a file")
        _ask(server, "how tall is the Eiffel tower")
        _ask(server, MARKER, surface="asked-only")
        httpx2.get(f"{server.url}/{MARKER}?{MARKER}={MARKER}", headers={MARKER: MARKER, "authorization": MARKER})
        httpx2.request(MARKER.upper(), server.url)
        yield server


def _ask(server: ServerProcess, query: str, *, surface: str = SURFACE) -> None:
    path = f"/v1/applications/{APPLICATION}/surfaces/{surface}/rank"
    headers = {"authorization": f"Bearer {OPERATOR}"}
    httpx2.post(server.url + path, json={"query": query, "limit": 5}, headers=headers)


def _scraped(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_scrape_counts_requests_answers_and_where_they_came_from(
    server: ServerProcess, metrics_url: str, began: float
) -> None:
    found = _scraped(httpx2.get(metrics_url).text)

    def value(name: str, **labels: str) -> float:
        return found[name, frozenset(labels.items())]

    route = "/v1/applications/{application}/surfaces/{surface}/rank"
    assert value("toolsurface_http_requests_total", method="POST", route=route, status="200", code="") == 3
    assert (
        value("toolsurface_http_requests_total", method="POST", route=route, status="404", code="unknown_surface") == 1
    )
    assert value("toolsurface_http_requests_total", method="GET", route="none", status="401", code="unauthorised") == 1
    assert value("toolsurface_http_request_seconds_count", route=route) == 4
    of_surface = {"application": APPLICATION, "surface": SURFACE}
    assert value("toolsurface_answers_total", **of_surface, outcome="ranked") == 2
    assert value("toolsurface_answers_total", **of_surface, outcome="abstained") == 1
    assert value("toolsurface_refusals_total", code="unknown_surface") == 1
    assert value("toolsurface_rankings_total", source="computed") == 2
    assert value("toolsurface_rankings_total", source="cache") == 1
    for stage in ("embed", "words", "vectors", "fuse"):
        assert value("toolsurface_stage_seconds_count", stage=stage) == 2
    assert value("toolsurface_served_tools", **of_surface) == len(TOOLS)
    assert value("toolsurface_queries_waiting") == 0
    assert value("toolsurface_store_unreadable") == 0
    assert value("toolsurface_store_refreshes_total") >= 1
    assert began <= value("toolsurface_store_refreshed_timestamp_seconds") <= time.time()


@pytest.mark.rule("EVD-2")
def test_nothing_that_was_sent_stands_in_a_scrape_or_in_the_log(server: ServerProcess, metrics_url: str) -> None:
    scrape, log = httpx2.get(metrics_url).text, server.log.read_text()
    assert "asked-only" not in scrape  # nor is the name of a surface that nobody serves a label
    for sent in (MARKER, MARKER.upper(), "Eiffel", "delete a file", OPERATOR):
        assert sent not in scrape
        assert sent not in log


async def test_what_was_counted_of_a_surface_ends_when_it_is_served_no_more(tmp_path: Path) -> None:
    port = _free_port()
    store, model = DirectoryStore(tmp_path), default_embedder(threads=1)

    def counted() -> set[str]:
        found = _scraped(httpx2.get(f"http://127.0.0.1:{port}/metrics").text)
        return {dict(labels)["surface"] for name, labels in found if name == "toolsurface_answers_total"}

    put(store, {SURFACE: TOOLS, "writer": TOOLS}, embedder=model)
    with running_server(tmp_path, "--metrics-port", str(port), log=tmp_path / "log") as server:
        for surface in (SURFACE, "writer"):
            _ask(server, "delete a file", surface=surface)
        assert counted() == {SURFACE, "writer"}
        put(store, {SURFACE: TOOLS}, embedder=model)
        await until(lambda: counted() == {SURFACE})


def test_the_scrape_on_the_service_itself_is_an_operators(server: ServerProcess) -> None:
    asked = {
        key: httpx2.get(f"{server.url}/metrics", headers={"authorization": f"Bearer {key}"}) for key in (OPERATOR, OWN)
    }
    assert "toolsurface_build_info" in asked[OPERATOR].text
    assert asked[OWN].status_code == 404
    assert asked[OWN].json()["code"] == "unknown_path"
    assert httpx2.get(f"{server.url}/metrics").status_code == 401


@pytest.mark.parametrize(("arguments", "reached"), [((), False), (("--metrics-host", "0.0.0.0"), True)])
def test_a_scrape_without_a_key_is_answered_to_this_machine_only_unless_an_address_is_named_and_told(
    arguments: tuple[str, ...], *, reached: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    port = _free_port()
    with scraped(_parsed("--metrics-port", str(port), *arguments), CollectorRegistry(), patience=10):
        assert httpx2.get(f"http://127.0.0.1:{port}/metrics").status_code == 200
        # Another address of this machine: it answers where all of them are listened on.
        with socket.socket() as other:
            assert (other.connect_ex(("127.0.0.2", port)) == 0) is reached
    assert ("it needs no key" in capsys.readouterr().err) is reached


async def test_strangers_who_send_nothing_are_few_and_are_let_go_and_the_scrape_is_answered_again(
    tmp_path: Path,
) -> None:
    port = _free_port()
    with running_server(tmp_path, "--metrics-port", str(port), "--patience", "2", log=tmp_path / "log") as server:

        def threads() -> int:
            return len(list(Path(f"/proc/{server.process.pid}/task").iterdir()))

        def scraped_now() -> bool:
            try:
                return httpx2.get(f"http://127.0.0.1:{port}/metrics").status_code == 200
            except httpx2.TransportError:
                return False

        before = threads()
        with ExitStack() as held:
            silent = [
                held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=DEADLINE))
                for _ in range(2 * MOST)
            ]
            assert silent[-1].recv(1) == b""
            assert threads() <= before + MOST
            assert httpx2.get(f"{server.url}/health/live").status_code == 200
            assert [each.recv(1) for each in silent] == [b""] * len(silent)
            await until(scraped_now)
        assert server.stop() == 0
        assert "Traceback" not in server.log.read_text()


def test_an_address_for_the_scrape_without_a_port_is_wrong_use() -> None:
    with (
        pytest.raises(WrongUseError, match="--metrics-port"),
        scraped(_parsed("--metrics-host", "::1"), CollectorRegistry(), patience=10),
    ):
        pass


def _parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_metrics_port(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize("file", ["grafana-dashboard.json", "prometheus-alerts.yaml"])
def test_every_metric_of_the_dashboard_and_of_the_alerts_exists(
    server: ServerProcess, metrics_url: str, file: str
) -> None:
    text = (REPOSITORY / "deployment" / file).read_text()
    plain = json.loads(text) if file.endswith(".json") else yaml.safe_load(text)
    used = {name for expression in _expressions(plain) for name in _METRIC.findall(expression)}
    # A family without a sample has its name in the comments of a scrape.
    scrape = httpx2.get(metrics_url).text
    assert used
    assert {name for name in used if not re.search(rf"\b{name}\b", scrape)} == set()


def _families(names: set[str]) -> set[str]:
    """Names without what a kind of metric adds to its family's."""
    return {re.sub(r"_(?:total|bucket|sum|count|created)$", "", name) for name in names}


@pytest.mark.usefixtures("server")
def test_every_metric_is_on_a_panel_or_told_not_to_be_and_each_stands_in_the_table(metrics_url: str) -> None:
    scrape = httpx2.get(metrics_url).text
    ours = _families(set(re.findall(r"^# TYPE (toolsurface_\w+) ", scrape, re.MULTILINE)))
    dashboard = json.loads((REPOSITORY / "deployment" / "grafana-dashboard.json").read_text())
    shown = _families({name for each in _expressions(dashboard["panels"]) for name in _METRIC.findall(each)})
    page = (REPOSITORY / "docs" / "observability.md").read_text()
    left_out = _families(set(_METRIC.findall(page[page.index("Not on a panel") :].partition("`deployment/prom")[0])))
    assert left_out
    assert ours - shown == left_out
    table = "".join(line for line in page.splitlines() if line.startswith("| `toolsurface_"))
    assert _families(set(_METRIC.findall(table))) == ours


def _expressions(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "expr":
                yield value
            else:
                yield from _expressions(value)
    elif isinstance(node, list):
        for each in node:
            yield from _expressions(each)
