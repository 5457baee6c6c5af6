"""The house within this process: one instance, or as many as the test at work is to have, of which any may get a request."""

import os
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
from starlette.types import ASGIApp

from tests import databases
from zeno.app import App, opened
from zeno.server.application import application
from zeno.settings import Settings


def placed() -> dict[str, Any]:
    """The settings by which a house uses the database of the test at work, and Redis where several share it."""
    if not databases.current:
        return {}
    redis = os.environ.get("ZENO_TEST_REDIS") if databases.instances[-1] > 1 else None
    return {"database_url": databases.current[-1]} | ({"redis_url": redis} if redis else {})


@asynccontextmanager
async def instances(settings: Settings, *, serving: bool = True) -> AsyncIterator[list[App]]:
    """The instances, open, for the length of the block."""
    async with AsyncExitStack() as closing:
        count = databases.instances[-1] if databases.instances else 1
        yield [await closing.enter_async_context(opened(settings, serving=serving)) for _ in range(count)]


def doors(apps: Sequence[App]) -> list[ASGIApp]:
    """What answers for each of them."""
    return [application(app) for app in apps]


class AnyInstance(httpx2.AsyncBaseTransport):
    """Takes each request to one of several instances, whichever it happens to be."""

    def __init__(self, asgi: Sequence[ASGIApp], address: str = "127.0.0.1") -> None:
        self._doors = [httpx2.ASGITransport(app=each, client=(address, 4711)) for each in asgi]
        self._chance = random.Random(0)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self._chance.choice(self._doors).handle_async_request(request)
