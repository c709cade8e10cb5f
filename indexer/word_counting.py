"""Counts the words of surfaces in a thread of its own while their texts are embedded, which leaves Python idle.

Not done here: what a word scores (`build.words_of`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread

from indexer.build import words_of
from indexer.contents import LexicalArrays
from indexer.document import Document


@contextmanager
def counting_words(
    documents: Mapping[str, Sequence[Document]],
) -> Iterator[dict[str, Future[LexicalArrays]]]:
    """The words of each surface, whose documents stand in the order of their names; what is not begun when the block
    ends is not counted, and nobody waits for what is.
    """
    counted: dict[str, Future[LexicalArrays]] = {key: Future() for key in documents}
    waiting = list(counted.items())  # the block may take what it has used out of the other one

    def count() -> None:
        for key, future in waiting:
            if not future.set_running_or_notify_cancel():
                continue
            try:
                found = words_of(documents[key])
            except BaseException as error:  # noqa: BLE001 - whoever asks for it gets it
                future.set_exception(error)
            else:
                future.set_result(found)

    if waiting:
        # No pool: that is waited for when the interpreter ends, and Ctrl-C should not wait for a large surface.
        Thread(target=count, name="words", daemon=True).start()
    try:
        yield counted
    finally:
        for _, future in waiting:
            future.cancel()
