"""Driving a run: fold the log, turn commands into events, let the loop go on, write each event before it does.

Knows the life of a run and nothing of what models and tools do. Whatever happens to this process, the log is right: another
driver folds it and goes on.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import assert_never

import structlog

from zeno.core import loop
from zeno.core.commands import Cancel, Command, Say
from zeno.core.endings import Ending
from zeno.core.errors import ModelRefused, RunError, RunLost
from zeno.core.events import CancelRequested, Event, RunStarted, UserSaid
from zeno.core.kit import Kit
from zeno.core.messages import TextPart
from zeno.core.ports import Delta
from zeno.core.state import RunState, apply, fold
from zeno.runs.clock import now
from zeno.runs.owner import is_dead, this_process
from zeno.stores.event_log import EventLog, Record
from zeno.stores.inbox import Inbox
from zeno.stores.leases import Lease, Leases
from zeno.stores.runs import Run

LEASE = 10_000
"""How long a lease holds without renewal, in milliseconds."""

HEARTBEAT = 1.0
"""How often, in seconds, a driver renews its lease and looks into the inbox when nothing rings."""

Tell = Callable[[Record | Delta], None]
Equip = Callable[[Run], Awaitable[Kit]]

log = structlog.get_logger("zeno.runs")


@dataclass
class Book:
    """The open page of a run's log: the only way to write, which keeps the state in step with what is written."""

    log: EventLog
    lease: Lease
    tell: Tell
    seq: int = 0
    state: RunState = field(default_factory=RunState)
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def open(self) -> None:
        """Read what was written so far."""
        records = await self.log.read(self.lease.run_id)
        self.seq = len(records)
        self.state = fold(record.event for record in records)

    async def write(self, events: list[Event], absorbed: list[int] | None = None) -> None:
        """Write, then tell. Raises `RunLost` when another driver has written; the events have not happened then."""
        async with self.writing:
            records = [Record(self.seq + number, now(), event) for number, event in enumerate(events, 1)]
            await self.log.append(self.lease, records, absorbed or ())
            self.seq += len(records)
            for record in records:
                self.state = apply(self.state, record.event)
                self.tell(record)


@dataclass(frozen=True, kw_only=True)
class Driver:
    """Drives runs of one process. `equip` makes the kit of a run."""

    leases: Leases
    log: EventLog
    inbox: Inbox
    equip: Equip
    bells: dict[str, asyncio.Event] = field(default_factory=dict)

    def ring(self, run_id: str) -> None:
        """Say that something lies in the run's inbox. Only a hint: the driver looks by itself as well."""
        if bell := self.bells.get(run_id):
            bell.set()

    async def drive(self, run: Run, tell: Tell) -> RunState:
        """Go on with a run until it ends, telling each event after it was written and each delta as it comes.

        Raises `Conflict` when another living driver has the run and `RunLost` when one takes it over.
        """
        holder = await self.leases.holder(run.id)
        dead = holder if holder and is_dead(holder) else None
        lease = await self.leases.take(run.id, this_process(), now=now(), duration=LEASE, from_dead=dead)
        try:
            with structlog.contextvars.bound_contextvars(trace_id=run.id):
                return await self._go_on(run, Book(self.log, lease, tell))
        finally:
            await self.leases.release(lease)

    async def _go_on(self, run: Run, book: Book) -> RunState:
        await book.open()
        if book.state.ending is None:
            kit = await self.equip(run)
            while book.state.ending is None:
                await self._absorb(run, kit, book)
                await self._work(kit, book)
        return book.state

    async def _absorb(self, run: Run, kit: Kit, book: Book) -> None:
        """Turn the commands in the inbox into events."""
        pending = await self.inbox.pending(run.id)
        events: list[Event] = [] if book.seq else [_started(run, kit)]
        events += [_happened(command) for _, command in pending]
        if events:
            await book.write(events, [number for number, _ in pending])

    async def _work(self, kit: Kit, book: Book) -> None:
        """Let the loop go on until it ends, or until a command interrupts it."""
        work = asyncio.create_task(_tell_all(kit, book))
        watch = asyncio.create_task(self._watch(book.lease))
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            watch.cancel()
            # Not in the middle of a write: then nobody could say whether the event is in the log.
            async with book.writing:
                work.cancel()
            await asyncio.wait({work, watch})
        for task in (watch, work):
            if not task.cancelled():
                task.result()

    async def _watch(self, lease: Lease) -> None:
        """Keep the lease; return when a command in the inbox asks the run to stop."""
        bell = self.bells.setdefault(lease.run_id, asyncio.Event())
        renewed = now()
        try:
            while not any(isinstance(command, Cancel) for _, command in await self.inbox.pending(lease.run_id)):
                if now() - renewed > LEASE // 3:
                    await self.leases.renew(lease, now=now(), duration=LEASE)
                    renewed = now()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(bell.wait(), HEARTBEAT)
                bell.clear()
        finally:
            del self.bells[lease.run_id]


async def _tell_all(kit: Kit, book: Book) -> None:
    """Write what the loop tells. What ends a run from outside the loop is told here as well."""
    try:
        async with aclosing(loop.run(book.state, kit)) as told:
            async for item in told:
                if isinstance(item, Delta):
                    book.tell(item)
                else:
                    await book.write([item])
    except RunError as error:
        log.warning("run_failed", code=error.code, **error.params)
        await book.write([loop.ended(book.state, _ending(error), error.code, **error.params)])
    except RunLost:
        raise
    except Exception as error:
        # A fault of ours or of the machine. The user learns that the run is over; the log keeps what happened.
        log.exception("run_broken")
        await book.write([loop.ended(book.state, "failed", "internal_error", kind=type(error).__name__)])


def _ending(error: RunError) -> Ending:
    if isinstance(error, ModelRefused):
        return "declined"
    return "context_exhausted" if error.code == "context_exceeded" else "model_failed"


def _started(run: Run, kit: Kit) -> RunStarted:
    return RunStarted(run.agent.name, run.agent.model, run.agent.max_steps, tuple(kit.tools))


def _happened(command: Command) -> Event:
    match command:
        case Say(text, files):
            return UserSaid((TextPart(text), *files))
        case Cancel():
            return CancelRequested()
        case unknown:
            assert_never(unknown)
