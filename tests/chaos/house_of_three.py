"""A house of several processes, each of which may be taken away: over a PostgreSQL and a Redis of the test's own.

Its people ask by HTTP, follow as browsers do, and compare what the log says with what really happened: every effect is a line
in a file, with the instance that did it and the time.
"""

import asyncio
import contextlib
import functools
import json
import os
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, ParamSpec

import httpx2
import psycopg
import pytest

from tests.door import ZENO, Door
from tests.http import Event
from tests.redis_server import RedisServer
from tests.scene import BOUND
from tests.with_services import Missing, PostgresServer, quiet_port

P = ParamSpec("P")

TOKEN = "a-token-of-these-tests-only"

TOOLS = '''
import asyncio
import os
import time
from pathlib import Path

HERE = Path(HOME)


def happen(what, word):
    """A line in the file, for good."""
    file = os.open(HERE / "effects", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, f"{what} {word} {os.environ['INSTANCE']} {time.time_ns() // 1_000_000}\\n".encode())
    os.close(file)


async def permitted(word):
    """Take the time that the word says, or until the test lets it go."""
    await asyncio.sleep({"brief": 0.2, "long": 2.0}.get(word.partition("-")[0], 0.0))
    while word.startswith("held") and not (HERE / word).exists():
        await asyncio.sleep(0.02)


@tool(timeout=60)
async def look(word: str) -> str:
    """Look. Use in trials.

    Args:
        word: the word
    """
    happen("look", word)
    await permitted(word)
    return f"looked at {word}"


@tool(effect="write", timeout=60)
async def keep(word: str) -> str:
    """Keep a word. Use in trials.

    Args:
        word: the word
    """
    happen("keep", word)
    await permitted(word)
    return f"kept {word}"


@tool(effect="danger", timeout=60)
async def charge(word: str) -> str:
    """Charge a word. Use in trials.

    Args:
        word: the word
    """
    happen("charge", word)
    return f"charged {word}"


@tool(effect="write", timeout=60)
async def drip(word: str) -> str:
    """Keep a word again and again until told to stop. Use in trials.

    Args:
        word: the word
    """
    number = 0
    while not (HERE / word).exists():
        happen("drip", f"{word}.{number}")
        number += 1
        await asyncio.sleep(0.02)
    return f"dripped {word}"
'''


@dataclass(frozen=True)
class Effect:
    """A line of the file: what happened, where, and when in milliseconds."""

    tool: str
    word: str
    instance: str
    at: int


@dataclass
class Instance:
    """`zeno serve` or `zeno worker` as a process that can be ended and begun again at its address."""

    name: str
    command: Sequence[str]
    env: dict[str, str]
    here: Path
    log: Path
    origin: str = ""
    process: subprocess.Popen[bytes] | None = None
    _written: int = 0

    def begin(self) -> None:
        """Begin; `ready` says when it works."""
        with self.log.open("a") as output:
            self._written = output.tell()
            self.process = subprocess.Popen(self.command, env=self.env, cwd=self.here, stdout=output, stderr=subprocess.STDOUT)

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to end: the code that it ended with."""
        assert self.process is not None
        self.process.send_signal(number)
        return await asyncio.to_thread(self.process.wait, BOUND)

    def says(self, word: str) -> bool:
        """Whether it has written the word into its log since it last began."""
        return word.encode() in self.log.read_bytes()[self._written :]


@dataclass
class House:
    """The instances, what they stand on, and somebody who asks them."""

    door: Door
    postgres: PostgresServer
    redis: RedisServer | None = None
    instances: dict[str, Instance] = field(default_factory=dict)
    failed: list[tuple[int, str]] = field(default_factory=list)
    """Answers that say that the server is at fault, with where it was asked."""

    def __post_init__(self) -> None:
        own = {"Authorization": f"Bearer {TOKEN}"}
        self.client = httpx2.AsyncClient(headers=own, timeout=BOUND, trust_env=False, limits=httpx2.Limits())
        self.client.event_hooks["response"].append(self._note)

    async def _note(self, answer: httpx2.Response) -> None:
        if answer.status_code >= 500:
            self.failed.append((answer.status_code, str(answer.url)))

    @property
    def origins(self) -> list[str]:
        """Where the servers are asked."""
        return [instance.origin for instance in self.instances.values() if instance.origin]

    def add(self, name: str, *words: str, prefix: Sequence[str] = (), host: str = "127.0.0.1", **env: str) -> Instance:
        """One instance more, a server unless it is told otherwise; begun at once. `prefix` goes before its command."""
        port = quiet_port()
        serves = words[:1] != ("worker",)
        words = ("serve", "--host", host, "--port", str(port), *words) if serves else words
        own = self.door.environment() | {"ZENO_DATABASE_URL": self.postgres.url(), "ZENO_TOKEN": TOKEN, "INSTANCE": name}
        if self.redis is not None:
            own["ZENO_REDIS_URL"] = self.redis.url
        origin = f"http://{host}:{port}" if serves else ""
        made = Instance(name, [*prefix, ZENO, *words], own | env, self.door.here, self.door.home / f"{name}.log", origin)
        self.instances[name] = made
        made.begin()
        return made

    async def status(self, instance: Instance, path: str = "/readyz", **more: Any) -> int:
        """The status of an answer; 0 where there is nobody."""
        try:
            return (await self.client.get(f"{instance.origin}{path}", **more)).status_code
        except httpx2.TransportError:
            return 0

    async def ready(self, *instances: Instance) -> None:
        """Return when they say that they can work: all of them, unless some are named."""
        for instance in instances or self.instances.values():
            while instance.origin and await self.status(instance) != 200:
                assert instance.process is None or instance.process.poll() is None, instance.log.read_text()[-3000:]
                await asyncio.sleep(0.05)
            while not instance.origin and not instance.says("worker_started"):
                await asyncio.sleep(0.05)

    async def get(self, origin: str, path: str, **params: Any) -> Any:
        """What an instance answers."""
        answer = await self.client.get(f"{origin}/api/v1{path}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def model(self, *replies: dict[str, Any]) -> str:
        """A model that says these things."""
        return self.door.script(*replies, name=f"script-{len(list(self.door.home.glob('script-*')))}.jsonl")

    async def run(self, origin: str, *replies: dict[str, Any], **body: Any) -> str:
        """Give a task to a model that says these things: the id of its run."""
        asked = {"text": "go"} | ({"model": self.model(*replies)} if replies else {}) | body
        answer = await self.client.post(f"{origin}/api/v1/runs", json=asked)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["run_id"])

    async def decide(self, origin: str, run_id: str) -> None:
        """Approve whatever a run waits for."""
        for approval in (await self.get(origin, "/approvals", run=run_id))["approvals"]:
            path = f"{origin}/api/v1/approvals/{approval['id']}/decision"
            answer = await self.client.post(path, json={"decision": "approve"})
            assert answer.status_code == 200, answer.text

    async def follow(self, run_id: str, *origins: str, story: "Story | None" = None) -> "Story":
        """The events of a run to its end, as a browser has them: cut off, it comes again with the id of the last."""
        story = story or Story()
        for origin in cycle(origins or self.origins):
            headers = {"Last-Event-ID": story.last} if story.last else {}
            with contextlib.suppress(httpx2.TransportError):
                async with self.client.stream("GET", f"{origin}/api/v1/runs/{run_id}/events", headers=headers) as answer:
                    if answer.status_code == 204:
                        return story
                    if answer.status_code == 200:
                        await story.hear(answer)
            story.visits += 1
            await asyncio.sleep(0.1)
        raise AssertionError("unreachable")

    def effects(self) -> list[Effect]:
        """What has really happened so far."""
        path = self.door.home / "effects"
        lines = path.read_text().splitlines() if path.exists() else []
        return [Effect(tool, word, instance, int(at)) for tool, word, instance, at in map(str.split, lines)]

    def happened(self, tool: str, word: str) -> int:
        """How often this has happened."""
        return sum((effect.tool, effect.word) == (tool, word) for effect in self.effects())

    def let_go(self, word: str) -> None:
        """Let the tools that are held at a word come to their end."""
        (self.door.home / word).touch()

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What the database says."""
        with psycopg.connect(self.postgres.url(), autocommit=True) as connection:
            found = connection.execute(query.encode(), values)
            return found.fetchall() if found.description else []


@dataclass
class Story:
    """What a follower was told. `visits` counts how often it had to come."""

    told: list[Event] = field(default_factory=list)
    last: str = ""
    visits: int = 0

    async def hear(self, answer: httpx2.Response) -> None:
        """Keep what a stream tells, as far as it goes."""
        fields: dict[str, str] = {}
        async for line in answer.aiter_lines():
            name, _, value = line.partition(": ")
            if line and name:
                fields[name] = value
            elif not line and "data" in fields:
                self.told.append(json.loads(fields["data"]) | {"id": fields["id"]})
                self.last = fields["id"]
                fields = {}

    @property
    def records(self) -> list[Event]:
        """The events that are in the log. None is missing and none came twice."""
        found = [event for event in self.told if "seq" in event]
        assert [event["seq"] for event in found] == list(range(1, len(found) + 1))
        return found

    @property
    def ending(self) -> str:
        """How the run ended."""
        return str(self.records[-1]["ending"])

    @property
    def outcomes(self) -> dict[str, str]:
        """What became of each call. None has two results."""
        results = [event["result"] for event in self.records if event["type"] == "tool_finished"]
        assert max(Counter(result["call_id"] for result in results).values(), default=1) == 1
        return {result["call_id"]: result["outcome"] for result in results}

    @property
    def words(self) -> str:
        """What the model said last."""
        said = [event["message"]["parts"] for event in self.records if event["type"] == "model_replied"][-1]
        return "".join(part["text"] for part in said if part["type"] == "text")

    def count(self, kind: str) -> int:
        """How many events of a type there are."""
        return sum(event["type"] == kind for event in self.told)


def trial(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """A test whose body is a coroutine, in which several processes begin more than once on a machine that may be busy."""

    @functools.wraps(test)
    def held(*args: P.args, **kwargs: P.kwargs) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(5 * BOUND):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return held


async def until(true: Callable[[], object]) -> None:
    """Return when it is so; the bound is the trial's."""
    while not await asyncio.to_thread(true):
        await asyncio.sleep(0.02)


@contextmanager
def own_postgres(addresses: Sequence[str] = ("127.0.0.1",), trusted: str = "") -> Iterator[PostgresServer]:
    """A PostgreSQL of the test's own. Without one the test is skipped, and fails on CI."""
    # Not pytest's directory: the path of a socket has to be short.
    with tempfile.TemporaryDirectory(prefix="zeno-", ignore_cleanup_errors=True) as home:
        try:
            server = PostgresServer(Path(home), addresses=addresses, trusted=trusted)
            server.start()
        except Missing as missing:
            if os.environ.get("CI"):
                raise
            pytest.skip(str(missing))
        try:
            server.create("test")
            yield server
        finally:
            server.stop()


@asynccontextmanager
async def house(door: Door, postgres: PostgresServer, redis: RedisServer | None = None) -> AsyncIterator[House]:
    """An empty house, whose instances are gone at the end."""
    door.with_tools(TOOLS.replace("HOME", repr(str(door.home))))
    door.env |= {"ZENO_MODEL": "offline", "ZENO_SERVER__RATE_LIMIT": "1000000/minute"}
    made = House(door, postgres, redis)
    try:
        async with made.client:
            yield made
    finally:
        with ExitStack() as closing:
            for instance in made.instances.values():
                if instance.process is not None and instance.process.poll() is None:
                    closing.callback(instance.process.wait, BOUND)
                    instance.process.kill()
