"""The live feed of several processes over one Redis: followers of a run hear of it wherever it is driven.

Knows Redis as a shortcut only. What is told here reaches the listeners of this process directly; a frame that Redis loses, or a
Redis that is gone, sends a follower to the log, and costs nobody more than the time until the log is looked at.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from redis.exceptions import RedisError

from zeno.core.ports import Delta
from zeno.runs.feed import Channel, Lengths, Listener, MemoryLiveFeed
from zeno.runs.frames import Frame
from zeno.runs.redis_ear import RedisEar, presence
from zeno.runs.redis_link import PATIENCE, Link
from zeno.runs.redis_outbox import RedisOutbox
from zeno.stores.event_log import Record

ELSEWHERE = 1.0
"""How often, in seconds, it is asked whether a run is followed elsewhere."""


class RedisLiveFeed:
    """A feed whose followers may be other processes. Without `connected` it is one of this process only."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._here = MemoryLiveFeed(self._tell_elsewhere)
        self._outbox = RedisOutbox(link, self._here)
        self._ear = RedisEar(link, self._here)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Tell and hear over Redis for the length of the block, whenever it is there."""
        async with self._link.conversing(telling=self._outbox.write, hearing=self._ear.listen):
            yield

    @contextmanager
    def driving(self, run_id: str) -> Iterator[None]:
        """This process drives the run, and tells of it, for the length of the block."""
        try:
            with self._here.driving(run_id):
                yield
        finally:
            self._ear.reconsider(run_id)

    def publish(self, run_id: str, item: Record | Delta) -> None:
        """Tell everyone who follows the run, here at once and elsewhere soon. Never waits."""
        self._here.publish(run_id, item)

    @contextmanager
    def listen(self, run_id: str, listener: Listener) -> Iterator[Channel]:
        """Follow a run for the length of the block, wherever it is driven."""
        try:
            with self._here.listen(run_id, listener) as channel:
                self._ear.reconsider(run_id)
                yield channel
        finally:
            self._ear.reconsider(run_id)

    def followed(self, run_id: str) -> bool:
        """Whether anyone follows the run here."""
        return self._here.followed(run_id)

    async def company(self, run_id: str) -> None:
        """Return when someone follows the run, here or elsewhere, or when the feed is closed."""
        here = asyncio.create_task(self._here.company(run_id))
        try:
            # Redis is not asked at once: for a moment it counts those as well who have just left here.
            while not (await asyncio.wait({here}, timeout=ELSEWHERE))[0]:
                if await self._followed_elsewhere(run_id):
                    return
        finally:
            here.cancel()
            await asyncio.wait({here})

    def watch(self, lengths: Lengths) -> None:
        """Have the log looked at now and then: what Redis lost is found there."""
        self._here.watch(lengths)

    def close(self) -> None:
        """Let everyone who follows anything come to an end."""
        self._here.close()

    async def _followed_elsewhere(self, run_id: str) -> bool:
        try:
            async with asyncio.timeout(PATIENCE):
                [(_, instances)] = await self._link.client.pubsub_numsub(presence(run_id))
        except (RedisError, OSError, TimeoutError):
            return False
        return bool(instances)

    def _tell_elsewhere(self, run_id: str, frame: Frame) -> None:
        self._ear.ignore(run_id)
        self._outbox.put(run_id, frame)


@asynccontextmanager
async def redis_feed(url: str) -> AsyncIterator[RedisLiveFeed]:
    """A feed over the Redis at `url` for the length of the block. Raises `ConfigError` for a URL that is none."""
    feed = RedisLiveFeed(Link(url))
    async with feed.connected():
        yield feed
