"""Every benchmark, one after the other: ``make bench``, or ``python -m benchmarks step quality``.

Each prints one table and one JSON line, and has options of its own: ``python -m benchmarks.NAME -h``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

BENCHMARKS = {
    "step": "what a prepared step and a search cost, by catalog and history",
    "deploy": "what a deploy costs, whole and with edits (needs the sets; see TOOLSURFACE_BENCH)",
    "frameworks": "what deferral adds to a step of a framework's own loop",
    "ranking": "what ranking costs beside the embedding of its query (needs the sets; see TOOLSURFACE_BENCH)",
    "service": "the ranking service under load, against its parts (needs the sets; see TOOLSURFACE_BENCH)",
    "tenants": "whether time tells a surface that a key may not ask from one that does not exist",
    "quality": "how well the rankers find tools, by set (needs the sets; see TOOLSURFACE_BENCH)",
}


def main() -> int:
    """Runs the benchmarks asked for in processes of their own; the exit status of the first that fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Runs the benchmarks.")
    listed = "; ".join(f"{name}: {what}" for name, what in BENCHMARKS.items())
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which (default: all). {listed}")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - BENCHMARKS.keys())
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    for name in arguments.names or BENCHMARKS:
        print(f"\n{name}: {BENCHMARKS[name]}", file=sys.stderr)
        ended = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False)
        if ended.returncode:
            return ended.returncode
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
