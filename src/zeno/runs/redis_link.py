"""The way to Redis: connections that give up soon, and conversations that begin again by themselves whenever it went away.

Knows Redis and nothing of what is said. Redis is speed, never truth: nobody waits for it, and nothing fails with it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from zeno.core.errors import ConfigError

PATIENCE = 2.0
"""Seconds after which Redis is taken for gone when it does not answer."""

CHECK = 5.0
"""Seconds of silence after which Redis is asked whether it is there."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 3.0
"""Seconds between two attempts to reach it: twice as long each time."""

Well = Callable[[], None]
"""Called by a conversation when Redis was heard to answer."""

log = structlog.get_logger("zeno.redis")


class Link:
    """One Redis, as one process reaches it.

    Raises `ConfigError` for a URL that is none; that nobody answers there is no error.
    """

    def __init__(self, url: str) -> None:
        try:
            # One attempt each: what is to be said again is decided where it is known whether it still matters.
            self._pool = ConnectionPool.from_url(
                url,
                socket_connect_timeout=PATIENCE,
                socket_keepalive=True,
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError:
            raise ConfigError("redis_url_invalid") from None
        # Not for the URL to say. Who speaks sets the bounds: the library's own would now and then swallow a cancellation.
        self._pool.connection_kwargs.update(protocol=3, decode_responses=False, socket_timeout=None)
        self.client = Redis(connection_pool=self._pool)
        given = self._pool.connection_kwargs
        self.where = given.get("path") or f"{given.get('host', 'localhost')}:{given.get('port', 6379)}"
        """The address, without the secrets of the URL."""
        self._failing: set[str] = set()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AbstractConnection]:
        """A connection of one's own for the length of the block, for what is neither asked nor answered in turn."""
        made: AbstractConnection = self._pool.connection_class(**self._pool.connection_kwargs)
        try:
            async with asyncio.timeout(PATIENCE):
                await made.connect()  # type: ignore[no-untyped-call]
            yield made
        finally:
            await made.disconnect(nowait=True)

    @asynccontextmanager
    async def conversing(self, **conversations: Callable[[Well], Awaitable[None]]) -> AsyncIterator[None]:
        """Hold these conversations, none of which ends by itself, for the length of the block; then close the connections."""
        tasks = [asyncio.create_task(self._hold(name, talk), name=f"redis {name}") for name, talk in conversations.items()]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.close()

    async def ping(self) -> None:
        """Have Redis answer. Raises when it does not, soon."""
        async with asyncio.timeout(PATIENCE):
            await self.client.execute_command("PING")  # type: ignore[no-untyped-call]

    async def close(self) -> None:
        """Close the connections that nobody owns."""
        await self.client.aclose()
        await self._pool.disconnect()

    async def _hold(self, name: str, talk: Callable[[Well], Awaitable[None]]) -> None:
        pause = FIRST_PAUSE

        def well() -> None:
            nonlocal pause
            pause = FIRST_PAUSE
            self._back(name)

        while True:
            try:
                await talk(well)
            except (RedisError, OSError, TimeoutError) as error:
                self._away(name, error)
            except Exception:
                # A fault of ours must not end the conversation for good either.
                log.exception("redis_conversation_broken", conversation=name)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _away(self, name: str, error: Exception) -> None:
        """Say so once, whatever else fails with it. The error's own words may quote what was sent."""
        if not self._failing:
            log.warning("redis_away", where=self.where, kind=type(error).__name__)
        self._failing.add(name)

    def _back(self, name: str) -> None:
        if name in self._failing:
            self._failing.discard(name)
            if not self._failing:
                log.warning("redis_back", where=self.where)


async def said(connection: AbstractConnection) -> AsyncIterator[object]:
    """Whatever comes over a connection, for good. Raises `TimeoutError` when nothing does although it was asked for."""
    silent = False
    while True:
        reply = await connection.read_response(disable_decoding=True, timeout=CHECK, push_request=True)
        if reply is not None:
            silent = False
            if reply not in (b"PONG", "PONG"):
                yield reply
        elif silent:
            raise TimeoutError
        else:
            silent = True
            await connection.send_command("PING", check_health=False)
