"""The access log: one line for each request, which gets a number here; and what nothing inside has caught ends here.

It knows neither what is asked nor who asks. What stands behind `?` and what headers carry is never written down.
"""

from collections.abc import Awaitable
from dataclasses import dataclass, field

import structlog
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from zeno.runs.clock import new_id, now
from zeno.server.problems import REQUEST_ID, internal

_SEEN = "zeno.seen"

log = structlog.get_logger("zeno.server")


@dataclass
class Seen:
    """What is known of a request when it is over; `status` is 0 until its answer begins."""

    method: str
    id: str = field(default_factory=new_id)
    began: int = field(default_factory=now)
    status: int = 0
    route: str = ""
    run_id: str = ""


class AccessLog:
    """Numbers each request, logs it when it is over, and answers for what broke."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seen = Seen(scope["method"])
        scope[REQUEST_ID], scope[_SEEN] = seen.id, seen

        # Not a coroutine: a stream's chunk costs one comparison more, and no frame that is awaited.
        def sending(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                seen.status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", seen.id.encode())]
            return send(message)

        with structlog.contextvars.bound_contextvars(request_id=seen.id):
            try:
                await self._app(scope, receive, sending)
            except Exception:
                log.exception("request_broken", method=seen.method, route=seen.route)
                if not seen.status:
                    await internal(scope)(scope, receive, sending)
            finally:
                _tell(seen)


class RouteNoted:
    """Around the routes: notes which of them took the request, for middlewares in between may have copied it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        finally:
            if isinstance(seen := scope.get(_SEEN), Seen):
                seen.route = getattr(scope.get("route"), "path", "")
                seen.run_id = seen.run_id or str(scope.get("path_params", {}).get("run_id", ""))[:64]


def note_run(connection: Connection, run_id: str) -> None:
    """Say which run a request is about, where its path does not."""
    if isinstance(seen := connection.get(_SEEN), Seen):
        seen.run_id = run_id


def _tell(seen: Seen) -> None:
    """Write the line: by the route's pattern, for what a path holds is the caller's."""
    tell = log.warning if seen.status >= 500 else log.info
    more = {"trace_id": seen.run_id} if seen.run_id else {}
    tell("request", method=seen.method, route=seen.route, status=seen.status, milliseconds=now() - seen.began, **more)
