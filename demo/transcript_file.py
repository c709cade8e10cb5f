"""A transcript on disk: the messages of one run as JSON, whole after every message.

The file is all that survives of a run; there is no other state. It is renamed into place, so a process that is killed
while it writes leaves the message before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surface.adapters.output_file import write_whole


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """The messages of one run."""

    path: Path

    def read(self) -> list[dict[str, Any]]:
        """All messages so far; none where the run has not begun."""
        try:
            messages: list[dict[str, Any]] = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        return messages

    def write(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """Replaces the file with these messages."""
        lines = ",\n".join(json.dumps(message, ensure_ascii=False) for message in messages)
        write_whole(self.path, f"[\n{lines}\n]\n".encode())
