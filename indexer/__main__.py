"""The indexer's commands: `toolsurface deploy …` and `python -m indexer deploy …` are the same."""

from __future__ import annotations

import sys

from toolsurface import Importing

with Importing("python -m indexer"):
    from indexer.commands.deploy import DEPLOY
    from indexer.commands.import_files import IMPORT
    from indexer.commands.inspect import INSPECT
    from indexer.commands.prune import PRUNE
    from indexer.commands.status import STATUS
    from indexer.commands.switch import ACTIVATE, ROLLBACK
    from indexer.commands.verify import VERIFY
    from indexer.commands.watch import WATCH
    from surface.adapters.command_line import run

COMMANDS = (DEPLOY, STATUS, ACTIVATE, ROLLBACK, PRUNE, WATCH, VERIFY, INSPECT, IMPORT)

if __name__ == "__main__":
    sys.exit(run(COMMANDS, "python -m indexer"))
