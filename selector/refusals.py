"""Why a version or a pointer cannot be used, in words for the operator. Pure.

Of what nobody foresaw only the class is told, as its message may quote anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from indexer.errors import IndexerError, StoreError
from selector.errors import ModelMismatchError, SelectorError, TooLargeError
from selector.served import Refusal, RefusalCode

_CODES: Final[Mapping[type[Exception], RefusalCode]] = {
    ModelMismatchError: "model_mismatch",
    StoreError: "unreadable",
    TooLargeError: "too_large",
}


def refusal_of(error: Exception, *, surface: str) -> Refusal:
    """Of a version of this surface whose opening raised `error`."""
    if not isinstance(error, (IndexerError, SelectorError)):
        return Refusal(code="failed", detail=f"surface {surface}: opening it {in_words(error)}")
    code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), None)
    return Refusal(code=code or "damaged", detail=str(error))


def in_words(error: Exception) -> str:
    """What is said of an error: its own sentence, or the class of one that nobody foresaw."""
    if isinstance(error, (IndexerError, SelectorError)):
        return str(error)
    return f"failed with {type(error).__name__}, which nobody foresaw; it is tried again"
