"""The HTTP request that an AWS operation would be: built by botocore's own serializer, and never sent.

Rules kept here:

1. No session, no credentials, no region, no endpoint: only the model of the service is read.
2. Arguments are JSON. Where the model wants bytes they are base64, where it wants a time they are an ISO 8601 text
   with an offset; both are converted before botocore sees them.
3. Missing idempotency tokens of the operation itself are filled in, as botocore's client does, but from the caller's
   key instead of from chance: the same call is the same request.
4. A wrong argument is one error for the model to read, with all problems, in our own words. It names fields and
   constraints, never a value.

Not done here: validation against the JSON Schema (the mount does it before), signing, sending, retries.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import urlencode
from uuid import NAMESPACE_OID, uuid5

from botocore.exceptions import ParamValidationError
from botocore.model import OperationNotFoundError
from botocore.serialize import create_serializer
from botocore.utils import percent_encode_sequence
from botocore.validate import ParamValidator

from demo.aws_models import UnknownOperationError, service_model
from surface.canonical import canonical_bytes
from surface.errors import ToolError

MAX_BODY_SHOWN = 16_384
"""Bytes of body that are given as text; of a longer one, or of one that is no text, only the size is given."""

_ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for a time that is wrong and already reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentProblem:
    """One thing that is wrong with the arguments of a call."""

    path: str
    """The field, from the outermost in: ``Filters[0].Name``; empty for the arguments as a whole."""
    problem: str
    """What would be right."""

    def __str__(self) -> str:
        return f"{self.path or 'the arguments'}: {self.problem}"


class InvalidArgumentsError(ToolError):
    """The service's model refuses the arguments; `problems` lists why, and the model may read it."""

    def __init__(self, problems: Iterable[ArgumentProblem]) -> None:
        self.problems: tuple[ArgumentProblem, ...] = tuple(problems)
        super().__init__(
            "INVALID_ARGUMENTS", "; ".join(map(str, self.problems)), hint="Correct the named fields and call again."
        )


def build_request(
    service: str, operation: str, arguments: Mapping[str, Any], *, idempotency_key: str = ""
) -> dict[str, Any]:
    """The request that would be sent, as JSON: `method`, `path`, `query`, `headers`, `body`, `body_bytes`.

    `service` and `operation` are botocore's names (``ec2``, ``DescribeInstances``). `body` is None where it is empty,
    no text, or longer than `MAX_BODY_SHOWN`; `body_bytes` is its size anyway. `host_prefix` stands beside them for
    the few operations that have a host of their own. Equal arguments and equal `idempotency_key` make equal requests.

    Raises InvalidArgumentsError where botocore would not send it, UnknownOperationError where botocore has no such
    service or operation.
    """
    model = _operation_model(service, operation)
    serializer = _serializer(model.service_model.resolved_protocol)
    try:
        serialized = serializer.serialize_to_request(_parameters(arguments, model, idempotency_key), model)
    except ParamValidationError as error:
        problem = ArgumentProblem(path="", problem="one of them cannot stand where the request needs it (host or path)")
        raise InvalidArgumentsError([problem]) from error
    except RecursionError as error:
        raise InvalidArgumentsError([ArgumentProblem(path="", problem="nest too deeply")]) from error
    return _as_json(serialized)


@cache
def _operation_model(service: str, operation: str) -> Any:
    try:
        return service_model(service).operation_model(operation)
    except OperationNotFoundError as error:
        raise UnknownOperationError(f"{service} has no operation {operation!r} in botocore") from error


@cache
def _serializer(protocol: str) -> Any:
    # Validated beforehand: botocore's own report would repeat the values.
    return create_serializer(protocol, include_validation=False)


def _parameters(arguments: Mapping[str, Any], model: Any, idempotency_key: str) -> dict[str, Any]:
    """The arguments as botocore takes them; raises InvalidArgumentsError with all that is wrong."""
    try:
        canonical_bytes(dict(arguments))
    except (TypeError, ValueError) as error:
        problem = ArgumentProblem(path="", problem="must be JSON: no NaN, no lone surrogate")
        raise InvalidArgumentsError([problem]) from error
    shape = model.input_shape
    if shape is None:
        if arguments:
            raise InvalidArgumentsError([ArgumentProblem(path="", problem="this operation takes none")])
        return {}
    conversion = _Conversion()
    parameters: dict[str, Any] = conversion.convert(arguments, shape)
    for token in model.idempotent_members:
        # Services want a UUID, or as many characters, whatever the caller's key looks like.
        parameters.setdefault(token, str(uuid5(NAMESPACE_OID, idempotency_key)))
    problems = conversion.problems
    for check in (_refused_by_botocore, _empty_in_the_address):
        told = {problem.path for problem in problems}
        problems += [problem for problem in check(parameters, shape) if problem.path not in told]
    if problems:
        raise InvalidArgumentsError(problems)
    return parameters


def _refused_by_botocore(parameters: Mapping[str, Any], shape: Any) -> list[ArgumentProblem]:
    report = ParamValidator().validate(parameters, shape)
    return [
        ArgumentProblem(path=path.removeprefix("."), problem=_in_our_words(reason, details))
        for reason, path, details in report._errors  # noqa: SLF001 - its public text repeats the values
    ]


def _empty_in_the_address(parameters: Mapping[str, Any], shape: Any) -> list[ArgumentProblem]:
    # Nothing between two slashes is another address: deleting the object "" would delete its bucket.
    return [
        ArgumentProblem(path=name, problem="must not be empty: it is a part of the address")
        for name, member in shape.members.items()
        if member.serialization.get("location") == "uri" and parameters.get(name) == ""
    ]


class _Conversion:
    """Walks arguments along their shape, and collects what is wrong with texts that stand for something else.

    What is of the wrong type or unknown is passed on as it is: botocore refuses it next.
    """

    def __init__(self) -> None:
        self.problems: list[ArgumentProblem] = []

    def convert(self, value: Any, shape: Any, path: str = "") -> Any:
        """The value as botocore takes it."""
        match shape.type_name, value:
            case "structure", Mapping() if not shape.is_document_type:
                return {
                    name: self.convert(part, shape.members[name], f"{path}.{name}" if path else name)
                    if name in shape.members
                    else part
                    for name, part in value.items()
                }
            case "map", Mapping():
                return {key: self.convert(part, shape.value, f"{path}.{key}") for key, part in value.items()}
            case "list", list() | tuple():
                return [self.convert(part, shape.member, f"{path}[{at}]") for at, part in enumerate(value)]
            case "blob", str():
                return self._bytes(value, path)
            case "timestamp", _:
                return self._time(value, path)
            case "integer" | "long", float() if value.is_integer():
                return int(value)  # JSON has one kind of number
            case _:
                return value

    def _bytes(self, text: str, path: str) -> bytes:
        try:
            return base64.b64decode(text, validate=True)
        except ValueError:
            self.problems.append(ArgumentProblem(path=path, problem="must be base64"))
            return b""

    def _time(self, value: Any, path: str) -> datetime:
        try:
            time = datetime.fromisoformat(value)
            if time.tzinfo is not None:
                # botocore writes the clock it is given and calls it UTC.
                return time.astimezone(UTC)
        except (TypeError, ValueError, OverflowError):
            pass
        self.problems.append(
            ArgumentProblem(path=path, problem="must be an ISO 8601 time with an offset, such as 2026-01-31T12:00:00Z")
        )
        return _ANY_TIME


def _in_our_words(reason: str, details: Mapping[str, Any]) -> str:
    match reason:
        case "missing required field":
            return f"needs the field {details['required_name']}"
        case "unknown field":
            return "has a field that this operation does not know"
        case "invalid length":
            return f"must have at least {details['min_allowed']} characters or entries"
        case "invalid range":
            return f"must be at least {details['min_allowed']}"
        case "empty input" | "more than one input":
            return f"needs exactly one of {', '.join(sorted(details['members']))}"
        case _:
            return "has the wrong type"


def _as_json(serialized: Mapping[str, Any]) -> dict[str, Any]:
    path, _, fixed_query = serialized["url_path"].partition("?")
    query = serialized["query_string"]
    written = percent_encode_sequence(query) if query else ""
    body = _body_bytes(serialized["body"])
    request = {
        "method": serialized["method"],
        "path": path,
        "query": "&".join(part for part in (fixed_query, written) if part),
        "headers": {name: str(value) for name, value in serialized["headers"].items()},
        "body": _shown(body),
        "body_bytes": len(body),
    }
    if "host_prefix" in serialized:
        request["host_prefix"] = serialized["host_prefix"]
    return request


def _body_bytes(body: Any) -> bytes:
    match body:
        case Mapping():  # the query protocols leave the form to whoever sends it
            return urlencode(body, doseq=True).encode()
        case str():
            return body.encode()
        case _:
            return bytes(body)


def _shown(body: bytes) -> str | None:
    if not body or len(body) > MAX_BODY_SHOWN:
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return text if all(character.isprintable() or character.isspace() for character in text) else None
