"""Which activations are new to somebody who looks at a ledger now and then. Pure; who looks decides when."""

from __future__ import annotations

from collections.abc import Sequence

from indexer.ledger import Activation, Ledger


class Watching:
    """Remembers, for each application, the last line it has told."""

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: dict[str, Activation] = {}

    def news(self, ledger: Ledger) -> Sequence[Activation]:
        """The lines since the last look, oldest first; at the first look the last line alone.

        Where the last told line is forgotten, or the ledger began anew, every line there is counts as new.
        """
        lines = ledger.activations
        if not lines:
            return ()
        told = self._told.get(ledger.application)
        self._told[ledger.application] = lines[-1]
        if told is None:
            return lines[-1:]
        places = [at for at, line in enumerate(lines) if line == told]
        return lines[places[-1] + 1 :] if places else lines
