"""The surface's own subcommands: ``python -m surface`` or ``toolsurface``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from surface.adapters.application_object import load_registry
from surface.adapters.command_line import (
    Command,
    WrongUseError,
    print_json,
    run,
    say,
    show,
)
from surface.adapters.output_file import is_standard_output, write_result
from surface.advice import SurfaceAdvice, Verdict, advise
from surface.errors import ConfigurationError
from surface.export import export_catalog


def _configure_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("object", metavar="MODULE:OBJECT", help="a DeferredAgentToolSurface, or a function making one")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="where the catalog goes; - is standard output"
    )
    parser.add_argument("--deploy", metavar="NAME", help="what to call this deploy, such as a commit")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def _export(arguments: argparse.Namespace) -> None:
    if is_standard_output(arguments.output) and arguments.json:
        raise WrongUseError("-o -, --json: both are for standard output; name a file, or leave --json out")
    registry = load_registry(arguments.object)
    catalog = export_catalog(registry, deploy=arguments.deploy)
    data = json.dumps(catalog, ensure_ascii=False, sort_keys=True, indent=1).encode("utf-8") + b"\n"
    write_result(arguments.output, data)
    counts = {key: len(surface.catalog) for key, surface in registry.surfaces.items()}
    if arguments.json:
        print_json({"file": str(arguments.output), "application": registry.application, "tools": counts})
        return
    listed = ", ".join(f"{key} {count} tools" for key, count in counts.items())
    place = "standard output" if is_standard_output(arguments.output) else arguments.output
    say(f"exported {registry.application} to {place}: {listed}")


EXPORT = Command(
    name="export",
    summary="write an application's surfaces as catalog.json, for a deploy",
    configure=_configure_export,
    run=_export,
    failures=(ConfigurationError,),
)


def _configure_advise(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("object", metavar="MODULE:OBJECT", help="a DeferredAgentToolSurface, or a function making one")
    parser.add_argument("--steps", type=int, default=6, metavar="N", help="model steps of a typical run (default 6)")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def _advise(arguments: argparse.Namespace) -> None:
    if arguments.steps < 1:
        raise WrongUseError("--steps: needs at least 1")
    registry = load_registry(arguments.object)
    advice = advise(registry, steps=arguments.steps)
    if arguments.json:
        print_json(
            {
                "application": registry.application,
                "steps": arguments.steps,
                "surfaces": [{**asdict(surface), "verdict": surface.verdict} for surface in advice],
            }
        )
        return
    for surface in advice:
        show([*_shown(surface, arguments.steps), ""])
    show(["Bytes are canonical schema bytes: evidence to compare, not tokens; usage reports say what a run costs."])


def _shown(advice: SurfaceAdvice, steps: int) -> list[str]:
    lines = [
        f"surface {advice.surface}: {advice.tools} tools",
        f"  every tool in every step   {advice.whole_catalog:>12,} bytes a step",
        f"  first step, deferred       {advice.base:>12,} bytes",
        f"  typical step, deferred     {advice.typical_step:>12,} bytes, and {advice.receipt:,} of receipt",
        f"  a run of {steps} steps           {advice.run_whole:>12,} bytes against {advice.run_deferred:,} deferred",
        "  heaviest: " + ", ".join(f"{name} {weight:,}" for name, weight in list(advice.heaviest.items())[:5]),
    ]
    if advice.over_ceiling:
        lines.append(
            f"  never selectable, over limits.max_schema_bytes beside the base: {', '.join(advice.over_ceiling)}"
        )
    if advice.verdict is Verdict.DEFER:
        lines.append(f"  verdict: defer; such a run sends {advice.run_whole / advice.run_deferred:.1f} times less")
    else:
        lines.append("  verdict: send all tools; a search round costs more than it saves here")
        lines.append(
            "  how: mount_agent, or in a framework's loop create_agent(tools=…) or Agent(tools=…) without a surface"
        )
    return lines


ADVISE = Command(
    name="advise",
    summary="say whether deferral pays for an application's catalog",
    configure=_configure_advise,
    run=_advise,
    failures=(ConfigurationError,),
)

if __name__ == "__main__":
    sys.exit(run([EXPORT, ADVISE], "python -m surface"))
