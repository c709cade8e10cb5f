"""What a store keeps as JSON, read strictly: any bytes give a value or one `ArtefactError` that names the field."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from indexer.errors import ArtefactError
from indexer.strict_json import NotJsonError, parse_json

Stored = TypeVar("Stored", bound=BaseModel)


def read_stored(model: type[Stored], data: bytes, *, what: str) -> Stored:
    """The value that `data` holds; raises `ArtefactError`, and nothing else. `what` begins its message."""
    try:
        return model.model_validate(parse_json(data))
    except NotJsonError as error:
        raise ArtefactError(f"{what}: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(ascii(step)[1:-1] if isinstance(step, str) else str(step) for step in first["loc"])
        raise ArtefactError(f"{what}: {field}: {first['msg']}" if field else f"{what}: {first['msg']}") from None
