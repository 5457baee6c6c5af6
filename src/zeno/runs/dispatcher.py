"""Who drives which run. Here: this process, as tasks of its own; `zeno.runs.jobs` has the one for many processes.

A wake-up is only a hint; once a second the database itself is asked what is to be done, so a lost hint costs a second and a
process that died loses nothing.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import structlog

from zeno.runs.clock import now
from zeno.runs.drive import Driver
from zeno.runs.feed import LiveFeed
from zeno.runs.owner import is_dead
from zeno.runs.session_runner import SessionRunner, old_enough
from zeno.stores.approvals import Approvals
from zeno.stores.runs import Runs

SWEEP = 1.0
"""How often, in seconds, the database is asked what is to be done."""

log = structlog.get_logger("zeno.runs")


class Dispatcher(Protocol):
    """Sees to it that what is to be driven is driven, by somebody."""

    async def wake(self, run_id: str, session_id: str) -> None:
        """Say that there is something to be done in a run; the command for it is in the inbox."""
        ...

    def dispatching(self) -> AbstractAsyncContextManager[None]:
        """Have what is due driven until the block is left; what is driven here stops where it can be taken up again then."""
        ...


@dataclass(kw_only=True)
class AsyncioDispatcher:
    """Drives runs as tasks of this process, at most `most` at once."""

    driver: Driver
    runs: Runs
    approvals: Approvals
    feed: LiveFeed
    most: int

    def __post_init__(self) -> None:
        self._runner = SessionRunner(driver=self.driver, runs=self.runs, feed=self.feed, most=self.most)

    async def wake(self, run_id: str, session_id: str) -> None:
        """Say that there is something to be done in a run."""
        # Noted also when it rings: the run may be on its way out, and hear the bell no more.
        self._runner.note(session_id)
        if not self.driver.pulse.ring(run_id):
            self._runner.take_up(session_id)

    @asynccontextmanager
    async def dispatching(self) -> AsyncIterator[None]:
        """Drive what is to be driven until the block is left; then stop where every run can be taken up again."""
        await self._sweep(older_than=now() + 1)
        sweeping = asyncio.create_task(self._sweep_on())
        try:
            yield
        finally:
            sweeping.cancel()
            await self._runner.stop()
            await asyncio.gather(sweeping, return_exceptions=True)

    async def _sweep_on(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            try:
                await self._sweep(older_than=old_enough())
            except Exception:
                log.exception("sweep_failed")

    async def _sweep(self, older_than: int) -> None:
        await self.approvals.expire(now())
        for stranded in await self.runs.stranded(older_than=older_than, now=now()):
            if not self._runner.at_work(stranded.session_id) and (not stranded.leased or is_dead(stranded.owner or "")):
                await self.wake(stranded.id, stranded.session_id)
