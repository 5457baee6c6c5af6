"""Dispatch over many processes: procrastinate hands each session that was woken to one worker, on whatever machine.

Knows jobs, never what they are about: a job says that there may be something due in a session. Delivered twice, late or for
nothing, it does no harm: the lease says who may drive, the fence keeps the log right. So nothing of procrastinate's is truth.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import structlog

from zeno.runs.clock import now
from zeno.runs.drive import Driver
from zeno.runs.feed import LiveFeed
from zeno.runs.session_runner import DRAIN, SessionRunner, old_enough
from zeno.stores.approvals import Approvals
from zeno.stores.database import GONE
from zeno.stores.jobs import QUEUE, TASK, Jobs
from zeno.stores.runs import Runs

if TYPE_CHECKING:
    from procrastinate import App
    from psycopg import AsyncConnection

SWEEP = 2.0
"""How often, in seconds, what nobody has a job for is looked for, and the jobs of dead workers."""

POLL = 1.0
"""How often, in seconds, a worker asks for jobs when nothing rings."""

HEARTBEAT = 1.0
STALLED = 5.0
"""How often a worker says that it lives, and after how long without a word its jobs are given to others, in seconds."""

AGAIN = 1.0
"""Seconds before a worker that the database has failed begins anew."""

CONNECTIONS = 4
"""What a worker may use at once for its own housekeeping, besides the one that listens."""

log = structlog.get_logger("zeno.runs")


@dataclass(kw_only=True)
class ProcrastinateDispatcher:
    """Drives what jobs ask for, at most `most` runs at once; with `drives` unset it leaves that to other processes.

    `url` is a PostgreSQL URL as libpq reads it.
    """

    driver: Driver
    runs: Runs
    approvals: Approvals
    feed: LiveFeed
    jobs: Jobs
    most: int
    url: str = field(repr=False)
    drives: bool = True
    _leaving: bool = False

    def __post_init__(self) -> None:
        self._runner = SessionRunner(driver=self.driver, runs=self.runs, feed=self.feed, most=self.most)

    async def wake(self, run_id: str, session_id: str) -> None:
        """Say that there is something to be done in a run. Its job is there already: it came with the command."""
        self._runner.note(session_id)
        self.driver.pulse.ring(run_id)

    @asynccontextmanager
    async def dispatching(self) -> AsyncIterator[None]:
        """Write jobs, and do those that come, until the block is left.

        Runs that are driven here stop then where they can be taken up again, and other workers hear of them.
        """
        await self.jobs.install()
        if not self.drives:
            yield
            return
        working = asyncio.create_task(self._work_on(), name="worker")
        sweeping = asyncio.create_task(self._sweep_on(), name="sweep")
        try:
            yield
        finally:
            sweeping.cancel()
            # First no new jobs, then an end of those under way: what is handed over must not come back.
            self._leaving = True
            working.cancel()
            await self._runner.stop()
            while not working.done():
                # Said again where it went unheard, which a worker that is just beginning can do; not while it drains.
                await asyncio.wait({working}, timeout=DRAIN + STALLED)
                working.cancel()
            await asyncio.gather(working, sweeping, return_exceptions=True)

    async def drive_session(self, session_id: str) -> None:
        """The job: do what is due in a session, whoever asked for it and however often."""
        # Not awaited itself: a worker that has lost the database gives up its jobs, the run goes on as long as its lease does.
        await asyncio.wait({self._runner.take_up(session_id)})
        if self._runner.halting and (due := await self.runs.due(session_id)) and due[1]:
            await self.jobs.put([session_id])

    async def _work_on(self) -> None:
        app = self._app()
        while not self._leaving:
            try:
                async with AsyncExitStack() as closing:
                    # Also one that is cancelled while it opens: a pool that is still connecting would never end by itself.
                    closing.push_async_callback(app.close_async)
                    await app.open_async()
                    log.info("worker_started", most=self.most)
                    await app.run_worker_async()
                log.warning("worker_stopped")
            except Exception:
                log.exception("worker_failed")
            await asyncio.sleep(AGAIN)

    def _app(self) -> "App":
        from procrastinate import App, PsycopgConnector

        app = App(
            connector=PsycopgConnector(
                conninfo=self.url,
                min_size=1,
                max_size=CONNECTIONS,
                timeout=STALLED,
                # No word of a job's is waited for until it is on disk. What a crash of the database takes back was never true:
                # a job is handed out twice, which does no harm, or is still a dead worker's, which the sweep finds.
                kwargs=GONE | {"application_name": "zeno jobs", "options": "-c synchronous_commit=off"},
                configure=_one_by_one,
            ),
            worker_defaults={
                "name": "zeno",
                "queues": [QUEUE],
                "concurrency": self.most,
                "fetch_job_polling_interval": POLL,
                "update_heartbeat_interval": HEARTBEAT,
                # Longer than what may be at work is waited for.
                "shutdown_graceful_timeout": DRAIN + STALLED,
                # How a job ended says nothing: the log does.
                "delete_jobs": "always",
                "install_signal_handlers": False,
            },
        )
        app.task(name=TASK)(self.drive_session)
        return app

    async def _sweep_on(self) -> None:
        while True:
            try:
                await self.approvals.expire(now())
                found = await self.jobs.sweep(stalled_after=STALLED, older_than=old_enough(), now=now())
                if found:
                    log.info("sessions_found_again", sessions=found)
            except Exception:
                log.exception("sweep_failed")
            await asyncio.sleep(SWEEP)


async def _one_by_one(connection: "AsyncConnection[Any]") -> None:
    """All that procrastinate says is single statements: none needs the two journeys of a transaction around it."""
    await connection.set_autocommit(True)
