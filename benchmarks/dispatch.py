"""How soon another process begins: from the POST to the first event of its run, beside what PostgreSQL needs to pass a word on.

Wants a PostgreSQL server, as the tests do (`ZENO_TEST_POSTGRES`).
"""

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import psycopg
from tests.databases import database
from tests.door import ZENO, Door
from tests.http import Server, serving

RUNS = 100


def words(url: str) -> list[float]:
    """Milliseconds from NOTIFY in one connection to its arrival in another."""
    took = []
    with psycopg.connect(url, autocommit=True) as says, psycopg.connect(url, autocommit=True) as hears:
        hears.execute("listen benchmark")
        for _ in range(RUNS):
            began = time.perf_counter()
            says.execute("notify benchmark")
            if not list(hears.notifies(timeout=5, stop_after=1)):
                raise TimeoutError
            took.append((time.perf_counter() - began) * 1000)
    return took


def starts(server: Server, url: str) -> tuple[list[float], list[float]]:
    """Milliseconds from the POST to its answer, and to the first event of the run."""
    client, answered, began = server.client(), [], {}
    for _ in range(RUNS):
        asked, clock = time.time(), time.perf_counter()
        run = client.post("/runs", json={"text": "what is 6*7?", "model": "offline"}).json()["run_id"]
        answered.append((time.perf_counter() - clock) * 1000)
        began[run] = asked
        # The end, so that one run is measured at a time.
        server.events(run)
    with psycopg.connect(url) as connection:
        # The clock of both processes is this machine's; events have whole milliseconds.
        firsts = connection.execute("select run_id, at from events where seq = 1").fetchall()
    return answered, [at - began[run] * 1000 for run, at in firsts if run in began]


@contextmanager
def worker(door: Door) -> Iterator[None]:
    """A worker at work, once it has done something."""
    with (door.home / "worker.log").open("w") as errors:
        process = subprocess.Popen([ZENO, "worker"], cwd=door.here, env=door.environment(), stderr=errors)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def row(name: str, took: list[float]) -> None:
    """Print one."""
    took = sorted(took)
    print(f"| {name} | {took[len(took) // 2]:.1f} | {took[len(took) * 95 // 100]:.1f} |")


def main() -> None:
    """Print the table."""
    print("| on PostgreSQL | ms, median | p95 |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as place, database("postgresql") as url:
        if url is None:
            raise SystemExit("no PostgreSQL")
        door = Door(home=Path(place), here=Path(place))
        row("a bare NOTIFY, there", words(url))
        door.env = {"ZENO_DATABASE_URL": url, "ZENO_SERVER__RATE_LIMIT": "1000000/minute"}
        for where, drives in (("the server's own process", "true"), ("a worker", "false")):
            door.env["ZENO_WORKER"] = drives
            with serving(door) as server, nullcontext() if drives == "true" else worker(door):
                server.events(server.run("what is 6*7?", model="offline"))
                answered, began = starts(server, url)
            row(f"POST to answer, driven by {where}", answered)
            row(f"POST to first event, driven by {where}", began)


if __name__ == "__main__":
    main()
