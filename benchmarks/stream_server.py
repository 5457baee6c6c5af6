"""A server of prepared events: the feed and its streams without runs, and beside them the least that any ASGI server does.

`/feed/NAME` is a stream of the product, `/bare/NAME` a loop that sleeps and sends ready bytes. It prints its port.
"""

import asyncio
import contextlib
import sys
import tempfile
import time

import uvicorn
import uvloop
from starlette.types import Receive, Scope, Send

from benchmarks.stream_load import GAP, SLICES
from zeno.app import App, opened
from zeno.core.agents import AgentSpec
from zeno.core.events import StepStarted
from zeno.core.ports import TextDelta
from zeno.core.scope import LOCAL
from zeno.runs.frames import delta_frame
from zeno.server.sse import event_stream
from zeno.settings import load
from zeno.stores.event_log import Record
from zeno.stores.runs import Run


class Prepared:
    """Serves both kinds, and has a token for each of them every `GAP`."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.names: list[str] = []
        self.bare: list[Bare] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        _, kind, name = scope["path"].split("/")
        if kind == "bare":
            stream = Bare()
            self.bare.append(stream)
            await stream.serve(receive, send)
            self.bare.remove(stream)
        else:
            run = Run(name, "", LOCAL.team, LOCAL.user, "", AgentSpec("", ""), 0)
            self.names.append(name)
            await event_stream(self.app, LOCAL, run, None)(scope, receive, send)

    async def publish(self) -> None:
        """Tell the feed of all runs that were ever asked for, as drivers would, and have the bare streams write."""
        feed, due, tick = self.app.feed, time.monotonic(), 0
        begun: set[str] = set()
        with contextlib.ExitStack() as driven:
            while True:
                due, tick = due + GAP / SLICES, tick + 1
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                token = TextDelta(f"{round(due * 1e6)} ")
                for stream in self.bare[tick % SLICES :: SLICES]:
                    stream.write(token)
                for name in self.names[tick % SLICES :: SLICES]:
                    if name not in begun:
                        begun.add(name)
                        driven.enter_context(feed.driving(name))
                        feed.publish(name, Record(1, 0, StepStarted(1)))
                    if feed.followed(name):
                        feed.publish(name, token)


class Bare:
    """The floor: a task that waits for ready bytes and sends them."""

    def __init__(self) -> None:
        self.ready = b""
        self.rung = asyncio.Event()
        self.number = 0

    def write(self, token: TextDelta) -> None:
        """Have it send one more."""
        self.number += 1
        self.ready += delta_frame(1, self.number, 1, token).data
        self.rung.set()

    async def serve(self, receive: Receive, send: Send) -> None:
        """Send until the client has gone."""

        async def gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            self.rung.set()

        listening = asyncio.create_task(gone())
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        while not listening.done():
            await self.rung.wait()
            self.rung.clear()
            ready, self.ready = self.ready, b""
            await send({"type": "http.response.body", "body": ready, "more_body": True})


async def main() -> None:
    """Serve on a free port."""
    with tempfile.TemporaryDirectory() as home:
        async with opened(load(home=home)) as app:
            prepared = Prepared(app)
            publishing = asyncio.create_task(prepared.publish())
            config = uvicorn.Config(
                prepared, port=0, lifespan="off", ws="none", log_config=None, access_log=False, backlog=4096
            )
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve())
            while not server.started:
                await asyncio.sleep(0.01)
            sys.stdout.write(f"{server.servers[0].sockets[0].getsockname()[1]}\n")
            sys.stdout.flush()
            await serving
            publishing.cancel()


if __name__ == "__main__":
    uvloop.run(main())
