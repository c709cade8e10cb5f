"""Threads for one piece of work, which nobody waits for once that has failed.

Python before 3.13 takes a thread for ended when Ctrl-C comes while somebody joins it. The process that ends then takes
the engine away under a thread that still runs in it, and aborts. So whoever fails joins nothing: the interpreter does,
when it ends. No more is begun, and what is under way ends by itself.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

__all__ = ["working_threads"]


@contextmanager
def working_threads(most: int, *, name: str) -> Iterator[ThreadPoolExecutor]:
    """At most so many threads, all of them done at the end of the block unless it raises. `name` begins each name."""
    pool = ThreadPoolExecutor(most, thread_name_prefix=name)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
