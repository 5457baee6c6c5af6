"""Driving a run: fold the log, turn commands into events, let the loop go on, write each event before it does.

Knows the life of a run and nothing of what models and tools do. Whatever happens to this process, the log is right: another
driver folds it and goes on.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import assert_never

import structlog

from zeno.core import loop
from zeno.core.agents import AgentSpec
from zeno.core.commands import Cancel, Command, Decide, Say
from zeno.core.decisions import Answered, Denied
from zeno.core.endings import Ending
from zeno.core.errors import Conflict, ModelRefused, RunError, RunLost, StoreUnavailable, WrittenByNewer, ZenoError
from zeno.core.events import (
    ApprovalDecided,
    CancelRequested,
    Event,
    ModelReplied,
    RunStarted,
    ToolFinished,
    UserSaid,
)
from zeno.core.kit import Kit
from zeno.core.messages import Message, TextPart
from zeno.core.policy import Policy
from zeno.core.ports import Answer, Delta, ToolSpec
from zeno.core.scope import Scope
from zeno.core.state import Held, RunState, apply, fold
from zeno.runs.clock import now
from zeno.runs.owner import is_dead, this_process
from zeno.runs.pulse import HEARTBEAT, LEASE, Beat, Pulse
from zeno.stores.approvals import Approvals
from zeno.stores.event_log import EventLog, Record
from zeno.stores.inbox import Inbox
from zeno.stores.leases import Lease, Leases
from zeno.stores.projections import CommandsWaiting
from zeno.stores.runs import Run

Tell = Callable[[Record | Delta], None]
Witness = Callable[[Run, Record], None]
"""Told of each record after it was written. Must neither wait nor raise."""
Equip = Callable[[Run, Lease], Awaitable[Kit]]
Permit = Callable[[Scope, AgentSpec, tuple[Message, ...]], Awaitable[Policy]]
Pending = Sequence[tuple[int, Command]]

log = structlog.get_logger("zeno.runs")


@dataclass
class Book:
    """The open page of a run's log: the only way to write, which keeps the state in step with what is written."""

    log: EventLog
    run: Run
    lease: Lease
    beat: Beat
    tell: Tell
    seq: int = 0
    state: RunState = field(default_factory=RunState)
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    steered: bool = False
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    witnesses: Sequence[Witness] = ()

    @property
    def over(self) -> bool:
        """Whether the run has ended; one that is paused has not."""
        return self.state.ending not in (None, "awaiting_approval")

    @property
    def at_work(self) -> bool:
        """Whether a tool is at work that had better finish: it could not simply be called again."""
        begun = [self.tools.get(call.name) for call in self.state.open_calls if call.id in self.state.started]
        return any(spec is not None and not spec.may_run_again for spec in begun)

    def interruptible(self, last: Event, *, halting: bool) -> bool:
        """Whether to stop behind this event: for the user's words when all calls have results, for a halt as soon as can be."""
        steered = self.steered and not self.state.open_calls and isinstance(last, ModelReplied | ToolFinished)
        return steered or (halting and not self.at_work)

    async def open(self) -> None:
        """Read what was written so far."""
        records = await self.log.read(self.run.scope, self.run.id)
        self.seq = len(records)
        self.state = fold(record.event for record in records)

    async def write(self, events: list[Event], absorbed: list[int] | None = None) -> None:
        """Write, then tell.

        Raises `RunLost` when another driver has written and `CommandsWaiting` when an end is not due yet; the events have not
        happened then.
        """
        async with self.writing:
            records = [Record(self.seq + number, now(), event) for number, event in enumerate(events, 1)]
            await self.log.append(self.lease, records, absorbed or ())
            self.seq += len(records)
            for record in records:
                self.state = apply(self.state, record.event)
                self.tell(record)
                for witness in self.witnesses:
                    witness(self.run, record)


@dataclass(frozen=True, kw_only=True)
class Driver:
    """Drives runs of one process. `equip` makes the kit of a run, `permit` says anew what it may do."""

    leases: Leases
    log: EventLog
    inbox: Inbox
    approvals: Approvals
    equip: Equip
    permit: Permit
    pulse: Pulse
    halting: asyncio.Event = field(default_factory=asyncio.Event)
    witnesses: list[Witness] = field(default_factory=list)

    def halt(self) -> None:
        """Have every run stop where it can be taken up again: at once, but for tools at work, which may finish."""
        self.halting.set()
        self.pulse.ring_all()

    async def drive(self, run: Run, tell: Tell) -> RunState:
        """Go on with a run until it ends or pauses, telling each event after it was written and each delta as it comes.

        Raises `Conflict` when another living driver has the run or an earlier one of its session is open, and `RunLost` when
        another takes it over.
        """
        async with self._leased(run, tell) as book:
            if not book.over:
                # What has come to a run that has begun is told before anything else is made ready for it.
                kit = None if book.seq else await self.equip(run, book.lease)
                while not self.halting.is_set() and await self._absorb(run, kit, book):
                    # Anew each time: a rule may have come with what was absorbed.
                    kit = await self.equip(run, book.lease) if kit is None else await self._permitted(kit, run)
                    book.tools = kit.policy.tools
                    await self._work(kit, book)
                log.info("run_settled", ending=book.state.ending, steps=book.state.step, events=book.seq)
            return book.state

    async def fail(self, run: Run, tell: Tell, error: ZenoError) -> None:
        """End a run that cannot be driven at all, as when its model is gone from the settings."""
        async with self._leased(run, tell) as book:
            if not book.over:
                await self._end(book, "failed", error.code, **error.params)

    async def withdraw(self, run: Run, tell: Tell) -> None:
        """End a run that was cancelled before its turn came, without waiting for it. Raises as `drive` does."""
        async with self._leased(run, tell, in_turn=False) as book:
            if book.seq == 0 and any(isinstance(command, Cancel) for _, command in await self.inbox.pending(run.id)):
                await self._end(book, "cancelled", "cancelled")

    async def _end(self, book: Book, ending: Ending, code: str, **params: str | int) -> None:
        """End a run that the loop cannot end; what has come for it is told first."""
        pending = await self.inbox.pending(book.run.id)
        told = [_happened(command) for _, command in pending]
        end = loop.ended(fold(told, book.state), ending, code, **params)
        await book.write([*told, end], [number for number, _ in pending])

    @asynccontextmanager
    async def _leased(self, run: Run, tell: Tell, *, in_turn: bool = True) -> AsyncIterator[Book]:
        owner = this_process()
        lease = await self.leases.take(run.id, owner, now=now(), duration=LEASE, is_dead=is_dead, in_turn=in_turn)
        try:
            with structlog.contextvars.bound_contextvars(trace_id=run.id), self.pulse.keeping(lease) as beat:
                book = Book(self.log, run, lease, beat, tell, witnesses=self.witnesses)
                await book.open()
                yield book
        finally:
            # Also when this task is being cancelled: the next driver should not have to wait for the lease to expire.
            await asyncio.shield(self.leases.release(lease))

    async def _absorb(self, run: Run, kit: Kit | None, book: Book) -> bool:
        """Turn the commands in the inbox into events; whether there is anything to do then.

        What the user says waits until the open calls have their results, and withdraws those that wait for a person.
        """
        if book.over:
            return False
        pending = await self.inbox.pending(run.id)
        if _undecided(book, pending):
            await self.approvals.expire(now())
            pending = await self.inbox.pending(run.id)
        if any(isinstance(command, Say) for _, command in pending) and await self._withdraw(run, book, pending):
            pending = await self.inbox.pending(run.id)
        taken = [(number, c) for number, c in pending if not (isinstance(c, Say) and book.state.open_calls)]
        # Words that have to wait are heard before the model is asked again.
        book.steered = len(taken) < len(pending)
        events: list[Event] = [] if book.seq or kit is None else [_started(run, kit)]
        events += [_happened(command) for _, command in taken]
        if events:
            await book.write(events, [number for number, _ in taken])
        return book.state.ending is None

    async def _withdraw(self, run: Run, book: Book, pending: Pending) -> bool:
        """Words in place of a decision: an answer to a question, and a no to everything else."""
        words = "\n".join(command.text for _, command in pending if isinstance(command, Say))
        waiting = _undecided(book, pending)
        for held in waiting:
            decision = Answered(Answer(text=words)) if held.cause == "question" else Denied(words)
            with contextlib.suppress(Conflict):
                found = await self.approvals.find(run.scope, held.approval_id, admin=True)
                await self.approvals.decide(run.scope, found, decision, now=now(), admin=True)
        return bool(waiting)

    async def _work(self, kit: Kit, book: Book) -> None:
        """Let the loop go on until it ends or pauses, or until a command interrupts it."""
        work = asyncio.create_task(self._tell_all(kit, book))
        watch = asyncio.create_task(self._watch(book))
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

    async def _tell_all(self, kit: Kit, book: Book) -> None:
        """Write what the loop tells. What ends a run from outside the loop is told here as well."""
        with contextlib.suppress(CommandsWaiting):
            try:
                while await self._tell_some(kit, book):
                    # A rule may have come while the model thought.
                    kit = await self._permitted(kit, book.run)
            except RunError as error:
                log.warning("run_failed", code=error.code, **error.params)
                await book.write([loop.ended(book.state, _ending(error), error.code, **error.params)])
            except (RunLost, CommandsWaiting, StoreUnavailable, WrittenByNewer):
                raise
            except Exception as error:
                # A fault of ours or of the machine. The user learns that the run is over; the log keeps what happened.
                log.exception("run_broken")
                await book.write([loop.ended(book.state, "failed", "internal_error", kind=type(error).__name__)])

    async def _tell_some(self, kit: Kit, book: Book) -> bool:
        """Let the loop go on up to calls that are to be judged; whether to go on with them, by the rules as they are then."""
        async with aclosing(loop.run(book.state, kit)) as told:
            async for item in told:
                if isinstance(item, Delta):
                    book.tell(item)
                    continue
                await book.write([item])
                if book.interruptible(item, halting=self.halting.is_set()):
                    return False
                if isinstance(item, ModelReplied) and book.state.open_calls:
                    return True
        return False

    async def _permitted(self, kit: Kit, run: Run) -> Kit:
        """The kit by the rules as they are now."""
        return replace(kit, policy=await self.permit(run.scope, run.agent, kit.history))

    async def _watch(self, book: Book) -> None:
        """Return when a command in the inbox asks the run to stop, note when one brings words.

        Raises `RunLost` when the lease could not be kept.
        """
        beat = book.beat
        while not beat.lost:
            beat.bell.clear()
            commands = await self._heard(book.run.id)
            halted = self.halting.is_set() and not book.at_work
            if halted or any(isinstance(command, Cancel) for command in commands or ()):
                return
            if commands is not None:
                book.steered = bool(commands)
            # Without a bound of its own: the pulse rings once a second where anything waits.
            await beat.bell.wait()
        raise RunLost("run_lost", run=book.run.id)

    async def _heard(self, run_id: str) -> list[Command] | None:
        """The commands in the inbox, `None` when the database does not answer: what the pulse says must be heard even then."""
        try:
            async with asyncio.timeout(HEARTBEAT):
                return [command for _, command in await self.inbox.pending(run_id)]
        except (StoreUnavailable, TimeoutError):
            return None


def _undecided(book: Book, pending: Pending) -> list[Held]:
    """What a person is still waited for about."""
    decided = {command.approval_id for _, command in pending if isinstance(command, Decide)}
    return [held for held in book.state.held.values() if held.decision is None and held.approval_id not in decided]


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
        case Decide(approval_id, decision, by):
            return ApprovalDecided(approval_id, decision, by)
        case unknown:
            assert_never(unknown)
