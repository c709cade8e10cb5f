"""The surface's own subcommands: ``python -m surface`` or ``toolsurface``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from surface.adapters.application_object import load_registry
from surface.adapters.command_line import Command, CommandFailedError, print_json, run, say
from surface.adapters.output_file import write_whole
from surface.errors import CatalogError, ConfigurationError
from surface.export import export_catalog


def _configure_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("object", metavar="MODULE:OBJECT", help="a DeferredAgentToolSurface, or a function making one")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="where the catalog goes")
    parser.add_argument("--deploy", metavar="NAME", help="what to call this deploy, such as a commit")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def _export(arguments: argparse.Namespace) -> None:
    registry = load_registry(arguments.object)
    catalog = export_catalog(registry, deploy=arguments.deploy)
    data = json.dumps(catalog, ensure_ascii=False, sort_keys=True, indent=1).encode("utf-8") + b"\n"
    try:
        write_whole(arguments.output, data)
    except OSError as error:
        raise CommandFailedError(f"{arguments.output}: cannot be written ({error.strerror})") from error
    counts = {key: len(surface.catalog) for key, surface in registry.surfaces.items()}
    if arguments.json:
        print_json({"file": str(arguments.output), "application": registry.application, "tools": counts})
        return
    listed = ", ".join(f"{key} {count} tools" for key, count in counts.items())
    say(f"exported {registry.application} to {arguments.output}: {listed}")


EXPORT = Command(
    name="export",
    summary="write an application's surfaces as catalog.json, for a deploy",
    configure=_configure_export,
    run=_export,
    failures=(ConfigurationError, CatalogError),
)

if __name__ == "__main__":
    sys.exit(run([EXPORT], "python -m surface"))
