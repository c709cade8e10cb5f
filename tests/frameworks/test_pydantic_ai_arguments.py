"""What the functions of the pydantic-ai adapter refuse, naming the field and the fix."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic_ai.capabilities import AbstractCapability

from surface import ConfigurationError, tool
from surface.adapters.pydantic_ai import DeferredTools, catalog_tools, listed_tools
from tests.frameworks.pydantic_ai_bench import SEARCH, Bench, close_account, returns


@pytest.mark.parametrize("field", ["read_only", "idempotent"])
def test_names_that_are_one_string_are_refused(field: str) -> None:
    names: Any = {field: "close_account"}
    with pytest.raises(ConfigurationError, match=f"^{field}: needs a list of names"):
        catalog_tools(close_account, **names)


async def test_a_function_is_no_toolset_to_list() -> None:
    function: Any = close_account
    with pytest.raises(ConfigurationError, match=r"^toolset: needs a toolset.*catalog_tools"):
        await listed_tools(function)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"controller": None}, "^controller: needs what create_deferred_agent_tool_surface returns, not NoneType"),
        ({"surface": None}, "^surface: needs text, or a callable"),
        ({"run_id": 5}, "^run_id: needs text, or a callable"),
    ],
)
def test_a_wrong_argument_is_refused_naming_the_field(given: dict[str, Any], told: str) -> None:
    controller = Bench(close_account).deferred.toolset.controller
    whole: dict[str, Any] = {"controller": controller, "surface": "desk", "run_id": "run", **given}
    with pytest.raises(ConfigurationError, match=told):
        DeferredTools(whole.pop("controller"), **whole)


_TIED = {"call": "call-0-0", "tool": "hunter2", "arguments": "hunter2", "approval": None}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "gave NoneType that is no record"),
        (5, "gave int that is no record"),
        *(
            (text, "gave a text that is no record")
            for text in ("hunter2", '"hunter2"', "{}", "[" * 100_000, json.dumps(_TIED), '{"raised": "hunter2"}')
        ),
    ],
)
async def test_a_journal_that_gives_no_record_is_refused_without_a_word_of_it(text: Any, told: str) -> None:
    async def journal(_name: str, _work: Any) -> Any:
        return text

    with pytest.raises(ConfigurationError, match=f"^journal: {told}") as raised:
        await Bench(close_account, journal=journal).run([SEARCH])
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(("text", "told"), [(None, "gave NoneType; let it"), ("hunter2", "gave another record than")])
async def test_a_journal_that_gives_no_mark_of_a_call_is_refused_without_a_word_of_it(text: Any, told: str) -> None:
    async def journal(name: str, work: Any) -> Any:
        return text if name.startswith("toolsurface.begun:") else await work()

    bench = Bench(close_account, journal=journal)
    with pytest.raises(ConfigurationError, match=f"^journal: {told}") as raised:
        await bench.run([SEARCH], [("close_account", {})])
    assert "hunter2" not in str(raised.value)
    assert bench.desk.did == []


@pytest.mark.rule("MNT-2", "MNT-3")
@pytest.mark.parametrize(
    ("written", "did"),
    [
        ({"note": "a"}, ["a"]),
        ('{"note": "a"}', ["a"]),
        ({}, ["none"]),
        ("", ["none"]),
        (None, ["none"]),
        # No object: it is not taken for one without arguments, which the tool would run on.
        ("[]", []),
        ('["note"]', []),
        ('"note"', []),
        ("null", []),
        ("0", []),
        ('{"note": ', []),
        ('{"note": "a", "more": 1}', []),
    ],
)
async def test_what_the_model_wrote_for_a_tool_of_the_librarys_is_validated_as_it_was_written(
    written: Any, did: list[str]
) -> None:
    ran: list[str] = []

    @tool
    def note(note: str = "none") -> str:
        """Notes something."""
        ran.append(note)
        return "noted"

    bench = Bench(made=[note])
    result = await bench.run([SEARCH], [("note", written)])
    assert ran == did
    assert bench.outcomes[1:] == [("note", "ok" if did else "VALIDATION_ERROR")]
    assert returns(result)[-1].outcome == ("success" if did else "failed")


@pytest.mark.rule("MNT-2")
async def test_a_hook_of_the_agents_sees_the_arguments_of_a_tool_of_the_librarys_and_may_change_them() -> None:
    seen: list[Any] = []
    ran: list[str] = []

    class Policy(AbstractCapability[Any]):
        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
            if call.tool_name != "note":
                return args
            seen.append(args)
            return {"note": "b"}

    @tool
    def note(note: str) -> str:
        """Notes something."""
        ran.append(note)
        return "noted"

    await Bench(made=[note], capabilities=[Policy()]).run([SEARCH], [("note", {"note": "a"})])
    assert (seen, ran) == ([{"note": "a"}], ["b"])
