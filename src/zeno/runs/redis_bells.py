"""Bells over Redis: one channel that every process rings and hears.

Knows Redis as a shortcut only: what is lost here is found within a second by those it was meant for.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager

from zeno.runs.bells import Answer, LocalBells
from zeno.runs.clock import new_id
from zeno.runs.pulse import Pulse
from zeno.runs.redis_link import CHECK, PATIENCE, Link, Well, said

CHANNEL = "zeno:bells"

MOST = 10_000
"""Rings that may wait for Redis. Older ones are left out then."""


class RedisBells:
    """Rings here and at all other processes. Without `connected` it rings here only."""

    def __init__(self, link: Link, pulse: Pulse) -> None:
        self._link, self._here = link, LocalBells(pulse=pulse)
        self._name = new_id()
        self._open = False
        self._due = asyncio.Event()
        self._pending: deque[str] = deque(maxlen=MOST)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Ring and hear over Redis for the length of the block, whenever it is there."""
        async with self._link.conversing(ringing=self._write, answering=self._listen):
            yield

    async def ring(self, run_id: str) -> None:
        """Have a run look around, wherever it is driven."""
        if not self._here.pulse.ring(run_id):
            self._put("run", run_id)

    async def ring_session(self, session_id: str) -> None:
        """Say to all who answer, here and elsewhere, that there is something to be done in a session."""
        await self._here.ring_session(session_id)
        self._put("session", session_id)

    def answering(self, answer: Answer) -> AbstractContextManager[None]:
        """Have `answer` called when it rings for a session, for the length of the block."""
        return self._here.answering(answer)

    def _put(self, what: str, which: str) -> None:
        # While Redis is away nothing is kept: a bell that rings late tells nothing that was not looked for meanwhile.
        if self._open:
            self._pending.append(f"{self._name} {what} {which}")
            self._due.set()

    async def _write(self, well: Well) -> None:
        self._open = True
        try:
            while True:
                pipeline = self._link.client.pipeline(transaction=False)
                for ring in self._taken():
                    pipeline.publish(CHANNEL, ring)
                async with asyncio.timeout(PATIENCE):
                    await (pipeline.execute() if pipeline else self._link.ping())
                well()
                try:
                    async with asyncio.timeout(CHECK):
                        await self._due.wait()
                except TimeoutError:
                    continue
        finally:
            self._open = False
            self._pending.clear()

    def _taken(self) -> Iterator[str]:
        self._due.clear()
        while self._pending:
            yield self._pending.popleft()

    async def _listen(self, well: Well) -> None:
        async with self._link.connection() as connection:
            await connection.send_command("SUBSCRIBE", CHANNEL, check_health=False)
            async for reply in said(connection):
                well()
                match reply:
                    case [b"message", _, bytes(data)]:
                        await self._hear(data.decode(errors="replace").split(" "))
                    case _:
                        pass

    async def _hear(self, words: list[str]) -> None:
        match words:
            case [name, _, _] if name == self._name:
                pass
            case [_, "run", run_id]:
                self._here.pulse.ring(run_id)
            case [_, "session", session_id]:
                await self._here.ring_session(session_id)
            case _:
                pass


@asynccontextmanager
async def redis_bells(url: str, pulse: Pulse) -> AsyncIterator[RedisBells]:
    """Bells over the Redis at `url` for the length of the block. Raises `ConfigError` for a URL that is none."""
    bells = RedisBells(Link(url), pulse)
    async with bells.connected():
        yield bells
