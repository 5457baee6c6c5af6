"""The pulse of a process: one heartbeat for all the runs that it drives, however many they are.

Once a second the inbox is asked for whom something lies there, and now and then all leases are renewed, each with one
statement. A process that cannot renew them any more gives its runs up before others may take them.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field

import structlog

from zeno.runs.clock import now
from zeno.stores.inbox import Inbox
from zeno.stores.leases import Lease, Leases

LEASE = 10_000
"""How long a lease holds without renewal, in milliseconds."""

GIVE_UP = LEASE * 3 // 4
"""How long after it was last renewed a lease is given up, in milliseconds: before others may take it."""

HEARTBEAT = 1.0
"""How often, in seconds, the inbox is looked into when nothing rings."""

log = structlog.get_logger("zeno.runs")


@dataclass(eq=False)
class Beat:
    """The pulse of one run: `bell` says that it should look around, `lost` that it is no longer its driver's.

    `kept` is when the lease was last known to hold, in milliseconds since 1970-01-01 UTC.
    """

    lease: Lease
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    lost: bool = False
    kept: int = field(default_factory=now)


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
            # In a context of its own: it beats for the runs that come later as well.
            self._task = asyncio.create_task(self._go_on(), name="pulse", context=Context())
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
                async with asyncio.timeout(self._patience()):
                    for run_id in await self.inbox.waiting() & self._beats.keys():
                        self.ring(run_id)
                    if due:
                        began = now()
                        await self._renew(began)
                        renewed = began
            except Exception:
                self.failures += 1
                log.exception("heartbeat_failed")
            for beat in self._beats.values():
                if now() - beat.kept >= GIVE_UP:
                    self._lose(beat)

    def _patience(self) -> float:
        """Seconds that the database may take: one that does not answer is as good as none, and no run may be kept too long.

        A process that has slept itself still asks: as long as nobody else has taken its runs, they are its own.
        """
        left = (beat.kept + GIVE_UP - now() for beat in self._beats.values() if not beat.lost)
        return min(LEASE / 4000, max(HEARTBEAT, min(left, default=LEASE) / 1000))

    async def _renew(self, began: int) -> None:
        beats = list(self._beats.values())
        held = await self.leases.renew([beat.lease for beat in beats], now=began, duration=LEASE)
        for beat in beats:
            if beat.lease.run_id in held:
                beat.kept = began
            else:
                self._lose(beat)

    def _lose(self, beat: Beat) -> None:
        beat.lost = True
        beat.bell.set()
