"""The indexer's commands: `toolsurface deploy …` and `python -m indexer deploy …` are the same."""

from __future__ import annotations

import sys

from indexer.commands.deploy import DEPLOY
from indexer.commands.status import STATUS
from surface.adapters.command_line import run

COMMANDS = (DEPLOY, STATUS)

if __name__ == "__main__":
    sys.exit(run(COMMANDS, "python -m indexer"))
