"""What other processes tell of their runs, heard over one connection to Redis however many runs are followed here.

Subscribing and asking for what was told before go over that same connection (RESP3), so the answers come in the order in which
Redis did things, and nothing can fall between them. Knows Redis and frames, and neither the log nor who follows.
"""

import asyncio
from collections import deque
from typing import Protocol

from redis.asyncio.connection import AbstractConnection

from zeno.runs.frames import Frame
from zeno.runs.redis_link import Link, Well, said
from zeno.runs.redis_outbox import key, unpacked


def presence(run_id: str) -> str:
    """The name of a channel on which nothing is said: its subscribers are the instances at which someone follows the run."""
    return f"zeno:following:{run_id}"


class Followed(Protocol):
    """Where it is known who follows what here."""

    def followed(self, run_id: str) -> bool:
        """Whether anyone follows the run here."""
        ...

    def awaited(self, run_id: str) -> bool:
        """Whether anyone does, and it is not told of here."""
        ...

    def hear(self, run_id: str, frame: Frame) -> bool:
        """Take a frame of a run from elsewhere; whether nothing is missing before it."""
        ...


class RedisEar:
    """Hears the runs that are followed here; `followers` is asked again for a run when `reconsider` is called."""

    def __init__(self, link: Link, followers: Followed) -> None:
        self._link, self._followers = link, followers
        self._present: set[str] = set()
        self._wanted: set[str] = set()
        self._behind: set[str] = set()
        self._adrift: set[str] = set()
        self._asked: deque[str] = deque()
        self._changed = asyncio.Event()

    def reconsider(self, run_id: str) -> None:
        """Begin or cease to hear a run, as its followers are now."""
        if self._followers.followed(run_id) != (run_id in self._present):
            self._present ^= {run_id}
            self._changed.set()
        if not self._followers.awaited(run_id):
            self.ignore(run_id)
        elif run_id not in self._wanted:
            self._wanted.add(run_id)
            # Also when it was heard a moment ago: who listens now has none of that.
            self._behind.add(run_id)
            self._changed.set()

    def ignore(self, run_id: str) -> None:
        """Cease to hear a run."""
        if run_id in self._wanted:
            self._wanted.discard(run_id)
            self._changed.set()

    async def listen(self, well: Well) -> None:
        """Hear, for good. Raises what Redis does; what was missed meanwhile is asked for when it is called again."""
        self._asked.clear()
        self._adrift.clear()
        self._behind = set(self._wanted)
        async with self._link.connection() as connection:
            well()
            asking = asyncio.create_task(self._ask(connection), name="redis subscriptions")
            try:
                async for reply in said(connection):
                    self._take(reply)
            finally:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)

    async def _ask(self, connection: AbstractConnection) -> None:
        """Say what is to be heard. When it cannot be said, the connection is closed, which its reader notices."""
        heard: set[str] = set()
        while True:
            self._changed.clear()
            names = {*map(key, self._wanted), *map(presence, self._present)}
            more, less = names - heard, heard - names
            heard, behind, self._behind = names, self._behind & self._wanted, set()
            self._adrift &= self._wanted
            commands: list[tuple[str, ...]] = []
            if less:
                commands.append(("UNSUBSCRIBE", *less))
            if more:
                commands.append(("SUBSCRIBE", *more))
            for run_id in behind:
                self._asked.append(run_id)
                commands.append(("XRANGE", key(run_id), "-", "+"))
            if commands:
                await connection.send_packed_command(connection.pack_commands(commands), check_health=False)
            # Without a bound of its own: it ends with the connection.
            await self._changed.wait()

    def _take(self, reply: object) -> None:
        match reply:
            case [b"message", bytes(channel), bytes(data)]:
                run_id = channel.decode().rpartition(":")[2]
                if not self._tell(run_id, unpacked(data)) and run_id not in self._adrift:
                    self._adrift.add(run_id)
                    self._behind.add(run_id)
                    self._changed.set()
            case [b"subscribe" | b"unsubscribe", *_]:
                pass
            case list():
                # Asked once: what Redis does not have either is in the log by the run's next record.
                run_id = self._asked.popleft()
                if not self._tell(run_id, [frame for entry in reply for frame in unpacked(entry[1][1])]):
                    self._adrift.add(run_id)
            case _:
                pass

    def _tell(self, run_id: str, frames: list[Frame]) -> bool:
        """Whether nothing is missing before the last of the frames."""
        fits = True
        for frame in frames:
            fits = self._followers.hear(run_id, frame)
            if fits and not frame.delta:
                self._adrift.discard(run_id)
        return fits
