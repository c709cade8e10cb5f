"""When a sliding window has room again. Pure; the counting is done by `limits` (`adapters/rates.py`).

A sliding window counter knows two numbers, what was asked in the window before and in this one, and takes the first for
spread evenly: ``counted = before * (the share of that window that is still looked at) + now``. A question of `n`
passes where ``floor(counted) + n <= amount``.
"""

from __future__ import annotations

import math


def seconds_until(n: int, *, amount: int, seconds: int, before: int, now: int, left: float) -> int:
    """The whole seconds, from 1 on, after which `n` fit if nobody else asks.

    `amount`: what a window of `seconds` allows. `before`, `now`: what was asked in the window before and in this one,
    which lasts for `left` more seconds. `n` is at most `amount`.
    """
    room = amount - n + 1  # `n` fit while less than this is counted
    if now < room:
        # The window before slides out of sight: counted = before * left / seconds + now.
        waits = left - (room - now) * seconds / before if before else 0.0
    else:
        # Not in this window. In the next one this one is what slides out of sight.
        waits = left + seconds * (1 - room / now)
    return max(1, math.floor(waits) + 1)
