"""python -m fuzz: see the package."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence

from fuzz.campaign import campaign, described, replay
from fuzz.targets import TARGETS


def main(arguments: Sequence[str] | None = None) -> int:
    """1 where an input failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Fuzzes what reads receipts and transcripts.")
    parser.add_argument("--seconds", type=float, default=600.0, help="for all targets together")
    parser.add_argument("--target", choices=[*TARGETS, "all"], default="all")
    parser.add_argument("--seed", type=int, default=None, help="without one, another each time")
    parser.add_argument("--replay", type=int, metavar="NUMBER", help="run this one input of the target and seed")
    given = parser.parse_args(arguments)
    seed = random.randrange(2**32) if given.seed is None else given.seed  # noqa: S311 - no secret
    targets = list(TARGETS.values()) if given.target == "all" else [TARGETS[given.target]]
    if given.replay is not None:
        if given.target == "all" or given.seed is None:
            parser.error("--replay needs --target and --seed")
        tallies = [replay(targets[0], seed=seed, number=given.replay)]
    else:
        print(f"seed {seed}", flush=True)
        tallies = []
        for target in targets:
            tally = campaign(target, seed=seed, seconds=given.seconds / len(targets), tell=_tell)
            _tell(str(tally))
            tallies.append(tally)
    findings = [tally.finding for tally in tallies if tally.finding is not None]
    for finding in findings:
        _tell(described(finding))
    return 1 if findings else 0


def _tell(line: str) -> None:
    # A finding may hold what no terminal can show, lone surrogates among it.
    print(line.encode("utf-8", "backslashreplace").decode("utf-8"), flush=True)


if __name__ == "__main__":
    sys.exit(main())
