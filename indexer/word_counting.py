"""Counts the words of surfaces in a thread of its own while their texts are embedded, which leaves Python idle.

Not done here: what a word scores (`word_scores.words_of`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread

from indexer.contents import LexicalArrays
from indexer.document import Document
from indexer.word_scores import words_of


@contextmanager
def counting_words(documents: Mapping[str, Sequence[Document]]) -> Iterator[dict[str, Future[LexicalArrays]]]:
    """The words of each surface, whose documents stand in the order of their names.

    What the block takes out of it and lets go of is held nowhere else. What is not begun when the block ends is not
    counted, and nobody waits for what is.
    """
    counted: dict[str, Future[LexicalArrays]] = {key: Future() for key in documents}
    waiting = deque(counted.items())
    if waiting:
        # No pool: that is waited for when the interpreter ends, and Ctrl-C should not wait for a large surface.
        Thread(target=_count, args=(waiting, documents), name="words", daemon=True).start()
    try:
        yield counted
    finally:
        for _, future in tuple(waiting):
            future.cancel()


def _count(waiting: deque[tuple[str, Future[LexicalArrays]]], documents: Mapping[str, Sequence[Document]]) -> None:
    while waiting:
        key, future = waiting[0]
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(words_of(documents[key]))
            except BaseException as error:  # noqa: BLE001 - whoever asks for it gets it
                future.set_exception(error)
        waiting.popleft()
        del future
