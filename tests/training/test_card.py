"""The card that goes with trained weights."""

from __future__ import annotations

from dataclasses import replace

from training.card import Learnt, Run, card

RUN = Run(base="some-base", seed=7, steps=850, learnt_now=250, seconds=61.4, threads=2, versions={"torch": "2.13.0"})
SETS = [
    Learnt(name="metatool", licence="MIT", source="a/b@1", tools=199, queries=14_830),
    Learnt(name="cat_toucan", licence="Apache-2.0", source="c/d@2", tools=17_487, queries=0),
]


def test_a_card_names_every_set_with_its_licence_and_how_much_was_learnt_from_it() -> None:
    rows = [line for line in card(RUN, SETS).splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0].lstrip("| ") for row in rows[1:]] == ["metatool", "cat_toucan"]
    assert "| 199 | 14,830 |" in rows[1]
    assert "| MIT | a/b@1 |" in rows[1]
    assert "| 17,487 | 0 |" in rows[2]
    assert all("| 0.0 % |" not in row for row in rows)


def test_a_card_says_what_it_takes_to_do_the_run_again_and_that_a_stopped_one_was_gone_on_with() -> None:
    said = card(RUN, SETS)
    assert "From some-base: 850 steps, 250 of them in this run, in 61 seconds" in said
    assert "on 2 thread(s); seed 7; torch 2.13.0." in said
    assert "seed 8" in card(replace(RUN, seed=8), SETS)
