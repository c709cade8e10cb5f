"""The console: static files of `selector/console/`, open to everybody; what they ask needs a key like everything else.

The policy lets the page load its own files and ask its own service, and nothing more: no inline script, no other
origin, no frame around it.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from fastapi.responses import Response

_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_FILES: Final = {
    "/console": "index.html",
    **{
        f"/console/{name}": name
        for name in ("console.css", "console.js", "elements.js", "icon.svg", "ranking.js", "served.js", "service.js")
    },
}
_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}

OPEN_PATHS: Final = tuple(_FILES)


def console_routes() -> APIRouter:
    """``GET /console`` and its files; they are read once, here."""
    router = APIRouter(include_in_schema=False)
    folder = files("selector") / "console"
    for path, name in _FILES.items():
        _add(router, path, (folder / name).read_bytes(), _TYPES[name.rpartition(".")[2]])
    return router


def _add(router: APIRouter, path: str, content: bytes, media_type: str) -> None:
    @router.api_route(path, methods=["GET", "HEAD"], name=path)
    async def answer() -> Response:
        return Response(content, media_type=media_type, headers=_HEADERS)
