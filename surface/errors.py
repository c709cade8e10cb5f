"""Every error this library raises, and whose fault it is.

    ToolSurfaceError
    ├── ConfigurationError        the programmer's: raised where something is constructed or mounted
    │   ├── CatalogError          a tool set breaks the catalog rules; lists every fault
    │   ├── UnknownSurfaceError   no such surface in this application's registry
    │   └── DialectError          a provider cannot carry a name or a content kind
    ├── StepError                 the application's: this step cannot be prepared
    │   └── PinsRefusedError      pins are unknown, repeated, or over a ceiling
    ├── TranscriptError           the caller's: the messages are not in the dialect's form
    ├── RankerUnavailable         the ranker's: it could not answer; the search falls back
    ├── ToolError                 for the model to read: code, message, hint
    ├── Refused                   a lifecycle's no to one call (surface.hooks)
    ├── FencedError               a fence's no to one call (surface.hooks)
    └── InputRejectedError        arguments that break their input model (surface.input_model)

No error holds query text, prompts, arguments, results or descriptions (EVD-2).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class ToolSurfaceError(Exception):
    """The root: catch it to catch everything that toolsurface raises on purpose."""


class ConfigurationError(ToolSurfaceError):
    """Something was constructed or mounted wrongly; the program has to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong with a catalog."""

    where: str
    """The tool, surface or field, as its author wrote it (cut to 200 characters)."""
    problem: str
    """What is wrong and what would be right, in one sentence."""

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


class CatalogError(ConfigurationError):
    """A tool set breaks the catalog rules (CAT-2); `faults` lists all of them, in a stable order."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        listed = "".join(f"\n  - {fault}" for fault in self.faults)
        count = "1 fault" if len(self.faults) == 1 else f"{len(self.faults)} faults"
        super().__init__(f"{count} in the tool set:{listed}")


class UnknownSurfaceError(ConfigurationError):
    """The application's finite registry holds no surface of that key."""


class DialectError(ConfigurationError):
    """A provider's dialect cannot carry a tool name (CAT-7) or a content kind (MNT-6)."""


class StepError(ToolSurfaceError):
    """This step cannot be prepared as asked; the run itself is unharmed."""


class PinsRefusedError(StepError):
    """The pins of a step are unknown, repeated, or do not fit a ceiling (ACT-6)."""


class TranscriptError(ToolSurfaceError):
    """The messages are not in the form of the dialect that reads them."""


class RankerUnavailable(ToolSurfaceError):  # noqa: N818 - the spec's word; it is a state, not a mistake
    """A ranker could not answer; `code` says why in one word that is safe to log."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(f"the ranker is unavailable: {code}")


class ToolError(ToolSurfaceError):
    """A failure that the model is meant to read; raise it from a handler to say what to do next.

    `code` is a short constant such as ``NOT_FOUND``; `message` and `hint` are sentences for the model.
    """

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        self.code = code
        self.message = message
        self.hint = hint
        super().__init__(f"{code}: {message}")
