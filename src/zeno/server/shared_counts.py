"""How often who has asked, counted in Redis for all instances together.

While Redis is away each instance counts for itself. Not to count would let passwords be guessed as fast as can be, and to
refuse would make Redis what the service stands and falls with; so a limit is at worst multiplied by the number of instances.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

import structlog
from limits.aio.storage import MemoryStorage, RedisStorage, Storage
from redis.exceptions import RedisError

from zeno.runs.redis_link import Link

PATIENCE = 0.25
"""Seconds that a request waits for Redis."""

AWAY = 5.0
"""Seconds for which Redis is not asked after it did not answer."""

log = structlog.get_logger("zeno.redis")

T = TypeVar("T")

Unreachable = (RedisError, OSError, TimeoutError)


class SharedCounts(Storage):
    """Counts in Redis, and in this process's memory while Redis is away."""

    STORAGE_SCHEME = None

    def __init__(self, link: Link) -> None:
        super().__init__()
        # The address and its secrets stay with the link; this storage is given the connections.
        pool = cast(Any, link.client.connection_pool)
        self._shared = RedisStorage("async+redis://", implementation="redispy", key_prefix="zeno:counts", connection_pool=pool)
        self._own = MemoryStorage()
        self._where = link.where
        self._asked_again_at = 0.0
        self._away = False

    @property
    def base_exceptions(self) -> type[Exception] | tuple[type[Exception], ...]:
        """What Redis may raise; none of it leaves this room."""
        return Unreachable

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count; how often it was counted within `expiry` seconds."""
        return await self._either(lambda counts: counts.incr(key, expiry, amount))

    async def get(self, key: str) -> int:
        """How often it was counted."""
        return await self._either(lambda counts: counts.get(key))

    async def get_expiry(self, key: str) -> float:
        """When counting begins anew, in seconds since 1970."""
        return await self._either(lambda counts: counts.get_expiry(key))

    async def check(self) -> bool:
        """Whether Redis answers."""
        return await self._shared.check()

    async def reset(self) -> int | None:
        """Forget all counts."""
        return await self._either(lambda counts: counts.reset())

    async def clear(self, key: str) -> None:
        """Forget one count."""
        await self._either(lambda counts: counts.clear(key))

    async def _either(self, ask: Callable[[Storage], Awaitable[T]]) -> T:
        loop = asyncio.get_running_loop()
        if loop.time() >= self._asked_again_at:
            try:
                async with asyncio.timeout(PATIENCE):
                    answer = await ask(self._shared)
            except Unreachable as error:
                self._asked_again_at = loop.time() + AWAY
                if not self._away:
                    log.warning("redis_away", where=self._where, kind=type(error).__name__, counting="each instance")
                self._away = True
            else:
                self._away = False
                return answer
        return await ask(self._own)


@asynccontextmanager
async def shared_counts(url: str) -> AsyncIterator[SharedCounts]:
    """Counts in the Redis at `url` for the length of the block. Raises `ConfigError` for a URL that is none."""
    link = Link(url)
    try:
        yield SharedCounts(link)
    finally:
        await link.close()
