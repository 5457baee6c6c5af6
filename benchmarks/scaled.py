"""How soon a run goes on at another instance: from the POST of a decision at A to what B does next, beside a word and a commit.

A is `zeno serve` that drives nothing, B is `zeno worker`; one PostgreSQL whose commits are on disk, and once more one that does
not wait for its disk, so that the two shares of the time can be told apart. The floor is what nobody can do without: one commit
and one word from process to process and back.

    python -m tests.with_services python -m benchmarks.scaled
"""

import http.client
import json
import multiprocessing
import os
import secrets
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from redis import Redis
from tests.door import ZENO, Door, call, calls
from tests.http import Server, serving
from tests.redis_server import redis_server

from benchmarks.durable import postgres

DECISIONS, WARM = 60, 5
BOUND = 60.0
"""Seconds that anything may take."""

TOOLS = '''
@tool(effect="danger")
async def post(text: str) -> str:
    """Post. Use it.

    Args:
        text: what
    """
    return "posted"
'''

HEARD = ("approval_decided", "tool_started", "tool_finished")
"""What the client is told when B has taken the decision, begins the tool, and has its result."""


def answer(url: str, there: str, back: str) -> None:
    """The other end of the bare word: sends back whatever it hears."""
    with Redis.from_url(url) as client, client.pubsub() as heard:
        heard.subscribe(there)
        for message in heard.listen():
            if message["type"] == "message":
                client.publish(back, message["data"])


@contextmanager
def talking(url: str) -> Iterator[Callable[[], None]]:
    """Say a word over Redis, and wait until another process has said it back: for the length of the block."""
    there, home = secrets.token_hex(), secrets.token_hex()
    process = multiprocessing.get_context("spawn").Process(target=answer, args=(url, there, home), daemon=True)
    process.start()
    try:
        with Redis.from_url(url) as client, client.pubsub(ignore_subscribe_messages=True) as back:
            back.subscribe(home)
            back.get_message(timeout=BOUND)

            def word() -> None:
                deadline = time.monotonic() + BOUND
                while not client.publish(there, b"word"):
                    time.sleep(0.01)
                while back.get_message(timeout=1) is None:
                    if time.monotonic() > deadline:
                        raise TimeoutError

            yield word
    finally:
        process.kill()
        process.join()


@contextmanager
def committing(url: str) -> Iterator[Callable[[], None]]:
    """Write one row in a transaction of its own."""
    with psycopg.connect(url) as connection:
        connection.execute("create table bare (id serial primary key, body text)")
        connection.commit()

        def commit() -> None:
            connection.execute("insert into bare (body) values (%s)", ["x" * 300])
            connection.commit()

        yield commit


def clocked(work: Callable[[], None]) -> float:
    """Milliseconds that it takes."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


@contextmanager
def worker(door: Door) -> Iterator[subprocess.Popen[bytes]]:
    """`zeno worker` for the length of the block."""
    with (door.home / "worker.log").open("w") as errors:
        process = subprocess.Popen([ZENO, "worker"], cwd=door.here, env=door.environment(), stderr=errors)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(BOUND)


class Client:
    """Somebody who decides, with as little of a client as there can be: its own work is part of what is measured."""

    def __init__(self, server: Server) -> None:
        self._address = server.origin.removeprefix("http://")
        self._own = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
        self._open = http.client.HTTPConnection(self._address, timeout=BOUND)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What is answered."""
        self._open.request("POST", f"/api/v1{path}", json.dumps(body).encode(), self._own)
        response = self._open.getresponse()
        answered: dict[str, Any] = json.loads(response.read())
        assert response.status < 300, answered
        return answered

    def decided(self) -> dict[str, float]:
        """A run that pauses, and a decision about it: milliseconds from its POST to each thing that follows."""
        run = self.post("/runs", {"text": "post it"})["run_id"]
        paused, stamps = threading.Event(), dict[str, float]()
        listening = threading.Thread(target=self._listen, args=(run, paused, stamps))
        listening.start()
        if not paused.wait(BOUND):
            raise TimeoutError
        # So that the worker has let go of it: what is measured is a run of which no process holds anything.
        time.sleep(0.2)
        self._open.close()
        self._open.connect()
        asked, clock = time.time(), time.perf_counter()
        self.post(f"/approvals/{run}.1/decision", {"decision": "approve"})
        stamps["answered"] = time.perf_counter()
        listening.join(BOUND)
        took = {name: (at - clock) * 1000 for name, at in stamps.items() if name != "at"}
        # Stamped by B with this machine's clock, in whole milliseconds, just before it is written.
        return took | {"stamped": stamps["at"] - asked * 1000}

    def _listen(self, run: str, paused: threading.Event, stamps: dict[str, float]) -> None:
        """Note when the client is told of each thing."""
        stream = http.client.HTTPConnection(self._address, timeout=BOUND)
        stream.request("GET", f"/api/v1/runs/{run}/events", headers=self._own)
        kind = ""
        for line in stream.getresponse():
            if line.startswith(b"event: "):
                kind = line[7:].decode().strip()
                if kind in HEARD:
                    stamps[kind] = time.perf_counter()
                elif kind == "run_paused":
                    paused.set()
            elif kind == "approval_decided" and line.startswith(b"data: "):
                stamps["at"] = json.loads(line[6:])["at"]
        stream.close()


def measured(url: str, redis: str) -> dict[str, list[float]]:
    """Milliseconds of everything, in turn: what else the machine does falls on all alike."""
    with tempfile.TemporaryDirectory() as place:
        door = Door(home=Path(place) / "home", here=Path(place))
        door.with_tools(TOOLS)
        door.env |= {"ZENO_MODEL": door.script(calls(call("post", text="hi")), {"text": "Posted."})}
        door.env |= {"ZENO_DATABASE_URL": url, "ZENO_REDIS_URL": redis, "ZENO_WORKER": "false"}
        door.env["ZENO_SERVER__RATE_LIMIT"] = "1000000/minute"
        with serving(door) as server, worker(door), talking(redis) as word, committing(url) as commit:
            taken = []
            for _ in range(WARM + DECISIONS):
                bare = {"word": clocked(word), "commit": clocked(commit)}
                taken.append(bare | Client(server).decided())
    return {words: sorted(each[name] for each in taken[WARM:]) for name, words in ROWS.items()}


ROWS = {
    "word": "a word over Redis to another process and back",
    "commit": "a commit",
    "answered": "POST of the decision to its answer",
    "stamped": "POST to B's first event, as B stamps it",
    "approval_decided": "POST to B's first event, as A's client is told",
    "tool_started": "POST to the beginning of the tool, as A's client is told",
    "tool_finished": "POST to the tool's result, as A's client is told",
}


def median(took: list[float]) -> float:
    """The middle."""
    return took[len(took) // 2]


def main() -> None:
    """Print the tables."""
    for on_disk in (True, False):
        with ExitStack() as closing:
            server = closing.enter_context(postgres(on_disk=on_disk))
            url = closing.enter_context(server.database("scaled"))
            redis = os.environ.get("ZENO_TEST_REDIS") or closing.enter_context(redis_server()).url
            found = measured(url, redis)
        floor = sum(median(found[ROWS[name]]) for name in ("word", "commit"))
        title = "commits on disk" if on_disk else "commits not waited for"
        print(f"| {title} | median ms | p95 ms | x of word and commit |\n|---|---|---|---|")
        for name, took in found.items():
            print(f"| {name} | {median(took):.2f} | {took[len(took) * 95 // 100]:.2f} | {median(took) / floor:.1f} |")
        print(flush=True)


if __name__ == "__main__":
    main()
