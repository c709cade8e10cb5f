"""The library inside an agent's process: deferred tools, receipts, direct typed execution.

    controller = create_deferred_agent_tool_surface(application="shop", surfaces=[…], dialect=ANTHROPIC_MESSAGES)
    run = controller.mount(run_id="run-1", surface="reader")
    step = await run.prepare_step(messages)     # what to advertise
    messages += await run.dispatch(messages)    # the answers to append

Dialects, the selector client and other technologies stand in `surface.adapters`, one file or folder each.
"""

from surface._version import __version__
from surface.activation import Activation
from surface.call import CallAnswer, CallContext, Outcome
from surface.catalog import Manifest, ManifestEntry, build_tool_manifest
from surface.content import Audio, File, Image, Json, Part, PartKind, Presenter, ResourceLink, Text
from surface.controller import DeferredAgentToolSurface, create_deferred_agent_tool_surface
from surface.decorator import tool
from surface.dialect import Dialect
from surface.errors import (
    CatalogError,
    ConfigurationError,
    DialectError,
    Fault,
    PinsRefusedError,
    RankerUnavailable,
    StepError,
    ToolError,
    ToolSurfaceError,
    TranscriptError,
    UnknownSurfaceError,
)
from surface.evidence import CallEvidence, Evidence, SearchEvidence, StepEvidence
from surface.hooks import CallReport, FencedError, Hooks, Lifecycle, Refused
from surface.input_model import InputModel, InputRejectedError, PydanticInput, Violation
from surface.lexical_ranker import LexicalRanker
from surface.limits import Limits
from surface.mount import AgentMount, AgentRun, mount_agent
from surface.mounted_run import MountedRun
from surface.prepared_step import PreparedStep, StepChanges, StepView
from surface.protocol import RankedName, RankReply
from surface.ranking import Ranker, RankRequest
from surface.receipt import Reason, Receipt, ReceiptSigner, Rejection, SigningKey, Status, parse_receipt
from surface.registry import Surface
from surface.tool import Service, Tool, ToolIdentity
from surface.transcript import Transcript

__all__ = [
    "Activation",
    "AgentMount",
    "AgentRun",
    "Audio",
    "CallAnswer",
    "CallContext",
    "CallEvidence",
    "CallReport",
    "CatalogError",
    "ConfigurationError",
    "DeferredAgentToolSurface",
    "Dialect",
    "DialectError",
    "Evidence",
    "Fault",
    "FencedError",
    "File",
    "Hooks",
    "Image",
    "InputModel",
    "InputRejectedError",
    "Json",
    "LexicalRanker",
    "Lifecycle",
    "Limits",
    "Manifest",
    "ManifestEntry",
    "MountedRun",
    "Outcome",
    "Part",
    "PartKind",
    "PinsRefusedError",
    "PreparedStep",
    "Presenter",
    "PydanticInput",
    "RankReply",
    "RankRequest",
    "RankedName",
    "Ranker",
    "RankerUnavailable",
    "Reason",
    "Receipt",
    "ReceiptSigner",
    "Refused",
    "Rejection",
    "ResourceLink",
    "SearchEvidence",
    "Service",
    "SigningKey",
    "Status",
    "StepChanges",
    "StepError",
    "StepEvidence",
    "StepView",
    "Surface",
    "Text",
    "Tool",
    "ToolError",
    "ToolIdentity",
    "ToolSurfaceError",
    "Transcript",
    "TranscriptError",
    "UnknownSurfaceError",
    "Violation",
    "__version__",
    "build_tool_manifest",
    "create_deferred_agent_tool_surface",
    "mount_agent",
    "parse_receipt",
    "tool",
]
