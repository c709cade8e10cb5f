"""Runs each framework's tests on its newest release and on the oldest that its extra admits: ``make test-frameworks``.

    python -m tests.frameworks.matrix [FRAMEWORK …]

Each cell has a virtual environment of its own below `.frameworks`, with the extra alone: installing it must bring no
other framework, which is looked at first. What the recovery matrix stores runs in comes behind it, in the newest
version that this release of the framework takes. A framework is one `Row` of the table.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from collections.abc import Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

FRAMEWORKS = {
    "agent-framework-core",
    "agentscope",
    "autogen-core",
    "crewai",
    "deepagents",
    "dspy",
    "fastmcp",
    "google-adk",
    "haystack-ai",
    "langchain",
    "langgraph",
    "llama-index-core",
    "openai-agents",
    "pydantic-ai-slim",
    "semantic-kernel",
    "smolagents",
    "strands-agents",
}
"""Whatever runs an agent's loop or brings tools of its own kind."""
ROOT = Path(__file__).parents[2]
HOME = ROOT / ".frameworks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One framework."""

    extra: str
    distribution: str
    """Whose version a cell tells."""
    frameworks: Set[str]
    """What of `FRAMEWORKS` the extra brings."""
    oldest: Sequence[str]
    """Requirements that make the oldest cell."""
    recovery: str
    """The group of requirements that its recovery matrix needs beside the extra."""
    tests: Sequence[str]
    """Files and folders that pytest gets."""


TABLE = (
    Row(
        extra="pydantic-ai",
        distribution="pydantic-ai-slim",
        frameworks={"pydantic-ai-slim"},
        oldest=["pydantic-ai-slim==2.16.0"],
        recovery="pydantic-ai-recovery",
        tests=[
            "tests/frameworks/test_pydantic_ai_approval_marks.py",
            "tests/frameworks/test_pydantic_ai_approvals.py",
            "tests/frameworks/test_pydantic_ai_arguments.py",
            "tests/frameworks/test_pydantic_ai_attempts.py",
            "tests/frameworks/test_pydantic_ai_broken.py",
            "tests/frameworks/test_pydantic_ai_calls.py",
            "tests/frameworks/test_pydantic_ai_conformance.py",
            "tests/frameworks/test_pydantic_ai_dbos.py",
            "tests/frameworks/test_pydantic_ai_journal.py",
            "tests/frameworks/test_pydantic_ai_messages.py",
            "tests/frameworks/test_pydantic_ai_hooks.py",
            "tests/frameworks/test_pydantic_ai_namesakes.py",
            "tests/frameworks/test_pydantic_ai_numbers.py",
            "tests/frameworks/test_pydantic_ai_reading.py",
            "tests/frameworks/test_pydantic_ai_records.py",
            "tests/frameworks/test_pydantic_ai_recovery.py",
            "tests/frameworks/test_pydantic_ai_tools.py",
            "tests/frameworks/test_pydantic_ai_toolsets.py",
            "tests/frameworks/test_pydantic_ai_waiting.py",
            "tests/frameworks/test_pydantic_ai_withheld.py",
        ],
    ),
    Row(
        extra="langchain",
        distribution="langchain",
        frameworks={"langchain", "langgraph"},  # its agents are graphs of LangGraph's
        oldest=["langchain==1.4.2"],
        recovery="langchain-recovery",
        tests=[
            "tests/frameworks/test_deepagents.py",
            "tests/frameworks/test_langchain.py",
            "tests/frameworks/test_langchain_arguments.py",
            "tests/frameworks/test_langchain_attempts.py",
            "tests/frameworks/test_langchain_calls.py",
            "tests/frameworks/test_langchain_gate.py",
            "tests/frameworks/test_langchain_injected.py",
            "tests/frameworks/test_langchain_inputs.py",
            "tests/frameworks/test_langchain_jumps.py",
            "tests/frameworks/test_langchain_messages.py",
            "tests/frameworks/test_langchain_reviews.py",
            "tests/frameworks/test_langchain_steps.py",
            "tests/frameworks/test_langchain_tools.py",
            "tests/frameworks/test_langchain_unparsable.py",
            "tests/frameworks/test_langgraph_at_once.py",
            "tests/frameworks/test_langgraph_journal.py",
            "tests/frameworks/test_langgraph_late.py",
            "tests/frameworks/test_langgraph_recovery.py",
            "tests/frameworks/test_langgraph_workers.py",
            "tests/frameworks/test_sync_bridge.py",
        ],
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One framework at one end of its range."""

    row: Row
    newest: bool

    @property
    def name(self) -> str:
        """Such as ``pydantic-ai-oldest``."""
        return f"{self.row.extra}-{'newest' if self.newest else 'oldest'}"

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        return HOME / self.name / "bin" / "python"

    def run(self) -> int:
        """Sets the environment up, looks at what came with it, and runs the tests; pytest's exit status."""
        stamp = HOME / self.name / "installed"
        wanted = sha256((ROOT / "pyproject.toml").read_bytes() + repr(self._pins).encode()).hexdigest()
        if self.newest or not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
            print(f"{self.name}: installing", file=sys.stderr)
            # Anew, because what an earlier recovery matrix brought would stand beside the extra.
            venv.create(HOME / self.name, with_pip=True, clear=True)
            self._pip("install", "--upgrade", "pip>=25.1")
            self._install("framework-tests")
            if strangers := sorted(self._installed() & FRAMEWORKS - self.row.frameworks):
                print(f"{self.name}: the extra brings another framework: {', '.join(strangers)}", file=sys.stderr)
                return 1
            self._install("framework-tests", self.row.recovery)
            stamp.write_text(wanted, encoding="utf-8")
        self._installed()
        command = [str(self.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *self.row.tests]
        return subprocess.run(command, cwd=ROOT, check=False).returncode

    @property
    def _pins(self) -> Sequence[str]:
        return () if self.newest else self.row.oldest

    def _install(self, *groups: str) -> None:
        """The extra with these groups of requirements, all in versions that fit the pins."""
        asked = [flag for group in groups for flag in ("--group", f"{ROOT / 'pyproject.toml'}:{group}")]
        self._pip("install", "--editable", f"{ROOT}[json-schema,{self.row.extra}]", *self._pins, *asked)

    def _pip(self, *arguments: str) -> None:
        subprocess.run([str(self.python), "-m", "pip", "--disable-pip-version-check", "-q", *arguments], check=True)

    def _installed(self) -> set[str]:
        command = [str(self.python), "-m", "pip", "list", "--format", "freeze", "--disable-pip-version-check"]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found = dict(line.partition("==")[::2] for line in listed.splitlines() if "==" in line)
        print(f"{self.name}: {self.row.distribution} {found.get(self.row.distribution, 'is missing')}", file=sys.stderr)
        return set(found)


def main() -> int:
    """Every cell that is asked for, one after the other; 1 where any failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.frameworks.matrix", description=__doc__)
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help=", ".join(row.extra for row in TABLE))
    asked = parser.parse_args().frameworks
    unknown = sorted(set(asked) - {row.extra for row in TABLE})
    if unknown:
        parser.error(f"no framework {', '.join(unknown)}; there are {', '.join(row.extra for row in TABLE)}")
    cells = [
        Cell(row=row, newest=newest) for row in TABLE if not asked or row.extra in asked for newest in (True, False)
    ]
    failed = [cell.name for cell in cells if cell.run()]
    print(
        f"failed: {', '.join(failed)}" if failed else f"passed: {', '.join(cell.name for cell in cells)}",
        file=sys.stderr,
    )
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except subprocess.CalledProcessError as error:
        sys.exit(f"installing failed: {' '.join(map(str, error.cmd))}")
