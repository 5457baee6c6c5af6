"""Patience: how long a body may keep its reader waiting. It knows nothing of what is in it."""

import asyncio

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STALL = 60.0
"""Seconds without a byte of the body after which a request is given up."""


class BodyPatience:
    """Gives up requests whose body stops coming. What comes behind the body, a caller's going, is waited for without end."""

    def __init__(self, app: ASGIApp, stall: float = STALL) -> None:
        self._app = app
        self._stall = stall

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        whole = False

        async def receiving() -> Message:
            nonlocal whole
            try:
                async with asyncio.timeout(None if whole else self._stall):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408) from None
            whole = not message.get("more_body", False)
            return message

        await self._app(scope, receiving, send)
