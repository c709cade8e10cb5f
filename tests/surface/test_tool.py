"""Tools and services: identities, and what operations share."""

from __future__ import annotations

from typing import Any

import pytest

from surface.catalog import Projector
from surface.hooks import Lifecycle
from surface.tool import Service, Tool, ToolIdentity
from tests.surface.shop import make_tool, make_tools

SHARED, OWN = Lifecycle(), Lifecycle(before=lambda *_: None)


@pytest.mark.rule("MNT-1")
def test_a_runtime_tool_has_an_identity_of_its_own() -> None:
    assert make_tool("one").identity == ToolIdentity(service=None, action="one", scope=None)
    assert make_tool("one", action="list", service="shop", scope="eu").identity == ToolIdentity(
        service="shop", action="list", scope="eu"
    )


@pytest.mark.rule("MNT-1")
def test_an_operation_is_named_and_scoped_by_its_service() -> None:
    (operation,) = Service(name="shop", tools=make_tools("list"), scope="eu", lifecycle=SHARED).operations()
    assert operation.name == "shop_list"
    assert operation.identity == ToolIdentity(service="shop", action="list", scope="eu")
    assert operation.lifecycle is SHARED


def test_an_operations_own_scope_and_lifecycle_come_before_the_services() -> None:
    own = make_tool("list", scope="us", lifecycle=OWN)
    (operation,) = Service(name="shop", tools=[own], scope="eu", lifecycle=SHARED).operations()
    assert operation.scope == "us"
    assert operation.lifecycle is OWN


def test_runtime_tools_and_operations_come_in_the_order_given() -> None:
    offered: list[Tool | Service] = [make_tool("z"), Service(name="shop", tools=make_tools("b", "a")), make_tool("c")]
    assert [tool.name for tool in Projector().expand(offered)[0]] == ["z", "shop_b", "shop_a", "c"]


@pytest.mark.rule("MNT-9")
@pytest.mark.parametrize(
    ("declared", "repeatable"),
    [({}, False), ({"read_only": True}, True), ({"idempotent": True}, True), ({"timeout": 1.0}, False)],
)
def test_only_a_tool_declared_read_only_or_idempotent_may_be_run_again(
    declared: dict[str, Any], *, repeatable: bool
) -> None:
    assert make_tool("one", **declared).repeatable is repeatable
