"""What a deploy says about its work: lines for a person, one JSON object for a program. Pure text, no printing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from indexer.catalog_file import LeftOut
from indexer.deployed import DeployResult
from indexer.errors import (
    ActivationConflictError,
    ArtefactError,
    BuildError,
    CacheFileError,
    CanaryError,
    CanaryFileError,
    CatalogFileError,
    StoreError,
    UnknownReleaseError,
)
from indexer.table import counted, short, table
from models.errors import ModelError
from surface.errors import CatalogError, ToolSurfaceError

SHOWN_REFUSALS = 20

REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (CanaryError, "canaries"),
    (ActivationConflictError, "conflict"),
    (CatalogError, "catalog"),
    (CatalogFileError, "catalog"),
    (CanaryFileError, "canary_file"),
    (CacheFileError, "cache_file"),
    (ArtefactError, "damaged"),
    (StoreError, "store"),
    (ModelError, "model"),
    (BuildError, "model"),
    (UnknownReleaseError, "release"),
    (KeyboardInterrupt, "interrupted"),
)


def deploy_lines(result: DeployResult, left_out: LeftOut, *, seconds: float) -> list[str]:
    """A finished deploy, for a person."""
    rows: list[tuple[str, ...]] = [
        (one.surface, counted(one.tools, "tool"), one.change, short(one.version)) for one in result.surfaces
    ]
    rows += [(surface, "", "removed", "") for surface in result.removed]
    lines = [f"{result.application}, deploy {short(result.deploy)}", *table(rows)]
    if left_out.refused_tools:
        lines.append(f"  {counted(left_out.refused_tools, 'tool')} left out (see above)")
    if result.distrusted:
        lines.append(
            f"  {counted(result.distrusted, 'vector')} at hand came out otherwise when a few of them were made again, "
            "so all were made anew"
        )
    if result.canaries:
        lines.append(f"  found what every canary asked for ({result.canaries:,})")
    lines.append(_outcome_line(result, seconds=seconds))
    return lines


def _outcome_line(result: DeployResult, *, seconds: float) -> str:
    if result.unchanged:
        return f"unchanged: release {short(result.release)} was active already"
    from_cache = f", recalled {result.recalled:,} from the cache" if result.recalled else ""
    work = f"embedded {counted(result.embedded, 'text')}{from_cache} in {seconds:.1f} s"
    if result.dry_run:
        return f"dry run: release {short(result.release)} would become active; {work}"
    return f"release {short(result.release)} is active; {work}"


def refusal_lines(left_out: LeftOut) -> list[str]:
    """The tools that were left out, and why."""
    if not left_out.refused_tools:
        return []
    lines = [f"left out {counted(left_out.refused_tools, 'tool')}:"]
    lines += [f"  - {fault}" for fault in left_out.refused[:SHOWN_REFUSALS]]
    if len(left_out.refused) > SHOWN_REFUSALS:
        lines.append(f"  … and {len(left_out.refused) - SHOWN_REFUSALS} more; --json lists all of them")
    return lines


def deploy_json(result: DeployResult, left_out: LeftOut, *, seconds: float) -> dict[str, Any]:
    """A finished deploy, for a program."""
    outcome = "unchanged" if result.unchanged else "dry_run" if result.dry_run else "activated"
    return {
        "outcome": outcome,
        **asdict(result),
        "unchanged": result.unchanged,
        "refused_tools": left_out.refused_tools,
        "refused": [asdict(fault) for fault in left_out.refused],
        "seconds": round(seconds, 3),
    }


def told(error: BaseException) -> str:
    """What a person is told of what ended a command; of what nobody foresaw only the kind, as it may quote anything."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, ToolSurfaceError | ModelError):
        return str(error)
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__


def failure_json(error: BaseException) -> dict[str, Any]:
    """A command that failed, for a program; what is active after it is `commands.attempt`'s matter."""
    failure: dict[str, Any] = {
        "outcome": "failed",
        "reason": next((reason for kind, reason in REASONS if isinstance(error, kind)), "other"),
        "error": told(error),
    }
    if isinstance(error, CanaryError):
        failure["canaries"] = [asdict(one) for one in error.failures]
    if isinstance(error, CatalogError):
        failure["faults"] = [asdict(fault) for fault in error.faults]
    if isinstance(error, ActivationConflictError):
        failure |= {"expected": error.expected, "found": error.found}
    return failure
