"""What an application exports of its surfaces: the catalog file that a deploy ships. Pure: nothing is written here.

{version, application, deploy, surfaces: {key: {always_on, tools: [{name, description, input_schema, …}]}}}
"""

from __future__ import annotations

from typing import Any

from surface.catalog import CatalogTool
from surface.errors import ConfigurationError
from surface.identity import is_deploy
from surface.registry import SurfaceRegistry

CATALOG_VERSION = 1


def export_catalog(registry: SurfaceRegistry, *, deploy: str | None = None) -> dict[str, Any]:
    """The catalog file of an application as a JSON object; the same registry always gives the same one.

    Raises ConfigurationError where `deploy` is what no deploy can be called.
    """
    if deploy is not None and not is_deploy(deploy):
        raise ConfigurationError("deploy: needs 1-128 characters of printable ASCII")
    return {
        "version": CATALOG_VERSION,
        "application": registry.application,
        "deploy": deploy,
        "surfaces": {
            key: {
                "always_on": list(surface.always_on),
                "tools": [_exported(made) for made in surface.catalog.tools.values()],
            }
            for key, surface in sorted(registry.surfaces.items())
        },
    }


def _exported(made: CatalogTool) -> dict[str, Any]:
    exported: dict[str, Any] = {
        "name": made.entry.name,
        "description": made.entry.description,
        "input_schema": made.entry.input_schema,
    }
    if made.tool.service is not None:
        exported["service"] = made.tool.service
    annotations = {"read_only": made.tool.read_only, "idempotent": made.tool.idempotent}
    if any(annotations.values()):
        exported["annotations"] = annotations
    return exported
