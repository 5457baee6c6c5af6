"""The application: all routes, what stands around them, and the page, for one open house."""

from typing import Any

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute, iter_route_contexts
from limits.aio.storage import Storage
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from zeno import __version__
from zeno.app import App
from zeno.core.errors import ZenoError
from zeno.server.access import AccessLog, RouteNoted
from zeno.server.characters import check_address
from zeno.server.limits import wrapped
from zeno.server.metrics import Metrics
from zeno.server.openapi import document
from zeno.server.patience import BodyPatience
from zeno.server.problems import told
from zeno.server.routes import (
    accounts,
    agents,
    approvals,
    audit,
    files,
    health,
    history,
    keys,
    login,
    metrics,
    models,
    rules,
    runs,
    sessions,
    starts,
    teams,
)
from zeno.server.web import web_routes

_ABOUT = """Say what you want in one sentence; it thinks in the open, calls tools, asks a person before anything dangerous, and
ends in an answer or a document.

A task becomes a **run** of a **session**. What happens in it is a list of events, which can be read, followed live and taken
up again at any of them. Times are milliseconds since 1970-01-01 UTC. What goes wrong is told as a problem (RFC 9457) in the
language of `Accept-Language`; its `code` is stable."""

_TAGS = {
    "sessions": "Conversations.",
    "runs": "Tasks and what comes of them.",
    "approvals": "Calls that wait for a person.",
    "rules": "What is permitted or forbidden once and for all.",
    "files": "What conversations hold.",
    "agents": "What there is to choose from.",
    "audit": "Who did what.",
    "accounts": "Users, teams, keys, logins.",
    "health": "The process and the installation.",
}


class Api(FastAPI):
    """FastAPI, with a document that knows the types of the house."""

    def methods_of(self, path: str) -> list[str]:
        """What can be done with what stands at this path."""
        contexts = (route for route in iter_route_contexts(self.routes) if route.methods and route.path_regex.match(path))
        # The page's route fits every path, and leaves those below /api alone.
        ours = f"{path}/".startswith("/api/")
        known = (route for route in contexts if isinstance(route.original_route, APIRoute) or not ours)
        return sorted({method for route in known for method in route.methods or ()})

    def openapi(self) -> dict[str, Any]:
        """The API's document."""
        return document(self)


def routed(app: App, figures: Metrics | None = None) -> Api:
    """The routes alone, without what stands around them. Their document is at `/openapi.json`."""
    api = Api(
        title="Zeno",
        version=__version__,
        description=_ABOUT,
        dependencies=[Depends(check_address)],
        openapi_tags=[{"name": name, "description": words} for name, words in _TAGS.items()],
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    api.state.zeno, api.state.metrics, api.state.trials = app, figures or Metrics(app), health.Trials(app)
    for each in (
        sessions, history, starts, runs, approvals, rules, files, agents, models, audit, login, accounts, keys, teams, health,
        metrics,
    ):  # fmt: skip
        api.include_router(each.router)
    api.router.routes.extend(web_routes())
    for kind in (ZenoError, RequestValidationError, HTTPException, Exception):
        api.add_exception_handler(kind, _told)
    return api


async def _told(request: Request, error: Exception) -> Response:
    """As problems are told; the framework knows of the first route at a path only, and so not of all that it allows."""
    if isinstance(error, HTTPException) and error.status_code == 405:
        api: Api = request.app
        error = HTTPException(405, headers={"allow": ", ".join(api.methods_of(request.url.path))})
    return await told(request, error)


def application(app: App, counts: Storage | None = None, figures: Metrics | None = None) -> ASGIApp:
    """Everything that a server serves; `counts` is where it is kept how often who has asked."""
    return AccessLog(wrapped(RouteNoted(BodyPatience(routed(app, figures))), app.settings.server, counts))
