"""The names that tools, surfaces, applications and runs may have, and the digests that identify content.

Everything that enters from outside passes one of these checks once, where it enters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from surface.canonical import digest
from surface.errors import ConfigurationError

TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
DEPLOY = re.compile(r"[\x20-\x7e]{1,128}")
RUN_ID = re.compile(r"[\x20-\x7e]{1,256}")


def is_tool_name(name: object) -> TypeGuard[str]:
    """Whether a catalog may hold a tool of this name (CAT-2)."""
    return isinstance(name, str) and TOOL_NAME.fullmatch(name) is not None


def is_key(key: object) -> TypeGuard[str]:
    """Whether a surface, an application or a service may have this name."""
    return isinstance(key, str) and KEY.fullmatch(key) is not None


def is_deploy(name: object) -> TypeGuard[str]:
    """Whether a deploy may be called so."""
    return isinstance(name, str) and DEPLOY.fullmatch(name) is not None


def require_key(field: str, key: object) -> str:
    """`key` itself; raises ConfigurationError naming `field` where it is no valid key."""
    if not is_key(key):
        raise ConfigurationError(f"{field}: needs 1-64 characters of A-Z a-z 0-9 _ . -")
    return key


def require_run_id(run_id: object) -> str:
    """`run_id` itself; raises ConfigurationError where it is not 1-256 bytes of printable ASCII."""
    if not isinstance(run_id, str) or RUN_ID.fullmatch(run_id) is None:
        raise ConfigurationError("run_id: needs 1-256 bytes of printable ASCII")
    return run_id


def require_at_least_one(field: str, number: object) -> int:
    """`number` itself; raises ConfigurationError naming `field` where it is no whole number of at least 1."""
    if type(number) is not int or number < 1:
        raise ConfigurationError(f"{field}: needs a whole number of at least 1")
    return number


def tool_digest(*, name: str, description: str, input_schema: Mapping[str, Any], service: str | None) -> str:
    """The digest over all that a model or a ranker reads of a tool (CAT-4)."""
    return digest({"name": name, "description": description, "input_schema": input_schema, "service": service})


def catalog_digest(tool_digests: Iterable[str]) -> str:
    """The digest of a tool set, whatever the order its tools were given in (CAT-3, CAT-4)."""
    return digest(sorted(tool_digests))
