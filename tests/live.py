"""The application on a real socket of this process, a client that reads streams as they come, a model that waits to be let."""

import asyncio
import contextlib
import json
import random
import zlib
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from starlette.types import ASGIApp

from tests.door import Door
from tests.http import Inside
from tests.instances import doors, instances, placed
from tests.scene import BOUND
from zeno.app import App
from zeno.cli.logs import configure_logs
from zeno.core.messages import Message, TextPart, ToolCall
from zeno.core.ports import Delta, ModelRequest, Reply, TextDelta
from zeno.server.tokens import local_token
from zeno.settings import Settings


@dataclass(frozen=True)
class Frame:
    """One frame of a stream; a comment has neither id nor kind."""

    id: str
    kind: str
    data: dict[str, Any]
    raw: bytes

    @property
    def seq(self) -> int:
        """The number of the record that it is or belongs to."""
        return int(self.id.partition(".")[0])


@dataclass
class Stream:
    """An open stream: its head, then its frames one by one."""

    reader: StreamReader
    writer: StreamWriter
    status: int
    headers: dict[str, str]
    comments: int = 0
    ended: bool = False
    """Whether the answer came to its proper end."""
    _bytes: bytes = b""
    _inflate: Any = None

    def __post_init__(self) -> None:
        if self.headers.get("content-encoding") == "gzip":
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)

    async def next(self) -> Frame | None:
        """The next frame that is no comment; `None` at the end."""
        while (frame := await self.any()) is not None:
            if frame.kind:
                return frame
        return None

    async def any(self) -> Frame | None:
        """The next frame, comments too."""
        while b"\n\n" not in self._bytes:
            chunk = await self._chunk()
            if self._inflate and chunk:
                self._bytes += self._inflate.decompress(chunk)
                continue
            if not chunk:
                assert not self._bytes, "a frame was cut in two"
                return None
            self._bytes += chunk
        raw, self._bytes = self._bytes.split(b"\n\n", 1)
        fields = dict(line.split(": ", 1) for line in raw.decode().split("\n") if not line.startswith(":"))
        self.comments += raw.startswith(b":")
        return Frame(fields.get("id", ""), fields.get("event", ""), json.loads(fields.get("data", "{}")), raw)

    async def until(self, *kinds: str) -> list[Frame]:
        """The frames up to the first of one of these kinds."""
        frames: list[Frame] = []
        while not frames or frames[-1].kind not in kinds:
            frame = await self.next()
            assert frame is not None, f"it ended without {kinds}: {[frame.id for frame in frames]}"
            frames.append(frame)
        return frames

    async def rest(self) -> list[Frame]:
        """The frames to the end."""
        frames: list[Frame] = []
        while frame := await self.next():
            frames.append(frame)
        return frames

    def leave(self) -> None:
        """Be gone, as when a page is closed."""
        self.writer.transport.abort()

    async def _chunk(self) -> bytes:
        try:
            size = int(await self.reader.readline() or b"0", 16)
            chunk = await self.reader.readexactly(size)
            self.ended = await self.reader.readexactly(2) == b"\r\n" and not size
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""
        return chunk


@asynccontextmanager
async def stream(
    address: tuple[str, int] | Path, token: str, path: str, *, last: str | None = None, limit: int = 2**16, accept: str = ""
) -> AsyncIterator[Stream]:
    """A stream from a port or a socket of this machine.

    `last` is the id of the last frame that the client has, `accept` a compression that it knows.
    """
    if isinstance(address, Path):
        reader, writer = await asyncio.open_unix_connection(address, limit=limit)
    else:
        reader, writer = await asyncio.open_connection(*address, limit=limit)
    try:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n"
        head += f"Last-Event-ID: {last}\r\n" if last is not None else ""
        head += f"Accept-Encoding: {accept}\r\n" if accept else ""
        writer.write(f"{head}\r\n".encode())
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        yield Stream(reader, writer, int(first.split()[1]), headers)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@dataclass(frozen=True)
class Live(Inside):
    """The application at a port of this machine."""

    ports: Sequence[int]

    @property
    def port(self) -> int:
        """The port of any of its instances."""
        return random.choice(self.ports)

    @property
    def token(self) -> str:
        """The secret of its one user."""
        return local_token(self.app.settings)

    def client(self) -> httpx2.AsyncClient:
        """The one user, by way of the port. Paths are those below /api/v1."""
        own = {"Authorization": f"Bearer {self.token}"}
        return httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.port}/api/v1", headers=own, timeout=BOUND, trust_env=False)

    async def run(self, text: str = "go", **body: object) -> str:
        """Give a task: the id of its run."""
        async with self.client() as client:
            answer = await client.post("/runs", json={"text": text, **body})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["run_id"])

    async def cancel(self, run_id: str) -> None:
        """Cancel a run."""
        async with self.client() as client:
            answer = await client.post(f"/runs/{run_id}/commands", json={"type": "cancel"})
        assert answer.status_code == 202, answer.text

    def follow(
        self, run_id: str, last: str | None = None, limit: int = 2**16
    ) -> contextlib.AbstractAsyncContextManager[Stream]:
        """Follow a run."""
        return stream(("127.0.0.1", self.port), self.token, f"/api/v1/runs/{run_id}/events", last=last, limit=limit)

    async def all(self, run_id: str, last: str | None = None) -> list[Frame]:
        """The frames of a run to its end."""
        async with self.follow(run_id, last) as followed:
            assert followed.status == 200
            frames = await followed.rest()
            assert followed.ended
        return frames


@asynccontextmanager
async def live(door: Door, **settings: Any) -> AsyncIterator[Live]:
    """The application, open, at work and listening, for the length of the block."""
    configure_logs("critical")
    modules = json.loads(door.env.get("ZENO_TOOLS__MODULES", "[]"))
    given: dict[str, Any] = {
        "model": "offline",
        "tools": {"modules": modules},
        "server": {"rate_limit": "1000000/minute"},
        **placed(),
    } | settings
    async with instances(Settings(home=door.home, **given)) as apps, AsyncExitStack() as closing:
        asgi = doors(apps)
        ports = [await closing.enter_async_context(_listening(app, each)) for app, each in zip(apps, asgi, strict=True)]
        yield Live(apps, asgi, ports)


@asynccontextmanager
async def _listening(app: App, asgi: ASGIApp) -> AsyncIterator[int]:
    config = uvicorn.Config(
        asgi, host="127.0.0.1", port=0, lifespan="off", ws="none", log_config=None, access_log=False, backlog=2048
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve())
    await server.listening.wait()
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        app.feed.close()
        server.should_exit = True
        await serving


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@dataclass
class GatedModel:
    """A model that says what the test lets it say, when the test lets it."""

    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether a reply was given up before its end."""
    _words: asyncio.Queue[str | ToolCall | None] = field(default_factory=asyncio.Queue)

    def say(self, *words: str) -> None:
        """Let it say these."""
        for word in words:
            self._words.put_nowait(word)

    def call(self, name: str, **arguments: object) -> None:
        """Let it end its reply with a call."""
        self._words.put_nowait(ToolCall("", name, json.dumps(arguments)))

    def stop(self) -> None:
        """Let it end its reply."""
        self._words.put_nowait(None)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """What it is let to say."""
        said = ""
        try:
            while isinstance(word := await self._words.get(), str):
                said += word
                yield TextDelta(word)
        except (asyncio.CancelledError, GeneratorExit):
            self.left.set()
            raise
        parts = [TextPart(said)] if said else []
        yield Reply(Message("assistant", (*parts, word) if word else tuple(parts)), model="gated")


def gated(house: Inside) -> GatedModel:
    """Give the house a model called `gated`."""
    model = GatedModel()
    for app in house.apps:
        app.models.clients["gated"] = model
    return model
