"""The demo's catalog: the operations of about twenty AWS services, read out of botocore's own models.

Rules kept here:

1. A name is ``<service>_<operation>`` in snake case, at most `MAX_NAME` characters of ``a-z0-9_``, so that every
   provider can carry it. A longer one is cut and ends in a digest of the whole: the same in every build, still unique.
2. Operations that botocore marks deprecated are left out, and those that need an event stream to call them.
3. The order is that of the names. Two builds on the same botocore are equal.

Not done here: the rules for schemas (`aws_schemas`), for texts (`aws_prose`), for who may use what (`aws_reader`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from botocore import xform_name

from demo.aws_models import service_description
from demo.aws_prose import plain_sentences
from demo.aws_reader import only_reads
from demo.aws_schemas import InputSchemas

MAX_NAME = 64
MAX_DESCRIPTION = 600
"""Characters in the description of an operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsService:
    """One service of the demo."""

    key: str
    """botocore's name for it, and the first part of the names of its tools."""
    title: str
    """What people call it."""


SERVICES: tuple[AwsService, ...] = (
    AwsService(key="cloudformation", title="CloudFormation"),
    AwsService(key="cloudfront", title="CloudFront"),
    AwsService(key="cloudwatch", title="CloudWatch"),
    AwsService(key="dynamodb", title="DynamoDB"),
    AwsService(key="ec2", title="EC2"),
    AwsService(key="ecs", title="ECS"),
    AwsService(key="eks", title="EKS"),
    AwsService(key="events", title="EventBridge"),
    AwsService(key="iam", title="IAM"),
    AwsService(key="kms", title="KMS"),
    AwsService(key="lambda", title="Lambda"),
    AwsService(key="logs", title="CloudWatch Logs"),
    AwsService(key="rds", title="RDS"),
    AwsService(key="route53", title="Route 53"),
    AwsService(key="s3", title="S3"),
    AwsService(key="secretsmanager", title="Secrets Manager"),
    AwsService(key="sns", title="SNS"),
    AwsService(key="sqs", title="SQS"),
    AwsService(key="ssm", title="Systems Manager"),
    AwsService(key="stepfunctions", title="Step Functions"),
    AwsService(key="sts", title="STS"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsOperation:
    """One operation of one service, as a tool needs it."""

    name: str
    """``ec2_describe_instances``: the tool's name."""
    service: AwsService
    operation: str
    """``DescribeInstances``: the name in the model, which `build_request` takes."""
    description: str
    input_schema: Mapping[str, Any]
    """Shares parts with other schemas of its service: do not change it."""
    read_only: bool
    """It cannot change anything and hands out no secret: it belongs to the reader too."""


def aws_operations(services: Iterable[AwsService] = SERVICES) -> tuple[AwsOperation, ...]:
    """All operations of `services`, ordered by name.

    Raises UnknownOperationError where the installed botocore lacks one of the services.
    """
    found = [operation for service in services for operation in _operations_of(service)]
    return tuple(sorted(found, key=lambda operation: operation.name))


def _operations_of(service: AwsService) -> Iterator[AwsOperation]:
    model = service_description(service.key)
    shapes = model["shapes"]
    schemas = InputSchemas(shapes)
    for operation, described in model["operations"].items():
        shape = described.get("input", {}).get("shape")
        if described.get("deprecated") or (shape is not None and _streams_events(shapes, shape)):
            continue
        action = xform_name(operation)
        name = _tool_name(f"{service.key}_{action}")
        yield AwsOperation(
            name=name,
            service=service,
            operation=operation,
            description=plain_sentences(described.get("documentation", ""), MAX_DESCRIPTION) or _spoken(action),
            input_schema=schemas.input_schema(shape),
            read_only=only_reads(name, service=service.key),
        )


def _tool_name(full: str) -> str:
    if len(full) <= MAX_NAME:
        return full
    mark = sha256(full.encode()).hexdigest()[:6]
    return f"{full[: MAX_NAME - len(mark) - 1].rstrip('_')}_{mark}"


def _spoken(action: str) -> str:
    return action.replace("_", " ").capitalize() + "."


def _streams_events(shapes: Mapping[str, Any], shape: str) -> bool:
    return any(shapes[member["shape"]].get("eventstream") for member in shapes[shape]["members"].values())
