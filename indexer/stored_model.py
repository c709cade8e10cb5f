"""What a store keeps as JSON, read strictly: any bytes give a value or one `ArtefactError` that names the field."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from indexer.errors import ArtefactError
from indexer.strict_json import NotJsonError, parse_json

_FORMATS = 1_000
"""More than there will ever be: a larger number is no version's."""
Stored = TypeVar("Stored", bound=BaseModel)


def read_stored(model: type[Stored], data: bytes, *, what: str, format: int | None = None) -> Stored:  # noqa: A002 - the field's name
    """The value that `data` holds; raises `ArtefactError`, and nothing else. `what` begins its message.

    `format` is the one that is read here: where the value says another whole number, nothing else of it is judged.
    """
    try:
        value = parse_json(data)
        said = value.get("format") if isinstance(value, dict) else None
        if format is not None and type(said) is int and said != format and 0 <= said < _FORMATS:
            raise ArtefactError(
                f"{what}: was written by another version of toolsurface (its format is {said}, read here is {format})"
            )
        return model.model_validate(value)
    except NotJsonError as error:
        raise ArtefactError(f"{what}: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(ascii(step)[1:-1] if isinstance(step, str) else str(step) for step in first["loc"])
        if first["type"] == "model_type":
            raise ArtefactError(f"{what}: {f'{field}: ' if field else ''}must be a JSON object") from None
        raise ArtefactError(f"{what}: {field}: {first['msg']}" if field else f"{what}: {first['msg']}") from None
