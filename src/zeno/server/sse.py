"""Live streams over HTTP: a run's events as Server-Sent Events, ready bytes written straight to the connection.

Knows sockets and followers, and nothing of what the events mean. A run never depends on a stream; a stream on which nothing
happens is its request's task, waiting for the client to go, and a timer.
"""

import asyncio
import contextlib
from asyncio import Task
from collections.abc import Awaitable, Callable, Sequence
from contextvars import copy_context

from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as Request

from zeno.app import App
from zeno.core.commands import Cancel
from zeno.core.errors import Conflict, Invalid, NotFound
from zeno.core.scope import Scope
from zeno.runs.follow import Follower, SettledBell, position
from zeno.runs.frames import Position
from zeno.server.metrics import following
from zeno.stores.event_log import Record
from zeno.stores.runs import Run

HEARTBEAT = 10.0
"""Seconds of silence after which a comment is sent, so that no proxy takes the connection for dead."""

GRACE = 10.0
"""Seconds in which a client may come back before a run that is to end with its clients is cancelled."""

PATIENCE = 120.0
"""Seconds after which a client that takes nothing is given up."""

RECHECK = 60.0
"""Seconds after which it is asked again whether the client may still listen: a stream outlives many a login."""

LAST_WORDS = 1.0
"""Seconds in which a write may come to its end when the stream does."""

Allowed = Callable[[], Awaitable[bool]]

BEGINNING = b"retry: 1000\n\n"
PING = b": ping\n\n"


def event_stream(
    app: App,
    scope: Scope,
    run: Run,
    last_event_id: str | None,
    *,
    allowed: Allowed | None = None,
    heartbeat: float | None = None,
    grace: float | None = None,
) -> Response:
    """The run's events behind the cursor, then what happens, to the run's end. `heartbeat` and `grace` are in seconds.

    `allowed` is asked now and then whether the client may still listen. Answers 204, which tells an event source to stop
    asking, when the run is over and nothing lies behind the cursor. Raises `Invalid` for a malformed cursor, and when answering
    for one that lies behind the end of the log.
    """
    waiting = heartbeat or HEARTBEAT, GRACE if grace is None else grace
    return EventStream(app, scope, run, position(last_event_id), allowed or _always, *waiting)


async def _always() -> bool:
    return True


async def wait_until_settled(app: App, scope: Scope, run: Run, seconds: float) -> Run:
    """The run as it is once it has ended or paused, or when `seconds` have passed or this process is about to end."""
    bell = SettledBell()
    deadline = asyncio.get_running_loop().time() + seconds
    with app.feed.listen(run.id, bell), contextlib.suppress(TimeoutError):
        app.feed.watch(app.log.lengths)
        run = await app.runs.find(scope, run.id)
        while run.ending is None and not bell.closed:
            async with asyncio.timeout_at(deadline):
                await bell.rung.wait()
            bell.rung.clear()
            run = await app.runs.find(scope, run.id)
    return run


class EventStream(Response):
    """The answer to someone who wants to follow a run."""

    media_type = "text/event-stream"

    def __init__(
        self, app: App, scope: Scope, run: Run, after: Position, allowed: Allowed, heartbeat: float, grace: float
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers({"cache-control": "no-store, no-transform", "x-accel-buffering": "no"})
        self._app, self._scope, self._run, self._after = app, scope, run, after
        self._allowed, self._heartbeat, self._grace = allowed, heartbeat, grace

    async def __call__(self, scope: Request, receive: Receive, send: Send) -> None:
        """Serve the client until it goes or the run ends."""
        feed, run = self._app.feed, self._run
        connection = Connection(receive, send, self._heartbeat, self._allowed)
        follower = Follower(run.id, self._after, self._read, connection.wake, complete=run.ended_at is not None)
        with feed.listen(run.id, follower) as follower.channel, following(scope):
            first = await follower.more()
            if not first and follower.ended:
                await Response(status_code=204, headers={"cache-control": "no-store"})(scope, receive, send)
                return
            if not first:
                await self._check_cursor()
            feed.watch(self._app.log.lengths)
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await connection.serve(follower, BEGINNING + first)
        if run.agent.on_disconnect == "cancel" and not follower.ended and not feed.followed(run.id):
            await self._cancel_unless_followed()

    async def _read(self, after: int) -> Sequence[Record]:
        return await self._app.log.read(self._scope, self._run.id, after)

    async def _check_cursor(self) -> None:
        """Refuse a cursor behind the end of the log, which is another run's: silence would follow it."""
        seq, _ = self._after
        if seq and seq > (await self._app.log.lengths([self._run.id])).get(self._run.id, 0):
            raise Invalid("cursor_invalid")

    async def _cancel_unless_followed(self) -> None:
        try:
            async with asyncio.timeout(self._grace):
                await self._app.feed.company(self._run.id)
        except TimeoutError:
            with contextlib.suppress(Conflict, NotFound):
                await self._app.send(self._scope, self._run.id, Cancel())


class Connection:
    """One client. Its request's task waits for it to go; another writes, and lives only as long as there is something to write.

    A write waits for as long as the client does not take it, and only its own client's follower waits with it.
    """

    def __init__(self, receive: Receive, send: Send, heartbeat: float, allowed: Allowed) -> None:
        self._receive, self._send, self._heartbeat, self._allowed = receive, send, heartbeat, allowed
        self._loop = asyncio.get_running_loop()
        self._checked_at = self._loop.time()
        self._context = copy_context()
        self._follower: Follower | None = None
        self._writer: Task[None] | None = None

    def wake(self) -> None:
        """Write what the follower has, unless that is being done."""
        if self._writer is None and self._follower is not None:
            self._write(self._follower)

    async def serve(self, follower: Follower, first: bytes) -> None:
        """Write `first` and what the follower gives, until the client has gone or the follower is over."""
        self._follower = follower
        self._written_at = self._loop.time()
        self._timer = self._loop.call_later(self._heartbeat, self._beat)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None) as self._limit:
                    self._write(follower, first)
                    # A server says the same when the client goes and when the answer is complete.
                    while (await self._receive())["type"] != "http.disconnect":
                        pass
        finally:
            self._timer.cancel()
            await self._stop_writing(follower)

    def _write(self, follower: Follower, first: bytes = b"") -> None:
        # The driver's context, in which it may be woken, is none of its business.
        self._writer = self._loop.create_task(self._written(follower, first), context=self._context)

    async def _written(self, follower: Follower, chunk: bytes) -> None:
        try:
            if self._loop.time() - self._checked_at >= RECHECK:
                self._checked_at = self._loop.time()
                if not await self._allowed():
                    follower.close()
                    chunk = b""
            while chunk or (chunk := await follower.more()):
                await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
                self._written_at = self._loop.time()
                chunk = b""
            if follower.over:
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                self._writer = None
        except OSError:
            # The client has gone, which `receive` says as well.
            return
        except Exception:
            self._give_up()
            raise

    def _beat(self) -> None:
        """Break a long silence; give up on a client that takes nothing."""
        silent = self._loop.time() - self._written_at
        if self._writer is None and silent >= self._heartbeat and self._follower is not None:
            self._write(self._follower, PING)
            silent = 0.0
        elif self._writer is not None and silent >= PATIENCE:
            self._give_up()
        self._timer = self._loop.call_later(max(self._heartbeat - silent, 0.1), self._beat)

    def _give_up(self) -> None:
        if self._follower is not None and self._limit.when() is None:
            self._limit.reschedule(self._loop.time())

    async def _stop_writing(self, follower: Follower) -> None:
        self._follower = None
        follower.close()
        if (writer := self._writer) is not None:
            # Not in the middle of a question to the database, if that can be helped.
            await asyncio.wait({writer}, timeout=LAST_WORDS)
            writer.cancel()
            await asyncio.wait({writer})
            if not writer.cancelled():
                writer.result()
