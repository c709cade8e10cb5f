"""botocore's own service models, as the one source of everything the demo knows about AWS.

Only the models inside the installed botocore are read, never the ones a person may keep in ``~/.aws/models``: the
demo's catalog is the same for everyone who has the same botocore. Parsed models stay in memory, so the process that
reads the operations of a service and then builds its requests parses it once; nothing is cached on disk.

Not done here: deciding which services the demo shows, and everything that needs a session, a region or credentials.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from botocore.exceptions import UnknownServiceError
from botocore.loaders import Loader
from botocore.model import ServiceModel


class UnknownOperationError(LookupError):
    """The installed botocore has no such service, or the service no such operation; the program has to change."""


@cache
def service_description(service: str) -> Mapping[str, Any]:
    """The parsed model of one service, newest version: `metadata`, `operations`, `shapes`. Do not change it.

    Raises UnknownOperationError where botocore has no such service.
    """
    try:
        description: Mapping[str, Any] = _loader().load_service_model(service, "service-2")
    except UnknownServiceError as error:
        raise UnknownOperationError(f"botocore has no service {service!r}") from error
    return description


@cache
def service_model(service: str) -> Any:
    """The same model as botocore's ServiceModel, which its serializers read.

    Raises UnknownOperationError where botocore has no such service.
    """
    return ServiceModel(service_description(service), service)


@cache
def _loader() -> Any:
    return Loader(extra_search_paths=[Loader.BUILTIN_DATA_PATH], include_default_search_paths=False)
