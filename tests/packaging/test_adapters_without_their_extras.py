"""An adapter whose framework is not installed says what to install, whichever of its modules is imported first."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "lacks", "extra"),
    [
        ("fastapi_service", "fastapi", "fastapi"),
        ("langchain", "langchain", "langchain"),
        ("langchain.messages", "langchain_core", "langchain"),
        ("opentelemetry", "opentelemetry", "opentelemetry"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("pydantic_ai.messages", "pydantic_ai", "pydantic-ai"),
    ],
)
def test_an_adapter_without_its_extra_says_what_to_install(module: str, lacks: str, extra: str) -> None:
    code = f"import sys; sys.modules[{lacks!r}] = None; import surface.adapters.{module}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.endswith(f"ModuleNotFoundError: needs an extra: pip install 'toolsurface[{extra}]'\n")
