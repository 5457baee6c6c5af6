"""Whether ten thousand finished runs make anything slower than a hundred do, on SQLite and PostgreSQL; and how large a log is.

Both houses of a database are open at the same time and are asked in turn, so that what else the machine does falls on both.
What is asked by HTTP is asked within this process; the rest is what a house asks its database by itself.

    python -m benchmarks.archive
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import msgspec
from sqlalchemy import select, text

from benchmarks.durable import postgres, told
from benchmarks.filled import TASK, Copier, engine, settings
from zeno.app import App, opened
from zeno.cli.logs import configure_logs
from zeno.core.events import Event, ModelReplied, ToolFinished, UserSaid
from zeno.core.messages import Part, TextPart, ThinkingPart, ToolCall
from zeno.core.scope import LOCAL
from zeno.runs.clock import now
from zeno.server.application import application
from zeno.server.tokens import local_token
from zeno.stores.gauges import Gauges
from zeno.stores.jobs import Jobs
from zeno.stores.tables import events

FEW, MANY = 100, 10_000
TIMES = 30

Question = Callable[["House"], Awaitable[Any]]


@dataclass
class House:
    """An open house with so many finished runs. `runs` are their ids, `session` one of their conversations."""

    app: App
    client: httpx2.AsyncClient
    runs: list[str]
    session: str = ""
    asked: int = 0

    @property
    def run(self) -> str:
        """One of the finished runs, another one each time."""
        self.asked += 1
        return self.runs[self.asked * 7919 % len(self.runs)]

    async def get(self, path: str) -> bytes:
        """What is answered."""
        response = await self.client.get(f"/api/v1{path}")
        assert response.status_code == 200, response.text
        return response.content

    async def paused(self) -> str:
        """A run that waits for a decision."""
        answer = await self.client.post("/api/v1/runs", json={"text": TASK})
        run = str(answer.json()["run_id"])
        while (await self.app.runs.find(LOCAL, run)).ending != "awaiting_approval":
            await asyncio.sleep(0.01)
        return run

    async def resume(self, run: str) -> None:
        """Decide, and return when it is over."""
        answer = await self.client.post(f"/api/v1/approvals/{run}.1/decision", json={"decision": "approve"})
        assert answer.status_code == 200, answer.text
        # A stream ends with its run.
        await self.get(f"/runs/{run}/events")


async def sweep(house: House) -> None:
    """What is looked for every second or two: on PostgreSQL by what writes jobs."""
    await house.app.approvals.expire(now())
    if house.app.settings.database_url:
        jobs = Jobs(database=house.app.runs.database)
        await jobs.sweep(stalled_after=5.0, older_than=now() - 2000, now=now())
    else:
        await house.app.runs.stranded(older_than=now() - 2000, now=now())


QUESTIONS: dict[str, Question] = {
    "list conversations": lambda house: house.get("/sessions"),
    "list runs": lambda house: house.get("/runs"),
    "list the runs of a conversation": lambda house: house.get(f"/runs?session={house.session}"),
    "list paused runs, of which there are none": lambda house: house.get("/runs?ending=awaiting_approval"),
    "list runs at work, of which there are none": lambda house: house.get("/runs?ending=open"),
    "search conversations for what is nowhere": lambda house: house.get("/sessions?search=nowhere"),
    "open a run": lambda house: house.get(f"/runs/{house.run}"),
    "first page of its events": lambda house: house.get(f"/runs/{house.run}/events?format=json"),
    "replay of its stream": lambda house: house.get(f"/runs/{house.run}/events"),
    "inbox of approvals": lambda house: house.get("/approvals"),
    "approvals of any status": lambda house: house.get("/approvals?status=any"),
    "newest lines of the audit": lambda house: house.get("/audit"),
    "sweep": sweep,
    "what waits in inboxes": lambda house: house.app.driver.inbox.waiting(),
    "what is due in a session": lambda house: house.app.runs.due(house.session),
    "figures for the metrics": lambda house: Gauges(database=house.app.runs.database).load(now()),
}


@asynccontextmanager
async def filled(home: Path, url: str | None, number: int) -> AsyncIterator[House]:
    """A house with so many finished runs."""
    own = settings(home, url)
    async with opened(own, serving=True) as app:
        secret = {"Authorization": f"Bearer {local_token(own)}"}
        transport = httpx2.ASGITransport(app=application(app))
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8321", headers=secret, timeout=60
        ) as client:
            house = House(app, client, [])
            first = await house.paused()
            await house.resume(first)
            house.runs = await asyncio.to_thread(copies, home, url, first, number)
            house.session = (await app.runs.find(LOCAL, house.runs[-1])).session_id
            yield house


def copies(home: Path, url: str | None, run_id: str, number: int) -> list[str]:
    """Write so many copies of a run: their ids."""
    database = engine(home, url)
    with database.begin() as connection:
        ids = Copier(connection, run_id).write(connection, number)
    if url:
        # As the server does by itself, a minute later.
        with database.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("vacuum analyze"))
    database.dispose()
    return ids


def usual(took: Sequence[float]) -> float:
    """What a quarter stays below: the machine is shared, and what others take from it is not ours."""
    return sorted(took)[len(took) // 4]


async def in_turn(question: Question, houses: Sequence[House]) -> list[float]:
    """Milliseconds of a question to each house."""
    took: list[list[float]] = [[] for _ in houses]
    for _ in range(TIMES + 3):
        for house, own in zip(houses, took, strict=True):
            began = time.perf_counter()
            await question(house)
            own.append((time.perf_counter() - began) * 1000)
    return [usual(own[3:]) for own in took]


async def resumed(houses: Sequence[House]) -> list[float]:
    """Milliseconds from a decision to the end of its run."""
    took: list[list[float]] = [[] for _ in houses]
    for _ in range(TIMES):
        for house, own in zip(houses, took, strict=True):
            run = await house.paused()
            began = time.perf_counter()
            await house.resume(run)
            own.append((time.perf_counter() - began) * 1000)
    return [usual(own) for own in took]


async def measured(place: Path, urls: Sequence[str | None]) -> dict[str, list[float]]:
    """Milliseconds of everything with few runs and with many."""
    async with AsyncExitStack() as closing:
        houses = []
        for number, url in zip((FEW, MANY), urls, strict=True):
            houses.append(await closing.enter_async_context(filled(place / str(number), url, number)))
            told(f"{number} runs")
        found = {}
        for name, question in QUESTIONS.items():
            found[name] = await in_turn(question, houses)
            told(f"{name}: {found[name]}")
        found["resume a paused run, to its end"] = await resumed(houses)
        return found


def said(event: Event) -> int:
    """Bytes of what the user, the model and the tools said in an event."""
    match event:
        case UserSaid(parts=parts):
            texts = [own for part in parts for own in _texts(part)]
        case ModelReplied(message=message):
            texts = [own for part in message.parts for own in _texts(part)]
        case ToolFinished(result=result):
            texts = [result.text]
        case _:
            texts = []
    return sum(len(each.encode()) for each in texts)


def _texts(part: Part) -> list[str]:
    match part:
        case TextPart(text=own) | ThinkingPart(text=own) | ToolCall(arguments=own):
            return [own]
        case _:
            return []


SIZES = {
    "sqlite": (
        "select sum(pgsize) from dbstat where name in ('events', 'sqlite_autoindex_events_1')",
        "select sum(pgsize) from dbstat",
    ),
    "postgresql": (
        "select pg_total_relation_size('events')",
        "select sum(pg_total_relation_size(oid)) from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
    ),
}


@dataclass(frozen=True)
class Size:
    """Bytes of one run: its texts, the bodies of its events, its events in the database, all its rows there."""

    number: int
    texts: int
    bodies: int
    log: int
    whole: int


def size(home: Path, url: str | None) -> Size:
    """That of the many runs, each."""
    database = engine(home, url)
    with database.connect() as connection:
        newest = connection.execute(select(events.c.run_id).where(events.c.type == "run_ended").limit(1)).scalar_one()
        bodies = list(connection.scalars(select(events.c.body).where(events.c.run_id == newest)))
        log, whole = (int(connection.execute(text(own)).scalar_one()) for own in SIZES[database.dialect.name])
    database.dispose()
    texts = sum(said(msgspec.json.decode(body, type=Event)) for body in bodies)
    return Size(len(bodies), texts, sum(len(body.encode()) for body in bodies), log // MANY, whole // MANY)


def main() -> None:
    """Print the tables."""
    configure_logs("error")
    times: dict[str, dict[str, list[float]]] = {}
    sizes: dict[str, Size] = {}
    with tempfile.TemporaryDirectory() as place, ExitStack() as closing:
        server = closing.enter_context(postgres())
        few, many = (closing.enter_context(server.database(name)) for name in ("few", "many"))
        for name, urls in {"SQLite": (None, None), "PostgreSQL": (few, many)}.items():
            own = Path(place, name)
            own.mkdir()
            times[name] = asyncio.run(measured(own, urls))
            sizes[name] = size(own / str(MANY), urls[1])
    print(
        f"| ms, lower quartile of {TIMES} | " + " | ".join(f"{name}, {FEW} runs | {MANY} runs | ratio" for name in times) + " |"
    )
    print("|---" * (1 + 3 * len(times)) + "|")
    for name in times["SQLite"]:
        figures = (own[name] for own in times.values())
        print(f"| {name} | " + " | ".join(f"{few:.2f} | {many:.2f} | {many / few:.2f}" for few, many in figures) + " |")
    print(
        "\n| bytes of a run | events | texts | bodies of events | log on disk | of the texts | an event | all rows |\n"
        + "|---" * 8
        + "|"
    )
    for name, each in sizes.items():
        shares = f"{each.log / each.texts:.1f} x | {each.log / each.number:.0f}"
        print(f"| {name} | {each.number} | {each.texts} | {each.bodies} | {each.log} | {shares} | {each.whole} |")


if __name__ == "__main__":
    main()
