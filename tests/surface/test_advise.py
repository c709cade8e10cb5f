"""`toolsurface advise`: the arithmetic, and the command as a real process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from surface import Limits, Surface, Tool
from surface.advice import SurfaceAdvice, Verdict, advise
from surface.registry import SurfaceRegistry, build_registry
from tests.surface.shop import make_tool

REPOSITORY = Path(__file__).parents[2]


def tools(count: int, *, properties: int = 5) -> list[Tool]:
    """Tools of equal weight."""
    schema = {"type": "object", "properties": {f"field_{at}": {"type": "string"} for at in range(properties)}}
    return [make_tool(f"tool_{at:04}", "Does one thing of many.", schema) for at in range(count)]


def registry(*surfaces: Surface, limits: Limits | None = None) -> SurfaceRegistry:
    return build_registry("shop", surfaces, limits=limits or Limits(), search_tool="search_tools")


def advice(
    given: list[Tool], *, steps: int = 6, limits: Limits | None = None, always_on: tuple[str, ...] = ()
) -> SurfaceAdvice:
    (found,) = advise(registry(Surface(key="reader", tools=given, always_on=always_on), limits=limits), steps=steps)
    return found


def test_five_tools_are_cheaper_sent_whole_and_five_hundred_deferred() -> None:
    assert advice(tools(5)).verdict is Verdict.SEND_ALL
    assert advice(tools(500)).verdict is Verdict.DEFER


def test_the_verdict_flips_once_as_the_catalog_grows() -> None:
    verdicts = [advice(tools(count)).verdict for count in range(5, 500, 45)]
    assert verdicts == sorted(verdicts, reverse=True)
    assert {*verdicts} == {Verdict.SEND_ALL, Verdict.DEFER}


@pytest.mark.rule("CAT-5")
def test_the_numbers_add_up() -> None:
    made = registry(Surface(key="reader", tools=tools(100), always_on=["tool_0007"]))
    checked = made.surface("reader")
    found = advice(tools(100), steps=4, always_on=("tool_0007",))
    weight = checked.weight("tool_0000")
    assert found.tools == 100
    assert found.whole_catalog == checked.catalog.manifest.schema_bytes == 100 * weight
    assert found.base == checked.search.schema_bytes + weight
    assert found.typical_step == found.base + 5 * weight
    assert 450 < found.receipt < 8_192
    assert found.run_whole == 4 * found.whole_catalog
    assert found.run_deferred == found.base + 4 * (found.typical_step + found.receipt)


@pytest.mark.parametrize(
    ("limits", "selected"),
    [
        (Limits(max_results=2), 2),
        (Limits(max_selected_tools=3), 3),
        (Limits(max_active_tools=4), 2),  # beside the search tool and the one that is always on
        (Limits(max_active_tools=2), 0),
    ],
)
def test_a_typical_step_stays_under_the_ceilings_of_counts(limits: Limits, selected: int) -> None:
    found = advice(tools(50), limits=limits, always_on=("tool_0007",))
    weight = found.heaviest["tool_0000"]
    assert found.typical_step == found.base + selected * weight


def test_a_typical_step_stays_under_the_ceiling_of_bytes() -> None:
    assert advice(tools(50), limits=Limits(max_schema_bytes=1_500)).typical_step == 1_500


def test_tools_that_are_always_on_are_not_selected_again() -> None:
    names = tuple(tool.name for tool in tools(5))
    found = advice(tools(5), always_on=names)
    assert found.typical_step == found.base
    assert found.verdict is Verdict.SEND_ALL


def test_a_surface_without_tools_has_advice_too() -> None:
    found = advice([])
    assert (found.tools, found.whole_catalog, found.heaviest, found.over_ceiling) == (0, 0, {}, ())
    assert found.typical_step == found.base
    assert found.verdict is Verdict.SEND_ALL


def test_the_heaviest_tools_come_first_and_equal_ones_in_the_order_of_their_names() -> None:
    found = advice([*tools(20), make_tool("heavy", "x" * 500), make_tool("heavier", "x" * 600)])
    assert list(found.heaviest)[:4] == ["heavier", "heavy", "tool_0000", "tool_0001"]
    assert len(found.heaviest) == 10


@pytest.mark.rule("SRC-5")
def test_a_tool_that_fits_beside_no_base_is_named_and_one_that_is_always_on_is_not() -> None:
    limits = Limits(max_schema_bytes=3_000)
    given = [*tools(3), make_tool("giant", "x" * 4_000), make_tool("big", "x" * 1_600)]
    assert advice(given, limits=limits).over_ceiling == ("giant",)
    assert advice(given, limits=limits, always_on=("big",)).over_ceiling == ("giant",)


def test_surfaces_are_advised_on_in_the_order_of_their_keys() -> None:
    made = registry(Surface(key="writer", tools=tools(3)), Surface(key="reader", tools=tools(4)))
    assert [(found.surface, found.tools) for found in advise(made, steps=1)] == [("reader", 4), ("writer", 3)]


APPLICATION = """
from surface import Limits, Surface, create_deferred_agent_tool_surface, tool
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES

def made(count):
    def one(at):
        @tool(name=f"tool_{at:04}", description="Does one thing of many. " * 20)
        def handler(first: str, second: int = 0) -> str: ...
        return handler
    return [one(at) for at in range(count)]

def controller(count, **limits):
    return create_deferred_agent_tool_surface(
        application="shop",
        surfaces=[Surface(key="reader", tools=made(count))],
        dialect=ANTHROPIC_MESSAGES,
        limits=Limits(**limits),
    )

small = controller(5)

def large():
    return controller(500)

def tight():
    return controller(5, max_schema_bytes=1_000)

def faulty():
    return create_deferred_agent_tool_surface(application="shop", surfaces=[], dialect=ANTHROPIC_MESSAGES)

class names:
    registry = small.registry

other = 42
"""


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("application")
    (folder / "shop_agent.py").write_text(APPLICATION, encoding="utf-8")
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own, in the application's folder."""
    return subprocess.run(
        [sys.executable, "-m", "surface", *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_command_prints_a_verdict_for_people(application: Path) -> None:
    done = run(application, "advise", "shop_agent:large")
    assert (done.returncode, done.stderr) == (0, "")
    assert "surface reader: 500 tools" in done.stdout
    assert "verdict: defer" in done.stdout
    assert "not tokens" in done.stdout


def test_the_command_prints_one_json_object_for_programs(application: Path) -> None:
    done = run(application, "advise", "shop_agent:small", "--steps", "3", "--json")
    assert done.returncode == 0
    printed: dict[str, Any] = json.loads(done.stdout)
    (found,) = printed["surfaces"]
    assert (printed["application"], printed["steps"]) == ("shop", 3)
    assert found["verdict"] == "send_all"
    assert found["run_whole"] == 3 * found["whole_catalog"]
    assert found["run_deferred"] == found["base"] + 3 * (found["typical_step"] + found["receipt"])
    assert set(found) == {*SurfaceAdvice.__dataclass_fields__, "verdict"}


def test_the_command_names_what_can_never_be_selected(application: Path) -> None:
    done = run(application, "advise", "shop_agent:tight")
    assert done.returncode == 0
    assert "never selectable" in done.stdout
    assert "tool_0000" in done.stdout.partition("never selectable")[2]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["shop_agent:small", "--steps", "0"], 2, "--steps: needs at least 1"),
        ([], 2, "MODULE:OBJECT"),
        (["shop_agent"], 2, "needs the form MODULE:OBJECT"),
        (["no_such_module:x"], 2, "there is no module no_such_module"),
        (["shop_agent:other"], 2, "needs a DeferredAgentToolSurface"),
        (["shop_agent:faulty"], 1, "at least one surface"),
    ],
)
def test_the_exit_code_says_whose_fault_it_is(application: Path, arguments: list[str], code: int, said: str) -> None:
    done = run(application, "advise", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_registry_inside_of_another_object_can_be_named(application: Path) -> None:
    assert run(application, "advise", "shop_agent:names.registry").returncode == 0


def test_an_ordinary_mount_gets_advice_before_it_is_deferred(tmp_path: Path) -> None:
    (tmp_path / "shop_mount.py").write_text(
        "from surface import mount_agent, tool\n"
        "from surface.adapters.openai_chat import OPENAI_CHAT\n"
        "@tool\n"
        "def add(a: int) -> int:\n"
        "    return a\n"
        "mount = mount_agent([add], dialect=OPENAI_CHAT)\n",
        encoding="utf-8",
    )
    done = run(tmp_path, "advise", "shop_mount:mount")
    assert done.returncode == 0, done.stderr
    assert "verdict: send all tools" in done.stdout
    assert "Agent(tools=…)" in done.stdout
