"""Serving: one process that listens, answers, drives runs, and stops so that every run can be taken up again."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext

import uvicorn
from starlette.types import ASGIApp

from zeno.app import App
from zeno.core.errors import ConfigError
from zeno.server.application import application
from zeno.server.metrics import Metrics

BACKLOG = 2048
"""Connections that may wait to be taken."""

LEAVE = 5
"""Seconds that answers may take once the process is to end."""


async def serving(app: App, host: str, port: int, announce: Callable[[int], None]) -> None:
    """Serve until the process is told to end; the second time it is told, it ends at once.

    `announce` is called with the port as soon as connections are taken. Raises `ConfigError` when that address cannot be had.
    """
    async with AsyncExitStack() as closing:
        counts, figures = None, Metrics(app)
        await closing.enter_async_context(figures.measuring())
        if app.settings.redis_url is not None:
            from zeno.server.shared_counts import shared_counts

            counts = await closing.enter_async_context(shared_counts(app.settings.redis_url.get_secret_value()))
        await _serve(app, application(app, counts, figures), listening(host, port), announce)


async def _serve(app: App, asgi: ASGIApp, listener: socket.socket, announce: Callable[[int], None]) -> None:
    config = uvicorn.Config(
        asgi,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        # Whose word counts on where a request comes from is settled by the application.
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=LEAVE,
        backlog=BACKLOG,
    )
    server = _Server(config, lambda: announce(listener.getsockname()[1]))
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, _told_to_end, app, server, number)
    try:
        await server.serve(sockets=[listener])
    finally:
        app.feed.close()
        listener.close()


def listening(host: str, port: int) -> socket.socket:
    """A socket that is bound there. Raises `ConfigError`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError):
        raise ConfigError("host_unknown", host=host) from None
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise ConfigError("address_unavailable", host=host, port=port, reason=error.strerror or "") from None
    return listener


class _Server(uvicorn.Server):
    """The server, which says when it takes connections and leaves signals to us."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()


def _told_to_end(app: App, server: uvicorn.Server, number: int) -> None:
    if server.should_exit:
        # Said twice: whoever waits has no patience left. What is in the log stays right.
        os._exit(128 + number)
    server.should_exit = True
    app.feed.close()
