"""The clauses of a query that asks for several things. Pure.

"Find the overdue invoices and text each customer" wants two tools, and one vector of the whole is near neither. A
query is cut at the ends of sentences, at line breaks and semicolons, and at the words that join requests (``and``,
``then``, ``also`` …). A piece with fewer than two words that say something belongs to the piece before it: "cats and
dogs" is one request. Punctuation of other scripts cuts as well.

Not done here: ranking the clauses.
"""

from __future__ import annotations

import re
from typing import Final

from surface.lexical import query_words

MAX_CLAUSES: Final = 6
"""The last one keeps whatever is left; ranking a query stays bounded."""
LEAST_WORDS: Final = 2
_MAX_CHARACTERS: Final = 4_000

_CUT: Final = re.compile(
    r"[.!?;](?=\s|$)|[\n\u3002\uff01\uff1f\uff1b\u061f]"
    r"|,?\s+(?:and\s+then|and\s+also|as\s+well\s+as|after\s+that|afterwards|then|also|plus|and)\s+(?=\S)|,\s+(?=\S)",
    re.IGNORECASE,
)


def clauses(query: str) -> tuple[str, ...]:
    """The clauses in the order they stand; empty where the query is one request."""
    text = query[:_MAX_CHARACTERS]
    found: list[tuple[int, int]] = []
    start = 0
    for cut in [*_CUT.finditer(text), None]:
        end = cut.start() if cut is not None else len(text)
        said = len(query_words(text[start:end]))
        if said >= LEAST_WORDS and len(found) < MAX_CLAUSES:
            found.append((start, end))
        elif found:
            found[-1] = (found[-1][0], end if said else found[-1][1])
        else:
            continue  # too little to stand alone, and nothing before it: it belongs to what follows
        start = cut.end() if cut is not None else end
    return tuple(text[begin:end].strip() for begin, end in found) if len(found) > 1 else ()
