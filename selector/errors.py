"""What can go wrong while index versions are put into service, and whose fault it is.

    SelectorError
    ├── ModelMismatchError     the deploy's: an index was built with another embedding model than this service runs
    ├── TooLargeError          the operator's: an index version alone outweighs the memory that indexes may take
    ├── FailedBeforeError      the store's: an index version could not be loaded just now and is not tried again yet
    ├── AccessError            the operator's: a file that says who may ask cannot be used
    └── EvaluationError        the caller's: a catalog or a set of queries cannot be evaluated

What goes wrong with one query is `surface.errors.RankerUnavailable` with a code; nothing here ever holds a query.
"""

from __future__ import annotations

from surface.errors import ToolSurfaceError


class SelectorError(ToolSurfaceError):
    """The root of this part's own errors."""


class ModelMismatchError(SelectorError):
    """Vectors of two models are never compared, so this surface is not served."""

    def __init__(self, *, surface: str, index_model: str, service_model: str) -> None:
        self.surface = surface
        self.index_model = index_model
        self.service_model = service_model
        super().__init__(
            f"surface {surface}: its index was built with the model {index_model}, this service runs {service_model};"
            " deploy the surface again with the service's model, or start the service with the index's"
        )


class TooLargeError(SelectorError):
    """An index version weighs more than all of them together may, so this surface is not served."""

    def __init__(self, *, surface: str, needs: int, budget: int) -> None:
        self.surface = surface
        self.needs = needs
        self.budget = budget
        super().__init__(
            f"surface {surface}: its index takes about {needs:,} bytes of memory, all indexes together may take "
            f"{budget:,}; raise --memory, or split the surface"
        )


class FailedBeforeError(SelectorError):
    """An index version could not be loaded a moment ago; why was raised in those who asked first."""


class AccessError(SelectorError):
    """A file of keys cannot be used; the message names the entry and the fix, and never repeats a value."""


class EvaluationError(SelectorError):
    """A catalog or a set of queries cannot be evaluated; the message names the file, the line and the fix."""
