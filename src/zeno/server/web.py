"""The page: the built one when it came with the installation, else a few words that say where one is."""

import html
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from zeno.i18n import text
from zeno.server.languages import preferred

BUILT = Path(str(resources.files("zeno"))) / "web"

MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".ttf": "font/ttf",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
"""What is served, and as what; a file of another kind is not."""

HASHED = "assets"
"""The directory of files whose names change with what is in them."""

FOR_EVER = "public, max-age=31536000, immutable"


def web_routes(directory: Path = BUILT) -> Sequence[BaseRoute]:
    """The routes of the page. They come last: what they do not know is not there."""
    if not (directory / "index.html").is_file():
        return [Route("/", _bare, methods=["GET"])]
    root = directory.resolve()

    async def page(request: Request) -> Response:
        return _served(root, request.path_params.get("path", ""))

    return [_Page("/{path:path}", page, methods=["GET"])]


class _Page(Route):
    """Whatever is not the API's is the page's."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return (Match.NONE, {}) if f"{scope['path']}/".startswith("/api/") else super().matches(scope)


async def _bare(request: Request) -> Response:
    language = preferred(request.scope)
    title, words = (html.escape(text(language, f"server.page.{key}")) for key in ("title", "words"))
    return HTMLResponse(
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title></head>'
        f'<body><h1>{title}</h1><p>{words}</p><p><a href="/openapi.json">/openapi.json</a></p></body></html>',
        headers={"cache-control": "no-cache"},
    )


def _served(root: Path, path: str) -> Response:
    """A file of the page; for a path of the page's own, which only it knows, the page itself."""
    file = (root / path).resolve() if "\x00" not in path else root
    if file.is_file() and file.is_relative_to(root):
        media_type = MEDIA_TYPES.get(file.suffix)
        if media_type is None:
            raise HTTPException(404)
        kept = FOR_EVER if file.relative_to(root).parts[0] == HASHED else "no-cache"
        return FileResponse(file, media_type=media_type, headers={"cache-control": kept})
    if Path(path).suffix:
        raise HTTPException(404)
    return FileResponse(root / "index.html", media_type=MEDIA_TYPES[".html"], headers={"cache-control": "no-cache"})
