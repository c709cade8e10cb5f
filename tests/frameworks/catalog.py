"""The application of the shared story: 500 real AWS operations, on the deploys of two days.

Every framework runs the same operations: an `Operation` is a name, a description, a JSON Schema and a plain function,
so a test may offer it as a tool of the library or as a tool of the framework's own. Nothing is ever sent to AWS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from demo.aws_operations import SERVICES, AwsOperation, aws_operations
from surface import Surface, Tool
from surface.adapters.json_schema import JsonSchemaInput

COUNT = 500
MONDAY, TUESDAY = "monday", "tuesday"
"""The two deploys: on Tuesday `EDITED` reads differently and `REMOVED` is gone."""
EDITED = "ecs_stop_task"
REMOVED = "lambda_delete_function"
SURFACE = "operator"
ALWAYS_ON = ("sts_get_caller_identity",)
_KEYS = ("sts", "s3", "ecs", "lambda", "dynamodb", "sqs", "cloudwatch", "events", "sns")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation, before it is a tool of anything."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    """Of an object, without references; a fresh copy is not needed."""
    read_only: bool
    service: str
    function: Callable[..., dict[str, Any]]
    """Takes the arguments by name, notes that it ran, and says what it would do."""


@dataclass(slots=True)
class World:
    """What was done, in order."""

    done: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def operations(self, deploy: str) -> list[Operation]:
        """The operations of a deploy; raises ValueError where there is no such deploy."""
        if deploy not in (MONDAY, TUESDAY):
            raise ValueError(f"there is no deploy {deploy}")
        made = [self._operation(operation) for operation in _aws()]
        if deploy == TUESDAY:
            made = [_edited(each) if each.name == EDITED else each for each in made if each.name != REMOVED]
        return made

    def _operation(self, operation: AwsOperation) -> Operation:
        def function(**arguments: Any) -> dict[str, Any]:
            self.done.append((operation.name, arguments))
            return {"operation": operation.operation, "arguments": arguments}

        return Operation(
            name=operation.name,
            description=operation.description,
            input_schema=operation.input_schema,
            read_only=operation.read_only,
            service=operation.service.title.replace(" ", "-"),
            function=function,
        )


def library_tool(operation: Operation) -> Tool:
    """The operation as a tool of the library."""
    return Tool(
        name=operation.name,
        description=operation.description,
        input=JsonSchemaInput(operation.input_schema),
        handler=lambda arguments, _call: operation.function(**arguments),
        read_only=operation.read_only,
        service=operation.service,
    )


def surfaces(world: World, deploy: str, made: Callable[[Operation], Tool] = library_tool) -> Sequence[Surface]:
    """The one surface of a deploy, with every operation as `made` makes a tool of it."""
    tools = [made(operation) for operation in world.operations(deploy)]
    return [Surface(key=SURFACE, tools=tools, always_on=ALWAYS_ON)]


@cache
def _aws() -> tuple[AwsOperation, ...]:
    services = {service.key: service for service in SERVICES}
    found = [operation for key in _KEYS for operation in aws_operations([services[key]])]
    if len(found) < COUNT:
        raise RuntimeError(f"botocore has {len(found)} operations of these services; the story needs {COUNT}")
    return tuple(found[:COUNT])


def _edited(operation: Operation) -> Operation:
    return replace(operation, description=f"{operation.description} Asks the owner of the cluster first.")
