"""Work that goes on beside a block and ends with it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager


@asynccontextmanager
async def beside(work: Coroutine[None, None, None], name: str) -> AsyncIterator[None]:
    """Have endless work done as a task of this name until the block is left."""
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
