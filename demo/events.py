"""What an agent process tells the demo, one JSON line each on its standard output.

The demo believes only what it finds here and in the transcript on disk; everything it shows is made of these events.
They may hold queries and arguments, because the scripts are the demo's own; evidence of the library never does.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Mounted(_Event):
    """A run is mounted."""

    kind: Literal["mounted"] = "mounted"
    run_id: str
    surface: str
    tools: int
    schema_bytes: int
    """Of the whole catalog of the surface."""
    messages: int
    """In the transcript that the process found."""
    seconds: float
    """From the start of the process."""


class Prepared(_Event):
    """A step was prepared."""

    kind: Literal["prepared"] = "prepared"
    run_id: str
    step: int
    advertised: tuple[str, ...]
    """The names in the tools list that would be sent, in order."""
    tools_digest: str
    """Over the whole tools list: equal digests are byte-identical lists."""
    base: tuple[str, ...]
    selected: tuple[str, ...]
    pins: tuple[str, ...]
    source: str
    """none, current or durable."""
    schema_bytes: int


class WrittenCall(_Event):
    """One call that the model wrote."""

    id: str
    tool: str
    arguments: dict[str, Any]


class Wrote(_Event):
    """The model's turn stands in the transcript."""

    kind: Literal["wrote"] = "wrote"
    step: int
    calls: tuple[WrittenCall, ...]


class Handled(_Event):
    """A handler ran: the request that would be sent."""

    kind: Literal["handled"] = "handled"
    call_id: str
    tool: str
    request: dict[str, Any]


class Holding(_Event):
    """The process stays inside a handler until it is killed."""

    kind: Literal["holding"] = "holding"
    call_id: str


class Searched(_Event):
    """A search was answered."""

    kind: Literal["searched"] = "searched"
    status: str
    ranker: str
    index_version: str | None
    degraded: str | None
    seconds: float


class Answered(_Event):
    """The result of a call stands in the transcript."""

    kind: Literal["answered"] = "answered"
    call_id: str
    text: str
    failed: bool


class Finished(_Event):
    """The model has nothing left to say."""

    kind: Literal["finished"] = "finished"


Event: TypeAlias = Mounted | Prepared | Wrote | Handled | Holding | Searched | Answered | Finished

_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])


def read_event(line: bytes) -> Event:
    """The event of one line; raises ValueError where it is none."""
    return _EVENT.validate_json(line)
