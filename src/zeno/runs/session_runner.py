"""The runs of a session, one behind the other: one task per session at work, whoever said that there is something to be done.

Knows runs and their driver. Whatever is heard twice or late does no harm: the database says what is due, the lease who may.
"""

import asyncio
import functools
from contextvars import Context
from dataclasses import dataclass, field

import structlog

from zeno.core.errors import ConfigError, Conflict, RunLost, WrittenByNewer
from zeno.runs.clock import now
from zeno.runs.drive import Driver
from zeno.runs.feed import LiveFeed
from zeno.stores.runs import Run, Runs

DRAIN = 10.0
"""How long, in seconds, tools at work may go on when the process is to end."""

YOUNG = 2_000
"""A run younger than this, in milliseconds, is left to whoever made it: the command line drives its own."""

log = structlog.get_logger("zeno.runs")


@dataclass(kw_only=True)
class SessionRunner:
    """Drives what is due in sessions, at most `most` runs at once."""

    driver: Driver
    runs: Runs
    feed: LiveFeed
    most: int
    _sessions: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _woken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._places = asyncio.Semaphore(self.most)

    @property
    def halting(self) -> bool:
        """Whether it is about to stop: nothing new is begun any more."""
        return self.driver.halting.is_set()

    def at_work(self, session_id: str) -> bool:
        """Whether the session has its task here."""
        return session_id in self._sessions

    def note(self, session_id: str) -> None:
        """Have a session that is at work here look once more before it leaves."""
        if session_id in self._sessions:
            self._woken.add(session_id)

    def take_up(self, session_id: str) -> asyncio.Task[None]:
        """Do what is due in a session: the task that does it, begun now or under way."""
        self._woken.add(session_id)
        if session_id not in self._sessions:
            # In a context of its own: the request that woke it is not what its log lines are about.
            work = asyncio.create_task(self._work(session_id), name=f"session {session_id}", context=Context())
            self._sessions[session_id] = work
        return self._sessions[session_id]

    async def stop(self) -> None:
        """Stop where every run can be taken up again: at once, but for tools at work, which have `DRAIN` seconds."""
        self.driver.halt()
        working = set(self._sessions.values())
        if working:
            _, working = await asyncio.wait(working, timeout=DRAIN)
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)

    async def _work(self, session_id: str) -> None:
        """The open runs of a session as long as there is something to be done in the first of them."""
        try:
            while session_id in self._woken:
                self._woken.discard(session_id)
                while (due := await self.runs.due(session_id)) and due[1] and not self.halting:
                    async with self._places:
                        if not await self._drive(due[0]):
                            return
        except WrittenByNewer as error:
            # Its own instances find it as well; until one does, it is looked at again with every sweep.
            log.warning("session_left_to_newer_release", session=session_id, **error.params)
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


def old_enough() -> int:
    """When a run must have been made to be nobody's own any more, in milliseconds since 1970-01-01 UTC."""
    return now() - YOUNG
