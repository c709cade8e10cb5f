"""What every embedder does to its texts before it looks at them.

Rules kept here:

1. A lone string is refused: it is a sequence of strings, so it would be embedded letter by letter.
2. Lone surrogates become U+FFFD. They arise in JSON cut in the middle of an escape, and no tokenizer
   takes them.
3. A text is cut at a number of characters first, so that a text of a gigabyte costs what a page costs.

Not here: lower-casing, splitting and every other thing that is a model's own.
"""

import re
from collections.abc import Sequence
from typing import Final

from models.errors import InvalidTextsError

__all__ = ["embeddable_texts"]

_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def embeddable_texts(texts: Sequence[str], *, max_characters: int) -> list[str]:
    """The same texts in the same order, each valid Unicode of at most `max_characters` characters.

    Raises `InvalidTextsError`, which names the position and the type and never the text.
    """
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):
        raise InvalidTextsError(
            f"texts: a {type(texts).__name__} is not a list of strings; pass a list, a single text as [text]"
        )
    result: list[str] = []
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise InvalidTextsError(f"texts[{position}]: a {type(text).__name__} is not a str; convert it first")
        result.append(_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text[:max_characters]))
    return result
