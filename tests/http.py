"""The HTTP door for tests: `zeno serve` as a process, or the same application within this process, which is quicker."""  # noqa: A005

import json
import re
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from starlette.types import ASGIApp

from tests.door import ZENO, Door
from tests.instances import AnyInstance, doors, instances, placed
from tests.scene import BOUND
from zeno.app import App
from zeno.server.tokens import local_token
from zeno.settings import Settings

Event = dict[str, Any]

HOLD = '''
import asyncio, sys, types
own = types.SimpleNamespace(entered=asyncio.Event(), release=asyncio.Event())
# Several instances in one process load this several times, and hold and let go together.
own = sys.modules.setdefault("held by " + __file__, own)
entered, release = own.entered, own.release

@tool()
async def hold(word: str) -> str:
    """Hold until let go. Use in tests.

    Args:
        word: a word
    """
    entered.set()
    await release.wait()
    return f"held {word}"

@tool(effect="danger")
async def send_mail(to: str, text: str) -> str:
    """Send a mail. Use in tests.

    Args:
        to: the address
        text: what it says
    """
    return f"sent to {to}: {text}"
'''
"""Tools of a test's own: one that holds a run at work until it is let go, and one that a person is asked about."""


@dataclass
class Server:
    """`zeno serve` as a process. `origin` and `token` are those that it printed."""

    door: Door
    process: subprocess.Popen[str] | None = None
    origin: str = ""
    token: str = ""
    printed: str = ""
    options: tuple[str, ...] = ("--port", "0")
    _clients: list[httpx2.Client] = field(default_factory=list)

    def start(self) -> None:
        """Start it, and return when it has said where it listens."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a") as errors:
            self.process = subprocess.Popen(
                [ZENO, "serve", *self.options],
                cwd=self.door.here,
                env=self.door.environment(),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        watch = threading.Timer(BOUND, self.process.kill)
        watch.start()
        assert self.process.stdout
        self.printed = self.process.stdout.readline()
        watch.cancel()
        found = re.search(r"(http://[^/\s]+)/(?:#token=(\S+))?", self.printed)
        assert found, f"it said {self.printed!r}\n{self.log.read_text()}"
        self.origin, self.token = found[1], found[2] or ""

    @property
    def log(self) -> Path:
        """Where its error stream goes."""
        return self.door.home / "serve.log"

    @property
    def lines(self) -> list[Event]:
        """Its log."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to end, and return the code that it ended with."""
        assert self.process
        self.process.send_signal(number)
        return self.finished()

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self.process
        self.process.kill()
        self.finished()

    def finished(self) -> int:
        """Wait for its end, and return the code that it ended with."""
        assert self.process
        for client in self._clients:
            client.close()
        self._clients.clear()
        self.process.communicate(timeout=BOUND)
        return self.process.returncode

    def client(self, **headers: str) -> httpx2.Client:
        """Somebody who has the token; paths are those below /api/v1."""
        own = {"Authorization": f"Bearer {self.token}"} | headers
        made = httpx2.Client(base_url=f"{self.origin}/api/v1", headers=own, timeout=BOUND, trust_env=False)
        self._clients.append(made)
        return made

    def run(self, text: str, **body: object) -> str:
        """Give a task: the id of its run."""
        answer = self.client().post("/runs", json={"text": text, **body})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["run_id"])

    def follow(self, run_id: str, after: str = "") -> Iterator[Event]:
        """What the stream tells, as it comes, each with its `id`."""
        with self.client().stream("GET", f"/runs/{run_id}/events", params={"after": after}) as answer:
            assert answer.status_code == 200, answer.read()
            yield from parsed(answer.iter_lines())

    def events(self, run_id: str) -> list[Event]:
        """All events of a run, read from its stream to the end; pieces of answers left out."""
        return [event for event in self.follow(run_id) if "seq" in event]

    def wait_for(self, run_id: str, kind: str) -> Event:
        """The first event of this type."""
        told = self.follow(run_id)
        try:
            return next(event for event in told if event["type"] == kind)
        finally:
            told.close()  # type: ignore[attr-defined]


@contextmanager
def serving(door: Door, *options: str) -> Iterator[Server]:
    """A server for the length of the block."""
    server = Server(door, options=options or ("--port", "0"))
    server.start()
    try:
        yield server
    finally:
        if server.process and server.process.poll() is None:
            server.kill()


def parsed(lines: Iterator[str]) -> Iterator[Event]:
    """The events of a stream of Server-Sent Events: what their data hold, with their `id`."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line and name:
            fields[name] = value
        elif not line and "data" in fields:
            yield json.loads(fields["data"]) | {"id": fields["id"]}
            fields = {}


@dataclass(frozen=True)
class Inside:
    """The application within this process. Paths of its callers are whole."""

    apps: Sequence[App]
    asgi: Sequence[ASGIApp]

    @property
    def app(self) -> App:
        """The first of its instances."""
        return self.apps[0]

    def caller(self, secret: str | None = None, **headers: str) -> httpx2.AsyncClient:
        """Somebody with a secret, or with none."""
        own = {"Authorization": f"Bearer {secret}"} if secret is not None else {}
        return httpx2.AsyncClient(
            transport=AnyInstance(self.asgi), base_url="http://127.0.0.1:8321", headers=own | headers, timeout=BOUND
        )

    @property
    def own(self) -> httpx2.AsyncClient:
        """The one user."""
        return self.caller(local_token(self.app.settings))

    async def ended(self, run_id: str) -> Event:
        """The run, once it is over."""
        async with self.own as client:
            # A stream ends with its run.
            await client.get(f"/api/v1/runs/{run_id}/events")
            report: Event = (await client.get(f"/api/v1/runs/{run_id}")).json()
        return report


@asynccontextmanager
async def inside(door: Door, **settings: Any) -> AsyncIterator[Inside]:
    """The application, open and at work, for the length of the block; `settings` are those of the house."""
    modules = json.loads(door.env.get("ZENO_TOOLS__MODULES", "[]"))
    given: dict[str, Any] = {"model": "offline", "tools": {"modules": modules}} | placed() | settings
    async with instances(Settings(home=door.home, **given)) as apps:
        yield Inside(apps, doors(apps))
