"""What it costs to keep a step: nothing kept, SQLite, PostgreSQL.

A step is one model call and one tool call that do nothing: four events, each on disk before the next thing happens. The bare
rows beside it are that many commits of a row of the same size, written by hand.

    python -m benchmarks.stores
"""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from typing import Any

import psycopg

from benchmarks.durable import Postgres, postgres, told
from benchmarks.loop import STEPS, Model, Noop, in_memory
from zeno.app import opened
from zeno.cli.logs import configure_logs
from zeno.core.scope import LOCAL
from zeno.settings import load
from zeno.tools.guards import guarded

EVENTS = 4
"""Of a step."""

ROUNDS = 8
RUNS = 2
"""In a round, of `STEPS` steps each."""

BODY = "x" * 250
"""About as long as the body of an event of these."""


Work = Callable[[], Awaitable[None]]


@dataclass
class Cost:
    """The least microseconds per step of any round: of CPU, and of the clock."""

    cpu: float = float("inf")
    wall: float = float("inf")


async def measured(works: Mapping[str, Work]) -> dict[str, Cost]:
    """All in turn, some rounds: the machine is shared, and its disk is quick at one time and slow at another."""
    found = {name: Cost() for name in works}
    for number in range(ROUNDS + 1):
        for name, work in works.items():
            cpu, wall = time.process_time(), time.perf_counter()
            for _ in range(RUNS):
                await work()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            if number:
                own = found[name]
                own.cpu, own.wall = min(own.cpu, cpu / RUNS / STEPS * 1e6), min(own.wall, wall / RUNS / STEPS * 1e6)
        told(f"round {number} of {ROUNDS}")
    return found


@asynccontextmanager
async def kept(home: str, url: str | None) -> AsyncIterator[Work]:
    """The whole drive of a run."""
    async with opened(load(home=home, database_url=url)) as app:
        app.models.clients["noop"] = Model()
        app.tools["noop"] = guarded(Noop(), seconds=15, characters=20_000, now=lambda: "now")  # type: ignore[index]
        agent = await app.agent(None, language="en-US", model="noop", max_steps=STEPS + 1)

        async def work() -> None:
            await app.drive(await app.start(LOCAL, agent, "go"), lambda _: None)

        yield work


def bare_sqlite(connection: sqlite3.Connection) -> Work:
    """As many commits as a step has events, set up as Zeno's are."""
    for statement in ("pragma journal_mode=wal", "pragma synchronous=full", "create table bare (id integer, body)"):
        connection.execute(statement)

    async def work() -> None:
        for _ in range(EVENTS * STEPS):
            connection.execute("begin immediate")
            connection.execute("insert into bare (body) values (?)", [BODY])
            connection.execute("commit")

    return work


def bare_postgresql(connection: psycopg.Connection[Any]) -> Work:
    """As many commits as a step has events."""
    connection.execute("create table bare (id serial primary key, body text)")
    connection.commit()

    async def work() -> None:
        for _ in range(EVENTS * STEPS):
            connection.execute("insert into bare (body) values (%s)", [BODY])
            connection.commit()

    return work


async def costs(home: str, server: Postgres, url: str) -> tuple[dict[str, Cost], float]:
    """Of each way, and CPU microseconds of PostgreSQL's own processes for a step that is kept there."""
    async with kept(home, None) as sqlite, kept(home, url) as postgresql:
        with closing(sqlite3.connect(f"{home}/bare.db", isolation_level=None)) as file, psycopg.connect(url) as connection:
            works: dict[str, Work] = {
                "nothing kept": in_memory,
                "four bare commits, SQLite": bare_sqlite(file),
                "log in SQLite": sqlite,
                "four bare commits, PostgreSQL": bare_postgresql(connection),
                "log in PostgreSQL": postgresql,
            }
            found, before = await measured(works), server.cpu()
            for _ in range(RUNS * ROUNDS):
                await postgresql()
            return found, (server.cpu() - before) / (RUNS * ROUNDS * STEPS) * 1e6


def main() -> None:
    """Print the table."""
    configure_logs("error")
    with tempfile.TemporaryDirectory() as home, postgres() as server, server.database("costs") as url:
        found, database = asyncio.run(costs(home, server, url))
    floor = found["nothing kept"]
    print("| a step | CPU us | ratio | wall us | ratio |\n|---|---|---|---|---|")
    for name, each in found.items():
        print(f"| {name} | {each.cpu:.0f} | {each.cpu / floor.cpu:.1f} | {each.wall:.0f} | {each.wall / floor.wall:.1f} |")
    print(f"\nBeside it, PostgreSQL's own processes use {database:.0f} us of CPU for a step.\n")


if __name__ == "__main__":
    main()
