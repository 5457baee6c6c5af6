"""What a server process holds: streams at 20 tokens a second, beside the floor; what HTTP adds to the first token; paused runs.

The model and the readers are one process, the server another, each with a processor of its own where there are two. Levels are
climbed until the 95th percentile of the lag exceeds 50 ms. Compare columns of one run, not machines.
"""

import asyncio
import contextlib
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

import psutil

from benchmarks.stream_load import GAP
from zeno.agent import Agent
from zeno.app import opened
from zeno.cli.logs import configure_logs
from zeno.core.messages import Message, ToolCall
from zeno.core.ports import Delta, ModelRequest, Reply, TextDelta
from zeno.core.scope import LOCAL
from zeno.settings import load

LAG = 50.0
"""Milliseconds within which 95 of 100 events have to arrive."""

SECONDS = 2.0
"""How long each level is measured."""

PAUSED = 1000
FIRSTS = 20
ZENO = str(Path(sys.executable).parent / "zeno")


class Process:
    """A process that is told what to do line by line, or only watched."""

    def __init__(self, command: list[str], processor: int, env: dict[str, str]) -> None:
        self.popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | env)
        if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
            os.sched_setaffinity(self.popen.pid, {processor})
        self.first_line = self.line()

    def line(self) -> str:
        """The next line it prints."""
        assert self.popen.stdout
        return self.popen.stdout.readline()

    def tell(self, **order: Any) -> Any:
        """What comes of an order."""
        assert self.popen.stdin
        self.popen.stdin.write(json.dumps(order) + "\n")
        self.popen.stdin.flush()
        return json.loads(self.line())

    @property
    def cpu(self) -> float:
        """Seconds of processor time it has used."""
        times = psutil.Process(self.popen.pid).cpu_times()
        return float(times.user + times.system)

    def end(self) -> None:
        """End it."""
        self.popen.kill()
        self.popen.communicate()


@contextmanager
def process(*command: str, processor: int = 0, env: dict[str, str] | None = None) -> Iterator[Process]:
    """A process for the length of the block."""
    started = Process(list(command), processor, env or {})
    try:
        yield started
    finally:
        started.end()


class Climb:
    """Levels of ever more streams. `held` is the highest with little lag, `cost` the server's microseconds per event there."""

    def __init__(self, server: Process, client: Process, name: str) -> None:
        self.server, self.client, self.name = server, client, name
        self.held, self.cost, self.lag = 0, 0.0, 0.0

    def go(self, step: int, most: int, **order: Any) -> "Climb":
        """Add `step` streams at a time, up to `most`."""
        for count in range(step, most + 1, step):
            more = {name: value(count) if callable(value) else value for name, value in order.items()}
            self.client.tell(**more, seconds=0.5)
            if not any(self._holds(count) for _ in range(2)):
                break
        self.client.tell(do="stop")
        return self

    def _holds(self, count: int) -> bool:
        before, began = self.server.cpu, time.perf_counter()
        seen = self.client.tell(do="read", port=0, paths=[], seconds=SECONDS)
        took = time.perf_counter() - began
        enough = seen["rate"] > 0.97 * count / GAP
        sys.stderr.write(f"{self.name}: {count} streams, {seen['rate']:.0f} events/s, p95 {seen['p95']:.1f} ms\n")
        if not enough or seen["p95"] > LAG:
            return False
        self.held, self.lag = count, seen["p95"]
        self.cost = (self.server.cpu - before) / (seen["rate"] * took) * 1e6
        return True


def prepared(client: Process) -> list[Climb]:
    """Ready events, by the bare floor and by the feed."""
    with process(sys.executable, "-m", "benchmarks.stream_server") as server:
        port = int(server.first_line)
        return [
            Climb(server, client, name).go(
                step=250,
                most=3000,
                do="read",
                port=port,
                paths=lambda count, kind=kind: [f"/{kind}/{count - number}" for number in range(250)],
            )
            for name, kind in (("ready bytes, bare ASGI", "bare"), ("prepared events through the feed", "feed"))
        ]


@contextmanager
def product(home: str, model_port: int) -> Iterator[tuple[Process, int, str]]:
    """`zeno serve`, its port and its token."""
    env = {
        "ZENO_HOME": home,
        "ZENO_MAX_RUNS": "5000",
        "ZENO_SERVER__PORT": "0",
        "ZENO_SERVER__RATE_LIMIT": "1000000/minute",
        "ZENO_LOG_LEVEL": "error",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{model_port}/v1",
        "OPENAI_API_KEY": "none",
    }
    with process(ZENO, "serve", env=env) as server:
        found = re.search(r":(\d+)/\S*token=(\S+)", server.first_line)
        assert found, server.first_line
        yield server, int(found[1]), found[2]


def whole(client: Process, home: str) -> tuple[Climb, float]:
    """The whole product: what it holds, and its milliseconds to the first token."""
    with product(home, int(client.first_line)) as (server, port, token):
        own = {"port": port, "token": token}
        firsts = client.tell(do="first", model="openai:quick", times=FIRSTS, **own)
        climb = Climb(server, client, "model, loop, log, stream")
        return climb.go(step=100, most=1200, do="run", model="openai:paced", count=100, **own), statistics.median(firsts)


async def bare_first(model_port: int) -> float:
    """Milliseconds to the first token of the loop alone, nothing kept."""
    agent = Agent(model="openai:quick", base_url=f"http://127.0.0.1:{model_port}/v1", tools=[])
    taken = []
    for _ in range(FIRSTS):
        began = time.perf_counter()
        async with aclosing(agent.stream("go")) as told:
            async for item in told:
                if isinstance(item, TextDelta):
                    taken.append((time.perf_counter() - began) * 1000)
    await agent.close()
    return statistics.median(taken)


class Asking:
    """A model that wants something done that a person has to confirm."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """Always the same reply."""
        yield Reply(Message("assistant", (ToolCall("", "post", "{}"),)))


OWN_TOOLS = '''
from zeno.tools.function import tool

@tool(effect="danger")
async def post() -> str:
    """Post. Use it."""
    return "posted"
'''


async def paused(home: str) -> dict[str, tuple[int, int]]:
    """What the process holds before there are runs, and when so many of them wait for a person."""
    tools = Path(home) / "own_tools.py"
    tools.write_text(OWN_TOOLS)
    async with opened(load(home=home, tools={"modules": [str(tools)]}), serving=True) as app:
        app.models.clients["asking"] = Asking()
        agent = await app.agent(None, language="en-US", model="asking")

        async def settled(new: int, together: int) -> None:
            for _ in range(new):
                await app.start(LOCAL, agent, "go")
            while len(await app.runs.newest(LOCAL, PAUSED, ending="awaiting_approval")) < together:
                await asyncio.sleep(0.1)
            while any(task.get_name().startswith(("session", "pulse")) for task in asyncio.all_tasks()):
                await asyncio.sleep(0.1)

        # The first ones open the database's connections.
        await settled(FIRSTS, FIRSTS)
        before = held()
        await settled(PAUSED - FIRSTS, PAUSED)
        return {name: (before[name], now) for name, now in held().items()}


def held() -> dict[str, int]:
    """What this process holds."""
    process = psutil.Process()
    return {
        "asyncio tasks": len(asyncio.all_tasks()),
        "threads": process.num_threads(),
        "open files": process.num_fds(),
        "sockets": len(process.net_connections()),
        "MiB": process.memory_info().rss // 2**20,
    }


def main() -> None:
    """Measure and print the tables."""
    configure_logs("error")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000) if hard > 0 else 20_000, hard))
    with tempfile.TemporaryDirectory() as home, process(sys.executable, "-m", "benchmarks.stream_load", processor=1) as client:
        bare = asyncio.run(bare_first(int(client.first_line)))
        (Path(home) / "served").mkdir()
        climb, first = whole(client, f"{home}/served")
        climbs = [*prepared(client), climb]
        (Path(home) / "paused").mkdir()
        waiting = asyncio.run(paused(f"{home}/paused"))
    print(
        "| streams at 20 events/s | held with p95 lag <= 50 ms | p95 there, ms | server CPU us per event |\n|---|---|---|---|"
    )
    for row in climbs:
        print(f"| {row.name} | {row.held} | {row.lag:.1f} | {row.cost:.0f} |")
    print("\n| first token, median ms | loop alone | HTTP, log, stream | added |\n|---|---|---|---|")
    print(f"| a task to the first piece of its answer | {bare:.1f} | {first:.1f} | {first - bare:.1f} |")
    print(f"\n| {PAUSED} paused runs | with {FIRSTS} | with {PAUSED} |\n|---|---|---|")
    for name, (before, after) in waiting.items():
        print(f"| {name} | {before} | {after} |")


if __name__ == "__main__":
    main()
