"""What Redis adds on the way of a delta from the instance that drives a run to one that follows it, beside bare Redis.

Both ends share one process, so a figure holds the work of both. The two ways to hear of many runs over one connection are
measured bare: a channel per run, and one blocking read over all streams, which names every stream again for each answer.
"""

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

from redis.asyncio import Redis
from tests.redis_server import redis_server

from zeno.core.events import StepStarted
from zeno.core.ports import TextDelta
from zeno.runs.feed import Channel
from zeno.runs.frames import Frame
from zeno.runs.redis_feed import redis_feed
from zeno.stores.event_log import Record

ROUNDS = 2000
MANY = 200

Once = Callable[[int], Awaitable[None]]


class Ear:
    """Follows a run, and says when it hears something."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()

    def hear(self, frame: Frame) -> None:
        self.heard.set()

    def look(self, length: int) -> None:
        """Nothing: the log is of no interest here."""

    def close(self) -> None:
        """Nothing: it ends with the benchmark."""


async def measured(name: str, once: Once, rounds: int = ROUNDS) -> None:
    """Print a row: wall microseconds of one round, median and 99th of a hundred, and CPU of this process."""
    for number in range(100):
        await once(number)
    times = []
    cpu = time.process_time()
    for number in range(rounds):
        began = time.perf_counter()
        await once(number)
        times.append(time.perf_counter() - began)
    cpu = (time.process_time() - cpu) / rounds
    times.sort()
    print(f"| {name} | {times[rounds // 2] * 1e6:.0f} | {times[rounds * 99 // 100] * 1e6:.0f} | {cpu * 1e6:.0f} |", flush=True)


async def bare(url: str) -> None:
    """A round trip; a message; an entry of one of many streams."""
    client = Redis.from_url(url, protocol=3)

    async def ping(_: int) -> None:
        await client.ping()

    await measured("bare round trip (PING)", ping)
    names = [f"bare:{number}" for number in range(MANY)]
    pubsub = client.pubsub()
    await pubsub.subscribe(*names)
    for _ in names:
        await pubsub.get_message(timeout=5)

    async def message(number: int) -> None:
        await client.publish(names[number % MANY], b"x" * 100)
        await pubsub.get_message(timeout=5)

    await measured(f"bare publish, one connection hears {MANY} channels", message)
    await pubsub.aclose()  # type: ignore[no-untyped-call]
    places = [await client.xadd(name, {"f": b""}) for name in names]

    async def entry(number: int) -> None:
        added = await client.xadd(names[number % MANY], {"f": b"x" * 100})
        await client.execute_command("XREAD", "BLOCK", 5000, "STREAMS", *names, *places)  # type: ignore[no-untyped-call]
        places[number % MANY] = added

    await measured(f"bare append, one blocking read over {MANY} streams", entry)
    await client.aclose()


async def feed(url: str, runs: int) -> None:
    """From `publish` on one instance to `hear` on another, with so many runs followed there."""
    names = [f"{number:032x}" for number in range(runs)]
    ears = [Ear() for _ in names]
    async with redis_feed(url) as here, redis_feed(url) as there:
        with ExitStack() as followed:
            channels: list[Channel] = []
            for name, ear in zip(names, ears, strict=True):
                followed.enter_context(here.driving(name))
                here.publish(name, Record(1, 0, StepStarted(1)))
                channels.append(followed.enter_context(there.listen(name, ear)))
            while any(channel.seq == 0 for channel in channels):
                await asyncio.sleep(0.01)

            async def delta(number: int) -> None:
                ear = ears[number % runs]
                ear.heard.clear()
                here.publish(names[number % runs], TextDelta("a word "))
                await ear.heard.wait()

            await measured(f"feed, publish to hear, {runs} followed", delta)

            async def round_of_all(_: int) -> None:
                for name, ear in zip(names, ears, strict=True):
                    ear.heard.clear()
                    here.publish(name, TextDelta("a word "))
                for ear in ears:
                    await ear.heard.wait()

            if runs > 1:
                await measured(f"feed, one delta of each of {runs} at once", round_of_all, ROUNDS // 20)


def main() -> None:
    """Print the table."""
    with redis_server() as server:
        version = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
        print(f"Redis {version}\n\n| what | us, median | us, 99 % | CPU us |\n|---|---|---|---|")
        asyncio.run(bare(server.url))
        for runs in (1, MANY):
            with server.client() as admin:
                admin.flushall()
            asyncio.run(feed(server.url, runs))


if __name__ == "__main__":
    main()
