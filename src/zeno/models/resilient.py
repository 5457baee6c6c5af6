"""Patience with models: the same one again after a pause, or the next one. It knows no provider.

Both give up only what nobody has seen: once a piece of the reply was told, an error passes through.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass

from zeno.core.errors import ModelUnavailable
from zeno.core.ports import Delta, ModelClient, ModelRequest, Reply, RetryDelta

LONGEST_PAUSE = 60.0
"""Seconds; a provider that asks for more is obeyed only so far."""


@dataclass(frozen=True)
class Retrying:
    """Asks `client` up to `attempts` times while the error says that this may help.

    It waits as long as the provider asks, else exponentially longer with full jitter (AWS Architecture Blog, "Exponential
    Backoff And Jitter"): `jitter` gives a pause between its two arguments, in seconds. Each pause is told before it begins.
    """

    client: ModelClient
    _: KW_ONLY
    attempts: int = 3
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[float, float], float] = random.uniform
    first_pause: float = 1.0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """The reply of the first attempt that begins. Raises what the last one raised."""
        for attempt in range(self.attempts):
            begun = False
            try:
                async with aclosing(self.client.stream(request)) as items:
                    async for item in items:
                        begun = begun or not isinstance(item, RetryDelta)
                        yield item
                return
            except ModelUnavailable as error:
                if begun or not error.retryable or attempt + 1 >= self.attempts:
                    raise
                pause, code = error.retry_after, error.code
            if pause is None:
                pause = self.jitter(0.0, self.first_pause * 2**attempt)
            pause = min(pause, LONGEST_PAUSE)
            yield RetryDelta(attempt + 2, self.attempts, pause, code)
            await self.sleep(pause)


@dataclass(frozen=True)
class Fallback:
    """Asks the first of `clients`, and the next one when it cannot be had."""

    clients: Sequence[ModelClient]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """The reply of the first client that begins one. Raises what the last one raised."""
        for place, client in enumerate(self.clients, 1):
            begun = False
            try:
                async with aclosing(client.stream(request)) as items:
                    async for item in items:
                        begun = begun or not isinstance(item, RetryDelta)
                        yield item
                return
            except ModelUnavailable:
                if begun or place == len(self.clients):
                    raise
