"""The live feed: from those who drive runs to those who follow them, in memory. The log is the truth, this is its speed.

Knows neither the log's storage nor sockets. Whoever misses something here finds it in the log.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from zeno.core.errors import StoreUnavailable
from zeno.core.events import StepStarted
from zeno.core.ports import Delta
from zeno.runs.frames import Frame, delta_frame, record_frame
from zeno.stores.event_log import Record

WATCH = 1.0
"""How often, in seconds, the log is asked about runs that are followed here and driven elsewhere."""

AT_ONCE = 1000
"""Runs that one such question names at most."""

Lengths = Callable[[Sequence[str]], Awaitable[Mapping[str, int]]]

log = structlog.get_logger("zeno.feed")


class Listener(Protocol):
    """Someone who follows a run. None of this may block or raise: the run does not wait."""

    def hear(self, frame: Frame) -> None:
        """Something happened."""
        ...

    def look(self, length: int) -> None:
        """The log holds `length` events by now, heard of or not."""
        ...

    def close(self) -> None:
        """Nothing more will be told: this process is about to end."""
        ...


@dataclass(eq=False)
class Channel:
    """What is going on in one run: its newest record told here, and the deltas behind it so far."""

    seq: int = 0
    deltas: list[Frame] = field(default_factory=list)
    step: int = 0
    driven: bool = False
    told: bool = False
    """Whether it is told of here: what comes from elsewhere is old then."""
    listeners: dict[Listener, None] = field(default_factory=dict)


class LiveFeed(Protocol):
    """What is told of runs while it happens."""

    def driving(self, run_id: str) -> AbstractContextManager[None]:
        """This process drives the run, and tells of it, for the length of the block."""
        ...

    def publish(self, run_id: str, item: Record | Delta) -> None:
        """Tell a record that is in the log, or a delta of the step begun last. Never waits."""
        ...

    def listen(self, run_id: str, listener: Listener) -> AbstractContextManager[Channel]:
        """Follow a run for the length of the block."""
        ...

    def followed(self, run_id: str) -> bool:
        """Whether anyone follows the run here."""
        ...

    async def company(self, run_id: str) -> None:
        """Return when someone begins to follow the run here, or when the feed is closed."""
        ...

    def watch(self, lengths: Lengths) -> None:
        """See to it that those who follow runs driven elsewhere hear of it, whatever else fails."""
        ...

    def close(self) -> None:
        """Let everyone who follows anything come to an end."""
        ...


class MemoryLiveFeed:
    """The feed of a process whose followers are its own; `outward` is given each frame that is made here as well."""

    def __init__(self, outward: Callable[[str, Frame], None] | None = None) -> None:
        self.closed = False
        self._outward = outward
        self._channels: dict[str, Channel] = {}
        self._arrivals: dict[str, asyncio.Event] = {}
        self._watch: asyncio.Task[None] | None = None

    @contextmanager
    def driving(self, run_id: str) -> Iterator[None]:
        """This process drives the run for the length of the block. The deltas of an unfinished step end with it."""
        channel = self._channels.setdefault(run_id, Channel())
        channel.driven = True
        try:
            yield
        finally:
            channel.driven = False
            if channel.told:
                channel.told, channel.deltas = False, []
            self._forget(run_id, channel)

    def publish(self, run_id: str, item: Record | Delta) -> None:
        """Tell everyone who follows the run. A delta is kept as well, until the next record, for those who come later."""
        channel = self._channels.get(run_id)
        if channel is None:
            return
        channel.told = channel.driven
        if isinstance(item, Record):
            channel.seq = item.seq
            channel.deltas = []
            if isinstance(item.event, StepStarted):
                channel.step = item.event.step
            if not channel.listeners and self._outward is None:
                return
            frame = record_frame(run_id, item)
        else:
            frame = delta_frame(channel.seq, len(channel.deltas) + 1, channel.step, item)
            channel.deltas.append(frame)
        for listener in channel.listeners:
            listener.hear(frame)
        if self._outward is not None:
            self._outward(run_id, frame)

    def hear(self, run_id: str, frame: Frame) -> bool:
        """Tell a frame made elsewhere, once; whether nothing is missing before it. One without data only names a place."""
        channel = self._channels.get(run_id)
        if channel is None or channel.told or frame.seq < channel.seq:
            return True
        if frame.delta:
            known = len(channel.deltas)
            if frame.seq > channel.seq or frame.delta > known + 1:
                return False
            if frame.delta <= known:
                return True
            channel.deltas.append(frame)
        elif frame.seq == channel.seq:
            return True
        else:
            channel.seq, channel.deltas = frame.seq, []
        for listener in channel.listeners:
            if frame.data:
                listener.hear(frame)
            else:
                listener.look(frame.seq)
        return True

    def awaited(self, run_id: str) -> bool:
        """Whether someone here follows the run, and it is not told of here."""
        channel = self._channels.get(run_id)
        return channel is not None and bool(channel.listeners) and not channel.told

    def told_here(self) -> list[str]:
        """The runs that are told of here."""
        return [run_id for run_id, channel in self._channels.items() if channel.told]

    def so_far(self, run_id: str) -> list[Frame]:
        """What someone who comes now needs of a run told of here: its place in the log and the deltas behind it."""
        channel = self._channels.get(run_id)
        return [Frame(channel.seq, 0, "", b""), *channel.deltas] if channel is not None and channel.told else []

    @contextmanager
    def listen(self, run_id: str, listener: Listener) -> Iterator[Channel]:
        """Follow a run for the length of the block. When the feed is closed already, the listener hears of that only."""
        channel = self._channels.setdefault(run_id, Channel())
        channel.listeners[listener] = None
        if arrival := self._arrivals.pop(run_id, None):
            arrival.set()
        if self.closed:
            listener.close()
        try:
            yield channel
        finally:
            del channel.listeners[listener]
            self._forget(run_id, channel)

    def followed(self, run_id: str) -> bool:
        """Whether anyone follows the run."""
        channel = self._channels.get(run_id)
        return channel is not None and bool(channel.listeners)

    async def company(self, run_id: str) -> None:
        """Return when someone begins to follow the run, or when the feed is closed."""
        if not self.closed:
            arrival = self._arrivals.setdefault(run_id, asyncio.Event())
            try:
                await arrival.wait()
            finally:
                if self._arrivals.get(run_id) is arrival:
                    del self._arrivals[run_id]

    def watch(self, lengths: Lengths) -> None:
        """See to it that those who follow runs driven elsewhere hear of it, by one task and one question for all of them."""
        if not self.closed and (self._watch is None or self._watch.done()):
            self._watch = asyncio.create_task(self._look(lengths), name="watch of runs driven elsewhere")

    def close(self) -> None:
        """Let everyone who follows anything come to an end."""
        self.closed = True
        if self._watch is not None:
            self._watch.cancel()
        for arrival in self._arrivals.values():
            arrival.set()
        for channel in self._channels.values():
            for listener in channel.listeners:
                listener.close()

    async def _look(self, lengths: Lengths) -> None:
        """Ask the log until nobody follows anything."""
        while any(channel.listeners for channel in self._channels.values()):
            await asyncio.sleep(WATCH)
            elsewhere = [run_id for run_id, channel in self._channels.items() if channel.listeners and not channel.driven]
            for start in range(0, len(elsewhere), AT_ONCE):
                asked = elsewhere[start : start + AT_ONCE]
                try:
                    found = await lengths(asked)
                except StoreUnavailable:
                    log.warning("watch_failed", exc_info=True)
                    continue
                self._tell_lengths(asked, found)

    def _tell_lengths(self, asked: Sequence[str], found: Mapping[str, int]) -> None:
        for run_id in asked:
            channel = self._channels.get(run_id)
            if channel is not None and not channel.driven:
                for listener in channel.listeners:
                    listener.look(found.get(run_id, 0))

    def _forget(self, run_id: str, channel: Channel) -> None:
        if not channel.driven and not channel.listeners:
            self._channels.pop(run_id, None)
