"""The selector's commands: `toolsurface serve …` and `python -m selector serve …` are the same."""

from __future__ import annotations

import sys

from toolsurface import Importing

with Importing("python -m selector"):
    from selector.commands.evaluate import EVALUATE
    from selector.commands.key import KEY
    from selector.commands.lint import LINT
    from selector.commands.rank import RANK
    from selector.commands.serve import SERVE
    from surface.adapters.command_line import run

COMMANDS = (SERVE, RANK, EVALUATE, LINT, KEY)

if __name__ == "__main__":
    sys.exit(run(COMMANDS, "python -m selector"))
