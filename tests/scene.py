"""A test whose body is a coroutine."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import ParamSpec

P = ParamSpec("P")
BOUND = 120
"""Seconds that anything may take."""


def scene(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """A test whose body is a coroutine, run to its end within a bound."""

    @functools.wraps(test)
    def played(*args: P.args, **kwargs: P.kwargs) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(BOUND):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return played
