"""What a process keeps of memory that it has let go of."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
from selector.adapters.native_memory import give_back_large

MB = 2**20

def resident():
    return 1024 * int(open("/proc/self/status").read().split("VmRSS:")[1].split()[0])

if {told}:
    give_back_large()
np.ones(16 * MB, dtype=np.uint8)  # once, as a first one always goes back and teaches the library to keep the next
before = resident()
held = [np.ones(8 * MB, dtype=np.uint8), np.ones(8, dtype=np.uint8), np.ones(4096, dtype=np.uint8)]
del held[0]
print((resident() - before) / MB)
"""


def _kept(*, told: bool) -> float:
    """Megabytes that a fresh process keeps of a large array that was let go of."""
    command = [sys.executable, "-c", PROGRAM.format(told=told)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have rules of their own")
def test_a_large_array_goes_back_to_the_system_when_it_is_let_go_of() -> None:
    assert _kept(told=True) < 1.0
    assert _kept(told=False) > 4.0
