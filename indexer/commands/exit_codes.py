"""What a deploy's commands exit with beside 0, 1 and 2."""

from __future__ import annotations

CANARY_FAILED, LOST_THE_RACE, SWITCHED = 3, 4, 5
