"""The demo's application: AWS operations as tools, on two finite surfaces for two identities.

    reader      only what cannot change anything and hands out no secret
    operator    everything

Rules kept here:

1. A tool is one operation. Its input model is the operation's own, its handler builds the request that would be sent
   and puts it into the outbox of the run. Nothing is ever sent.
2. Who asks decides what is pinned: each desk sees one operation of its daily work in every step.

`toolsurface export demo.application:controller -o catalog.json` writes both surfaces. The one thing read from the
environment is `SERVICES_VARIABLE`, because an export names an object and hands it nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from demo.aws_operations import SERVICES, AwsOperation, AwsService, aws_operations
from demo.aws_requests import build_request
from surface import (
    CallContext,
    DeferredAgentToolSurface,
    Limits,
    Ranker,
    Surface,
    Tool,
    create_deferred_agent_tool_surface,
)
from surface.adapters.anthropic_messages import ANTHROPIC_MESSAGES
from surface.adapters.json_schema import JsonSchemaInput
from surface.evidence import Observer
from surface.transcript import Transcript

APPLICATION = "aws"
READER, OPERATOR = "reader", "operator"
ALWAYS_ON = ("sts_get_caller_identity",)
PIN_OF: Mapping[str, str] = {"storage": "s3_list_buckets", "operations": "cloudwatch_describe_alarms"}
"""By desk."""

SERVICES_VARIABLE = "TOOLSURFACE_DEMO_SERVICES"
"""Keys of services, joined by commas; unset or empty: all of them."""

LIMITS = Limits(max_results=5, max_selected_tools=8, max_active_tools=16, max_schema_bytes=49_152)

SEARCH_DEADLINE = 4.0
"""Seconds; generous, because the demo also runs on machines that are busy with other things."""

Outbox = Callable[[CallContext, Mapping[str, Any]], None]
"""Takes a request that would be sent, with the call that asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The context of a run: on whose behalf it works."""

    name: str
    """A key of `PIN_OF`."""
    outbox: Outbox


def controller(*, ranker: Ranker | None = None, observer: Observer | None = None) -> DeferredAgentToolSurface:
    """Both surfaces, over the services that the environment names; without a `ranker`, ranked by words alone."""
    tools = [tool_of(operation) for operation in aws_operations(services_of(os.environ.get(SERVICES_VARIABLE, "")))]
    return create_deferred_agent_tool_surface(
        application=APPLICATION,
        surfaces=[
            Surface(key=READER, tools=[tool for tool in tools if tool.read_only], always_on=ALWAYS_ON),
            Surface(key=OPERATOR, tools=tools, always_on=ALWAYS_ON),
        ],
        dialect=ANTHROPIC_MESSAGES,
        limits=LIMITS,
        search_deadline=SEARCH_DEADLINE,
        ranker=ranker,
        observer=observer,
    )


def pins(desk: Desk, _: Transcript) -> tuple[str, ...]:
    """What a desk sees in every step, whatever was found."""
    return (PIN_OF[desk.name],)


def services_of(keys: str) -> tuple[AwsService, ...]:
    """The services of comma-separated keys, all for none; raises KeyError with the first key that is none."""
    wanted = [key.strip() for key in keys.split(",") if key.strip()]
    known = {service.key: service for service in SERVICES}
    return tuple(known[key] for key in dict.fromkeys(wanted)) or SERVICES


def tool_of(operation: AwsOperation) -> Tool:
    """One operation as a tool."""
    return Tool(
        name=operation.name,
        description=operation.description,
        input=JsonSchemaInput(operation.input_schema),
        handler=RequestBuilder(service=operation.service.key, operation=operation.operation),
        service=operation.service.title.replace(" ", "-"),
        action=operation.operation,
        read_only=operation.read_only,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBuilder:
    """The handler of one operation."""

    service: str
    operation: str

    def __call__(self, arguments: Mapping[str, Any], call: CallContext) -> dict[str, Any]:
        """The request that would be sent."""
        request = build_request(self.service, self.operation, arguments, idempotency_key=call.idempotency_key)
        desk: Desk = call.context
        desk.outbox(call, request)
        return request


def named(keys: Iterable[AwsService]) -> str:
    """The keys of services as `SERVICES_VARIABLE` holds them."""
    return ",".join(service.key for service in keys)
