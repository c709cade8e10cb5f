"""Evidence: one structured event per search, per prepared step and per dispatched call (EVD-1).

Counts, bytes, codes and provenance; never query text, prompts, arguments, results, descriptions or the application's
context (EVD-2). A tool is named only where the name is the catalog's own: an unknown name is text a model wrote.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from surface.errors import ConfigurationError
from surface.limits import Limits

_log = logging.getLogger("toolsurface")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEvidence:
    """One search."""

    application: str
    surface: str
    run_id: str
    status: str
    reason: str | None
    ranker: str
    index_version: str | None
    degraded: str | None
    ranked: int
    """Names that the ranker proposed."""
    rejected: int
    """Proposed names that are no tools of this surface, or stand twice."""
    skipped: int
    """Known names that do not fit what is left under the ceilings."""
    selected: int
    result_bytes: int
    """UTF-8 bytes of the receipt."""
    limits: Limits
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEvidence:
    """One prepared step."""

    application: str
    surface: str
    run_id: str
    catalog: int
    """Tools of the surface."""
    base: int
    pinned: int
    selected: int
    active: int
    evicted: int
    ignored: Mapping[str, int]
    """Receipts that changed nothing, by reason."""
    source: str
    """none, current or durable."""
    schema_bytes: int
    catalog_schema_bytes: int
    limits: Limits | None
    """None for a mount without deferral."""
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvidence:
    """One dispatched call."""

    application: str
    surface: str
    run_id: str
    tool: str | None
    """None for a name that is no tool of this surface."""
    outcome: str
    """ok, an error code, INACTIVE or UNKNOWN_TOOL."""
    seconds: float


Evidence = SearchEvidence | StepEvidence | CallEvidence
Observer = Callable[[Evidence], None]


def require_plain(observer: Observer | None) -> None:
    """Raises ConfigurationError where the observer is no function, or async: nobody would await it."""
    if observer is not None and not callable(observer):
        raise ConfigurationError(f"observer: needs a function, not {type(observer).__name__}")
    of_object = getattr(observer, "__call__", None)  # noqa: B004 - asks how it is called, not whether
    if inspect.iscoroutinefunction(observer) or inspect.iscoroutinefunction(of_object):
        raise ConfigurationError("observer: needs a plain function, not an async one; let it start a task if it waits")


def report(observer: Observer | None, evidence: Evidence) -> None:
    """Hands an event to the observer; one that raises changes nothing (EVD-3) and is logged by its error's class."""
    if observer is None:
        return
    try:
        observer(evidence)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - an observer must never change a run
        _log.error("the evidence observer raised %s", type(error).__name__)
