"""Who drives which run: one task per session at work, none for one that waits for a person or for its turn.

Knows runs and their driver. A wake-up is only a hint; once a second the database itself is asked what is to be done, so a lost
hint costs a second and a process that died loses nothing.
"""

import asyncio
import functools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass, field

import structlog

from zeno.core.errors import ConfigError, Conflict, RunLost
from zeno.runs.clock import now
from zeno.runs.drive import Driver
from zeno.runs.feed import LiveFeed
from zeno.runs.owner import is_dead
from zeno.stores.approvals import Approvals
from zeno.stores.runs import Run, Runs

SWEEP = 1.0
"""How often, in seconds, the database is asked what is to be done."""

YOUNG = 2_000
"""A run younger than this, in milliseconds, is left to whoever made it: the command line drives its own."""

DRAIN = 10.0
"""How long, in seconds, tools at work may go on when the process is to end."""

log = structlog.get_logger("zeno.runs")


@dataclass(kw_only=True)
class AsyncioDispatcher:
    """Drives runs as tasks of this process, at most `most` at once."""

    driver: Driver
    runs: Runs
    approvals: Approvals
    feed: LiveFeed
    most: int
    _sessions: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _woken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._places = asyncio.Semaphore(self.most)

    async def wake(self, run_id: str, session_id: str) -> None:
        """Say that there is something to be done in a run."""
        # Noted also when it rings: the run may be on its way out, and hear the bell no more.
        self._woken.add(session_id)
        if not self.driver.pulse.ring(run_id) and session_id not in self._sessions:
            # In a context of its own: the request that woke it is not what its log lines are about.
            work = asyncio.create_task(self._work(session_id), name=f"session {session_id}", context=Context())
            self._sessions[session_id] = work

    @asynccontextmanager
    async def dispatching(self) -> AsyncIterator[None]:
        """Drive what is to be driven until the block is left; then stop where every run can be taken up again."""
        await self._sweep(older_than=now() + 1)
        sweeping = asyncio.create_task(self._sweep_on())
        try:
            yield
        finally:
            sweeping.cancel()
            self.driver.halt()
            working = set(self._sessions.values())
            if working:
                _, working = await asyncio.wait(working, timeout=DRAIN)
            for task in working:
                task.cancel()
            await asyncio.gather(sweeping, *working, return_exceptions=True)

    async def _work(self, session_id: str) -> None:
        """The open runs of a session, one behind the other, as long as there is something to be done in the first of them."""
        try:
            while session_id in self._woken:
                self._woken.discard(session_id)
                while (due := await self.runs.due(session_id)) and due[1] and not self.driver.halting.is_set():
                    async with self._places:
                        if not await self._drive(due[0]):
                            return
        except Exception:
            # The database failed, say. The next sweep finds the run again.
            log.exception("dispatch_failed", session=session_id)
        finally:
            del self._sessions[session_id]

    async def _drive(self, run: Run) -> bool:
        """Drive one run; whether the session can go on with the next one."""
        tell = functools.partial(self.feed.publish, run.id)
        with self.feed.driving(run.id):
            try:
                await self.driver.drive(run, tell)
            except ConfigError as error:
                log.warning("run_undrivable", trace_id=run.id, code=error.code)
                await self.driver.fail(run, tell, error)
            except (Conflict, RunLost):
                # Somebody else drives it, or it has to wait for them.
                return False
        return True

    async def _sweep_on(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            try:
                await self._sweep(older_than=now() - YOUNG)
            except Exception:
                log.exception("sweep_failed")

    async def _sweep(self, older_than: int) -> None:
        await self.approvals.expire(now())
        for stranded in await self.runs.stranded(older_than=older_than, now=now()):
            if stranded.session_id not in self._sessions and (not stranded.leased or is_dead(stranded.owner or "")):
                await self.wake(stranded.id, stranded.session_id)
