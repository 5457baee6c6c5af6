"""One call's work on one connection: in a thread, within a time, and stopped at the database when nobody waits any more."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from zeno.core.errors import EffectUnknown, ToolFailed
from zeno.tools.builtin.sql.databases import Database
from zeno.tools.builtin.sql.session import NotReached, Session, StatementFailed
from zeno.tools.thread import in_thread

GRACE = 5.0
"""Seconds that a stopped statement has to end in."""

Result = TypeVar("Result")


class Errand:
    """Work to be done in a database within `seconds`. With `writes` it is committed at its end, unless it was stopped before.

    Whether the commit was begun is decided under a lock: from then on nobody stops it, and before it nothing lasts.
    """

    def __init__(self, database: Database, seconds: float, *, writes: bool = False) -> None:
        self._database = database
        self._seconds = seconds
        self._writes = writes
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._stopped = False
        self._committing = False

    async def run(self, work: Callable[[Session], Result]) -> Result:
        """Do it. Raises `ToolFailed` when it certainly changed nothing, and `EffectUnknown`."""
        job = in_thread(lambda: self._in_session(work), f"sql-{self._database.name}")
        job.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        try:
            await asyncio.wait({job}, timeout=self._seconds)
        finally:
            if not job.done():
                both: list[asyncio.Future[Any]] = [job, in_thread(self._stop, "sql-stop")]
                await asyncio.wait(both, timeout=GRACE)
        if job.done():
            return self._outcome(job)
        if not self._writes:
            raise ToolFailed(self._late("It was given up, as it does not let itself be stopped."), code="sql_timeout")
        raise EffectUnknown(
            self._late("It does not let itself be stopped, so whether it took effect is unknown: check before trying again."),
            code="sql_timeout",
        )

    def _outcome(self, job: "asyncio.Future[Result]") -> Result:
        """The result, also of work that ended well just when it was to be stopped."""
        try:
            return job.result()
        except StatementFailed as failure:
            said = self._database.safe(str(failure))[:1000].rstrip(".")
            if not failure.undone:
                raise EffectUnknown(
                    f"{self._database.name} did not confirm the change ({said}). Whether it took effect is unknown: check with "
                    f"sql_query before trying again.",
                    code="sql_unconfirmed",
                ) from None
            if isinstance(failure, NotReached):
                raise ToolFailed(
                    f"{self._database.name} cannot be reached: {said}. Nothing was carried out. Try again later; if it lasts, "
                    f"the operator must check its address.",
                    code="sql_unreachable",
                ) from None
            changed = " Nothing was changed." if self._writes else ""
            if self._stopped:
                raise ToolFailed(self._late(f"It was stopped.{changed} Narrow it down."), code="sql_timeout") from None
            raise ToolFailed(
                f"{self._database.name} refused the statement: {said}.{changed} Correct it; list_tables tells the columns.",
                code="sql_error",
            ) from None

    def _late(self, what: str) -> str:
        return f"The statement took longer than {self._seconds:g} seconds in {self._database.name}. {what}"

    def _in_session(self, work: Callable[[Session], Result]) -> Result:
        session = self._database.open(writes=self._writes, seconds=self._seconds)
        try:
            with self._lock:
                self._refuse_stopped()
                self._session = session
            result = work(session)
            if self._writes:
                with self._lock:
                    self._refuse_stopped()
                    self._committing = True
                session.commit()
            return result
        finally:
            with self._lock:
                self._session = None
            session.close()

    def _refuse_stopped(self) -> None:
        if self._stopped:
            raise StatementFailed("stopped")

    def _stop(self) -> None:
        with self._lock:
            self._stopped = not self._committing
            if self._session is not None and self._stopped:
                self._session.stop()
