"""`zeno worker`: drives runs that servers were asked for, and answers nobody."""

import asyncio
import os
import signal
from contextlib import AbstractAsyncContextManager

from zeno.app import App, opened
from zeno.cli.edge import enter
from zeno.cli.logs import configure_service_logs
from zeno.core.errors import ConfigError
from zeno.settings import Settings


def work(requested: str | None, concurrency: int | None) -> int:
    """Drive runs until told to end, at most `concurrency` at once (`None`: as the settings say)."""

    def opening(settings: Settings) -> AbstractAsyncContextManager[App]:
        given = {"worker": True} | ({"max_runs": concurrency} if concurrency is not None else {})
        return _opened(settings.model_copy(update=given))

    return enter(requested, _told_with_metrics, opening)


def _opened(settings: Settings) -> AbstractAsyncContextManager[App]:
    from zeno.stores.jobs import libpq_url

    if libpq_url(settings.database_url) is None:
        # The one process that may write to it drives as well.
        raise ConfigError("worker_needs_postgresql")
    configure_service_logs(settings)
    return opened(settings, serving=True)


async def _told_with_metrics(app: App, language: str) -> int:
    from zeno.server.metrics import Metrics

    port = app.settings.worker_metrics_port
    if port is None:
        return await _until_told(app, language)
    async with Metrics(app).exposed("0.0.0.0", port):  # noqa: S104 - a port of its own, which the operator asked for
        return await _until_told(app, language)


async def _until_told(_app: App, _language: str) -> int:
    """Wait for a signal. The block that this is left for drains; told once more, it ends at once."""
    told = asyncio.Event()

    def hear(number: int) -> None:
        if told.is_set():
            os._exit(128 + number)
        told.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, hear, number)
    # Without a bound: this is what it is for.
    await told.wait()
    return 0
