"""The whole application of the demo keeps every rule: all services, both surfaces, as `make demo` builds them."""

from __future__ import annotations

import pytest

from demo.application import OPERATOR, READER, SERVICES_VARIABLE, controller


def test_the_whole_catalog_keeps_every_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SERVICES_VARIABLE, raising=False)
    surfaces = controller().registry.surfaces
    tools = surfaces[OPERATOR].catalog.tools
    assert len(tools) > 2_000
    assert len({made.tool.service for made in tools.values()}) >= 20
    assert surfaces[READER].catalog.tools.keys() < tools.keys()
    assert all(made.tool.read_only for made in surfaces[READER].catalog.tools.values())
