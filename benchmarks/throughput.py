"""How much gets done: runs and steps a second with one, two and three workers over PostgreSQL, beside one process over SQLite.

All runs are there before anybody may begin: the workers are started, stopped by a signal, and let go together. What counts is
the time from the first event of all to the last end of all, as the log has it. A step is a question to a scripted model, which
answers at once, so that what is measured is Zeno and its database. Of some rounds in turn the quickest counts: the machine is
shared.

    python -m benchmarks.throughput
"""

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import psycopg
from sqlalchemy import create_engine, text
from tests.door import ZENO, Door, call, calls
from tests.http import serving

from benchmarks.durable import Postgres, postgres, told
from zeno.app import opened
from zeno.cli.logs import configure_logs
from zeno.core.scope import LOCAL
from zeno.settings import Settings

RUNS = 150
ROUNDS = 3
TOOLS = '''
@tool()
async def look(at: str) -> str:
    """Look at something. Use it.

    Args:
        at: what
    """
    return f"There is something at {at}."
'''
REPLIES = (*(calls(call("look", at=str(number))) for number in range(3)), {"text": "I have looked at all of it."})
STEPS = len(REPLIES)
BOUND = 300.0
"""Seconds that all the runs together may take."""

Took = tuple[float, float, float]
"""Seconds for all runs, CPU seconds of those who drive, CPU seconds of the database."""


class House:
    """A home with the tool and the script, over a database."""

    def __init__(self, place: Path, url: str | None) -> None:
        self.door = Door(home=place / "home", here=place)
        self.door.with_tools(TOOLS)
        self.door.env |= {"ZENO_MODEL": self.door.script(*REPLIES), "ZENO_SERVER__RATE_LIMIT": "1000000/minute"}
        self.door.env |= {"ZENO_DATABASE_URL": url} if url else {}
        where = (url or f"sqlite:///{place}/home/zeno.db").replace("postgresql:", "postgresql+psycopg:")
        self._engine = create_engine(where)

    async def give(self, number: int, *, jobs: bool) -> None:
        """So many tasks, each in a session of its own; with `jobs` as a server that drives nothing gives them."""
        env = self.door.env
        settings = Settings(
            home=self.door.home,
            database_url=env.get("ZENO_DATABASE_URL"),
            model=env["ZENO_MODEL"],
            tools={"modules": [str(self.door.home / "own_tools.py")]},
            worker=False,
        )
        async with opened(settings, serving=jobs) as app:
            agent = await app.agent(None, language="en-US")
            for _ in range(number):
                await app.start(LOCAL, agent, "Look at all of it.")

    def finished(self) -> int:
        """How many runs have ended."""
        with self._engine.connect() as connection:
            return int(connection.execute(text("select count(*) from runs where ended_at is not null")).scalar_one())

    def seconds(self, number: int) -> float:
        """From the first event to the last end of the newest runs."""
        newest = f"select id from runs order by created_at desc, id limit {number}"
        asked = f"select min(at), (select max(ended_at) from runs) from events where run_id in ({newest})"
        with self._engine.connect() as connection:
            first, last = connection.execute(text(asked)).one()
        return float(last - first) / 1000

    def wait(self, number: int) -> None:
        """Return when so many runs have ended."""
        deadline = time.monotonic() + BOUND
        while self.finished() < number:
            if time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(0.1)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


@contextmanager
def workers(door: Door, number: int) -> Iterator[list[psutil.Process]]:
    """So many workers."""
    with ExitStack() as closing:
        started = []
        for each in range(number):
            errors = closing.enter_context((door.home / f"worker{each}.log").open("w"))
            started.append(subprocess.Popen([ZENO, "worker"], cwd=door.here, env=door.environment(), stderr=errors))
        try:
            yield [psutil.Process(process.pid) for process in started]
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait(60)


def cpu(processes: list[psutil.Process]) -> float:
    """Seconds of processor time that they have used."""
    return sum(times.user + times.system for times in (process.cpu_times() for process in processes))


def registered(url: str, number: int) -> None:
    """Return when so many workers say that they live."""
    deadline = time.monotonic() + 60
    with psycopg.connect(url, autocommit=True) as connection:
        while True:
            found = connection.execute("select count(*) from procrastinate_workers").fetchone()
            if found and found[0] >= number:
                return
            if time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(0.05)


def over_postgresql(server: Postgres, number: int) -> Took:
    """With so many workers."""
    with tempfile.TemporaryDirectory() as place, server.database(f"workers{number}") as url:
        house = House(Path(place), url)
        asyncio.run(house.give(number * 4, jobs=True))
        with workers(house.door, number) as processes:
            # They have imported everything and have their connections.
            house.wait(number * 4)
            registered(url, number)
            for process in processes:
                process.send_signal(signal.SIGSTOP)
            asyncio.run(house.give(RUNS, jobs=True))
            before, database = cpu(processes), server.cpu()
            for process in processes:
                process.send_signal(signal.SIGCONT)
            house.wait(number * 4 + RUNS)
            used, database = cpu(processes) - before, server.cpu() - database
        seconds = house.seconds(RUNS)
        house.close()
        return seconds, used, database


def over_sqlite() -> Took:
    """One server that drives all of them."""
    with tempfile.TemporaryDirectory() as place:
        house = House(Path(place), None)
        with serving(house.door) as server:
            for _ in range(4):
                server.events(server.run("Look at all of it."))
        asyncio.run(house.give(RUNS, jobs=False))
        with serving(house.door) as server:
            assert server.process
            process = psutil.Process(server.process.pid)
            before = cpu([process])
            house.wait(4 + RUNS)
            used = cpu([process]) - before
        seconds = house.seconds(RUNS)
        house.close()
        return seconds, used, 0.0


def quickest(server: Postgres) -> dict[str, Took]:
    """The quickest round of each."""
    found: dict[str, Took] = {}
    for _ in range(ROUNDS):
        for number in range(4):
            name = f"{number} worker{'s' * (number > 1)}, PostgreSQL" if number else "one process, SQLite"
            took = over_postgresql(server, number) if number else over_sqlite()
            told(f"{name}: {took[0]:.1f} s")
            found[name] = min(found.get(name, took), took)
    return found


def main() -> None:
    """Print the table."""
    configure_logs("error")
    print(f"{RUNS} runs of {STEPS} steps, {len(os.sched_getaffinity(0))} processors for everything, the database too\n")
    print("| who drives | runs/s | steps/s | x of SQLite | CPU ms per step | of the database |\n|---|---|---|---|---|---|")
    with postgres() as server:
        found = quickest(server)
    floor, *_ = found["one process, SQLite"]
    steps = RUNS * STEPS
    for name, (seconds, used, database) in found.items():
        figures = f"{RUNS / seconds:.1f} | {steps / seconds:.0f} | {floor / seconds:.2f}"
        print(f"| {name} | {figures} | {used / steps * 1000:.2f} | {database / steps * 1000:.2f} |")


if __name__ == "__main__":
    main()
