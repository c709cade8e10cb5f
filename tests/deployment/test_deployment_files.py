"""What the deployment files name exists: commands and their options, paths, ports, labels, secrets, versions.

Whether they are valid Dockerfile, compose and Kubernetes is `make check`'s matter, by the schemas of each.
"""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from deployment.image import DEPLOYING, NEW_KEY, SERVING
from indexer.adapters.opening import PASSWORD_VARIABLE, open_store
from indexer.adapters.usual_index import open_artefact
from indexer.catalog_file import read_catalog
from indexer.memory_store import MemoryStore
from models.hashing import HashingEmbedder
from selector.adapters.http_api import build_app
from selector.adapters.http_server import GRACE
from selector.library import Library
from selector.service import Selector
from surface.adapters.command_line import GROUP

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
MANIFESTS = {
    path.name: [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one]
    for path in sorted((ROOT / "deployment" / "kubernetes").glob("*.yaml"))
}
PORT = 8080
USER = 10_001


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A command line in one of the files."""

    where: str
    words: list[str]


def pods() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every pod template of the manifests, by what it belongs to."""
    for one in (each for manifests in MANIFESTS.values() for each in manifests):
        spec = one.get("spec", {})
        template = spec.get("jobTemplate", {}).get("spec", spec).get("template")
        if template is not None:
            yield f"{one['kind']} {one['metadata']['name']}", template


def calls() -> Iterator[Call]:
    (words,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    yield Call(where="Dockerfile", words=json.loads(words))
    for name, service in COMPOSE["services"].items():
        if service.get("image", "").startswith("toolsurface:"):
            yield Call(where=f"docker-compose.yml {name}", words=service["command"])
    for name, template in pods():
        for container in template["spec"]["containers"]:
            yield Call(where=name, words=container["args"])
    for line in (NEW_KEY, DEPLOYING, SERVING):
        yield Call(where=f"image.py {line[0]}", words=[*line])


CALLS = list(calls())


def parsed(call: Call) -> argparse.Namespace:
    name, *words = call.words
    (entry,) = [each for each in entry_points(group=GROUP) if each.name == name]
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    entry.load().configure(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.where)
def test_every_command_line_is_one_that_the_command_takes(call: Call) -> None:
    arguments = parsed(call)
    assert call.words[0] == "key" or open_store(arguments.store) is not None


def test_services_and_jobs_are_all_looked_at() -> None:
    assert {call.words[0] for call in CALLS} == {"serve", "deploy", "prune", "key"}
    assert len(CALLS) == 10


def test_a_service_computes_in_as_many_threads_as_its_container_has_cores() -> None:
    (template,) = [template for name, template in pods() if name.startswith("Deployment")]
    (container,) = template["spec"]["containers"]
    granted = {"Deployment toolsurface-selector": container["resources"]["requests"]["cpu"]}
    for name, service in COMPOSE["services"].items():
        if name.startswith("selector"):
            granted[f"docker-compose.yml {name}"] = service["deploy"]["resources"]["limits"]["cpus"]
    threads = {call.where: parsed(call).threads for call in CALLS if call.where in granted}
    assert threads == {where: int(cores) for where, cores in granted.items()}


@pytest.mark.parametrize("call", [call for call in CALLS if call.words[0] == "serve"], ids=lambda call: call.where)
def test_a_service_that_listens_beyond_its_machine_asks_for_keys_and_its_port_is_the_published_one(call: Call) -> None:
    arguments = parsed(call)
    assert (arguments.host, arguments.port) == ("0.0.0.0", PORT)
    assert arguments.keys is not None


async def test_the_paths_that_are_probed_answer_without_a_key_and_readiness_waits_for_an_index() -> None:
    library = Library(store=MemoryStore(), open_artefact=open_artefact, model="none")
    with ThreadPoolExecutor(1) as executor:
        selector = Selector(indexes=library, embedder=HashingEmbedder(), executor=executor)
    app = build_app(ranker=selector, served=lambda: library.served)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://service") as http:
        answers = {path: (await http.get(path)).status_code for path in ("/health/live", "/health/ready")}
    assert answers == {"/health/live": 200, "/health/ready": 503}
    (template,) = [template for name, template in pods() if name.startswith("Deployment")]
    (container,) = template["spec"]["containers"]
    probed = {container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")}
    assert probed == answers.keys()
    (checked,) = re.findall(r"127\.0\.0\.1:(\d+)(/[a-z/]+)", DOCKERFILE)
    assert checked == (str(PORT), "/health/live")


def test_the_metrics_port_is_the_same_for_the_service_for_prometheus_and_for_the_network() -> None:
    (template,) = [template for name, template in pods() if name.startswith("Deployment")]
    (container,) = template["spec"]["containers"]
    arguments = parsed(Call(where="Deployment", words=container["args"]))
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": arguments.port, "metrics": arguments.metrics_port}
    assert arguments.metrics_host == "0.0.0.0"
    assert template["metadata"]["annotations"]["prometheus.io/port"] == str(arguments.metrics_port)
    (policy,) = [one for one in MANIFESTS["network.yaml"] if one["metadata"]["name"] == "toolsurface-selector"]
    allowed = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
    assert allowed == ports.keys()


def test_a_pod_has_time_for_its_drain_and_for_the_requests_in_flight() -> None:
    (template,) = [template for name, template in pods() if name.startswith("Deployment")]
    (container,) = template["spec"]["containers"]
    drain = parsed(Call(where="Deployment", words=container["args"])).drain
    probe = container["readinessProbe"]
    assert drain >= probe["periodSeconds"] * probe["failureThreshold"]
    assert template["spec"]["terminationGracePeriodSeconds"] >= drain + GRACE + 5


def test_every_file_that_a_command_line_names_is_mounted_where_it_says() -> None:
    for name, template in pods():
        for container in template["spec"]["containers"]:
            mounts = [mount["mountPath"] for mount in container.get("volumeMounts", ())]
            for path in re.findall(r"(?:^|=)(/[^ ]+)", "\n".join(container["args"]), re.MULTILINE):
                assert any(path.startswith(f"{mount}/") for mount in mounts), f"{name}: {path}"
    for service in COMPOSE["services"].values():
        for path in re.findall(r"=/run/secrets/(\S+)", "\n".join(service["command"])):
            assert path in service["secrets"]
            assert path in COMPOSE["secrets"]


def test_every_container_is_confined() -> None:
    for name, template in pods():
        spec = template["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["runAsUser"] == USER, name
        assert spec["automountServiceAccountToken"] is False, name
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name
            assert {"requests", "limits"} <= container["resources"].keys(), name
    assert f"USER {USER}:{USER}" in DOCKERFILE
    for name, service in COMPOSE["services"].items():
        if name != "redis":
            assert service["read_only"] is True, name
            assert service["cap_drop"] == ["ALL"], name


def test_a_password_comes_from_a_secret_under_the_name_that_the_store_reads() -> None:
    for name, template in pods():
        (variable,) = template["spec"]["containers"][0]["env"]
        assert variable["name"] == PASSWORD_VARIABLE, name
        assert "secretKeyRef" in variable["valueFrom"], name
    assert not [one for manifests in MANIFESTS.values() for one in manifests if one["kind"] == "Secret"]


def test_the_page_makes_every_secret_and_config_map_that_a_pod_asks_for_and_no_other() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    made = {
        f"{name}/{key}"
        for name, keys in re.findall(r"^kubectl create (?:secret generic|configmap) (\S+) (.+)$", page, re.MULTILINE)
        for key in re.findall(r"--from-(?:file|literal)=([^= ]+)", keys)
    }
    asked = set[str]()
    for name, template in pods():
        spec = template["spec"]
        volumes = {volume["name"]: volume for volume in spec.get("volumes", ())}
        for container in spec["containers"]:
            for variable in container.get("env", ()):
                reference = variable["valueFrom"]["secretKeyRef"]
                asked.add(f"{reference['name']}/{reference['key']}")
            for mount in container.get("volumeMounts", ()):
                volume = volumes[mount["name"]]
                source = volume.get("secret", {}).get("secretName") or volume.get("configMap", {}).get("name")
                named = re.findall(rf"{mount['mountPath']}/(\S+)", "\n".join(container["args"]))
                assert named or source is None, name
                asked |= {f"{source}/{file}" for file in named if source is not None}
    assert made == asked


def test_every_variable_of_ours_that_a_file_names_is_one_that_is_read() -> None:
    defaults = dict(re.findall(r"\$\{(\w+):-\./([^}]+)\}", (ROOT / "docker-compose.yml").read_text(encoding="utf-8")))
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    assert all(file in page for file in defaults.values())
    for file in (
        ROOT / "Dockerfile",
        ROOT / "docker-compose.yml",
        *(ROOT / "deployment" / "kubernetes").glob("*.yaml"),
    ):
        named = set(re.findall(r"\bTOOLSURFACE_\w+", file.read_text(encoding="utf-8")))
        assert named <= {PASSWORD_VARIABLE, *defaults}, file.name


def test_every_selector_of_labels_chooses_the_pods_it_is_meant_for() -> None:
    labels = {name: template["metadata"]["labels"] for name, template in pods()}
    serving = labels["Deployment toolsurface-selector"]
    chosen = {
        f"{one['kind']} {one['metadata']['name']}": one["spec"]
        for manifests in MANIFESTS.values()
        for one in manifests
        if "spec" in one
    }
    assert chosen["Service toolsurface-selector"]["selector"] == serving
    assert chosen["PodDisruptionBudget toolsurface-selector"]["selector"]["matchLabels"] == serving
    assert chosen["NetworkPolicy toolsurface-selector"]["podSelector"]["matchLabels"] == serving
    for spread in chosen["Deployment toolsurface-selector"]["template"]["spec"]["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"] == serving
    assert chosen["HorizontalPodAutoscaler toolsurface-selector"]["scaleTargetRef"]["name"] == "toolsurface-selector"
    for name in ("Job toolsurface-deploy", "CronJob toolsurface-prune"):
        assert chosen["NetworkPolicy toolsurface-indexer"]["podSelector"]["matchLabels"] == labels[name]


def test_what_the_image_is_built_from_is_there_and_reaches_the_builder() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists(), name
            assert f"!{name}" in ignored, name


def test_the_image_is_built_from_all_that_is_packed() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    copied = {
        name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()
    }
    assert set(build["targets"]["wheel"]["packages"]) <= copied


def test_the_example_catalog_is_one() -> None:
    catalog = read_catalog((ROOT / "deployment" / "example" / "catalog.json").read_bytes()).catalog
    assert {key: len(surface.tools) for key, surface in catalog.surfaces.items()} == {"clerk": 8}


def test_the_image_pins_every_library_it_asks_for_to_a_version_in_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    (named,) = re.findall(r"toolsurface-\*\.whl\)\[([a-z,-]+)\]", DOCKERFILE)
    assert f"IMAGE_EXTRAS := {named}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
    wanted, asked = [Requirement(line) for line in project["dependencies"]], set(named.split(","))
    seen: set[str] = set()
    while asked - seen:
        extra = min(asked - seen)
        seen.add(extra)
        for requirement in map(Requirement, extras[extra]):
            if requirement.name == "toolsurface":
                asked |= requirement.extras
            else:
                wanted.append(requirement)
    lines = (ROOT / "deployment" / "constraints.txt").read_text(encoding="utf-8").splitlines()[1:]
    pinned = {_plain(name): Version(version) for name, version in (line.split("==") for line in lines)}
    for requirement in wanted:
        version = pinned.get(_plain(requirement.name))
        assert version is not None, f"{requirement.name}: run make constraints"
        assert version in requirement.specifier, f"{requirement}: {version}: run make constraints"


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
