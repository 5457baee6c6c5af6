"""The pulse of a process: one heartbeat for all the runs that it drives, however many they are.

Once a second the inbox is asked for whom something lies there, and now and then all leases are renewed, each with one
statement. A process that cannot renew them any more gives its runs up before others may take them.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog

from zeno.runs.clock import now
from zeno.stores.inbox import Inbox
from zeno.stores.leases import Lease, Leases

LEASE = 10_000
"""How long a lease holds without renewal, in milliseconds."""

HEARTBEAT = 1.0
"""How often, in seconds, the inbox is looked into when nothing rings."""

log = structlog.get_logger("zeno.runs")


@dataclass(eq=False)
class Beat:
    """The pulse of one run: `bell` says that it should look around, `lost` that it is no longer its driver's."""

    lease: Lease
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    lost: bool = False


@dataclass(kw_only=True)
class Pulse:
    """Keeps the leases of one process and listens for its runs."""

    leases: Leases
    inbox: Inbox
    failures: int = 0
    """Heartbeats that failed so far."""
    _beats: dict[str, Beat] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None

    @property
    def at_work(self) -> int:
        """How many runs are driven here."""
        return len(self._beats)

    @contextmanager
    def keeping(self, lease: Lease) -> Iterator[Beat]:
        """Keep a lease for the length of the block."""
        beat = self._beats[lease.run_id] = Beat(lease)
        if self._task is None:
            self._task = asyncio.create_task(self._go_on(), name="pulse")
        try:
            yield beat
        finally:
            del self._beats[lease.run_id]
            if not self._beats and self._task is not None:
                self._task.cancel()
                self._task = None

    def ring(self, run_id: str) -> bool:
        """Have a run look around; whether it is driven here."""
        beat = self._beats.get(run_id)
        if beat is not None:
            beat.bell.set()
        return beat is not None

    def ring_all(self) -> None:
        """Have every run look around."""
        for beat in self._beats.values():
            beat.bell.set()

    async def _go_on(self) -> None:
        renewed = now()
        while True:
            await asyncio.sleep(HEARTBEAT)
            due = now() - renewed > LEASE // 4
            try:
                # A database that does not answer is as good as none.
                async with asyncio.timeout(LEASE / 4000):
                    for run_id in await self.inbox.waiting() & self._beats.keys():
                        self.ring(run_id)
                    if due:
                        began = now()
                        await self._renew()
                        renewed = began
            except Exception:
                self.failures += 1
                log.exception("heartbeat_failed")
                if now() - renewed > LEASE * 3 // 4:
                    self._lose(set())

    async def _renew(self) -> None:
        beats = [beat.lease for beat in self._beats.values()]
        held = await self.leases.renew(beats, now=now(), duration=LEASE)
        self._lose(held | (self._beats.keys() - {lease.run_id for lease in beats}))

    def _lose(self, held: set[str]) -> None:
        for run_id, beat in self._beats.items():
            if run_id not in held:
                beat.lost = True
                beat.bell.set()
