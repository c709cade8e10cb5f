"""What can go wrong while index versions are put into service, and whose fault it is.

    SelectorError
    ├── ModelMismatchError     the deploy's: an index was built with another embedding model than this service runs
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


class EvaluationError(SelectorError):
    """A catalog or a set of queries cannot be evaluated; the message names the file, the line and the fix."""
