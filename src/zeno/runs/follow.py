"""Following a run: the log behind a cursor, then what is told live, without a gap and without a double.

Knows the log and the feed and no sockets. A follower holds little: one that is too slow is sent back to the log.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence

from zeno.core.errors import Invalid
from zeno.runs.feed import Channel
from zeno.runs.frames import Frame, Position, record_frame
from zeno.stores.event_log import Record

BUFFER = 256 * 1024
"""Bytes that are kept ready for a follower, and that are given out at once."""

CURSOR = re.compile(r"(\d{1,15})(?:\.(\d{1,15}))?", re.ASCII)

Read = Callable[[int], Awaitable[Sequence[Record]]]


def position(cursor: str | None) -> Position:
    """The place that a cursor names: the `id` of the last frame its owner has; `None` or empty: the beginning.

    Raises `Invalid` for one that no frame can have had.
    """
    if not cursor:
        return 0, 0
    match = CURSOR.fullmatch(cursor)
    if match is None:
        raise Invalid("cursor_invalid")
    return int(match[1]), int(match[2] or 0)


class Follower:
    """What one reader of a run is to be sent next.

    `read` gives the records behind a number, `wake` is called when there is something to be taken. `complete` says that the run
    was over before, so that what the log holds is all there is.
    """

    def __init__(self, run_id: str, after: Position, read: Read, wake: Callable[[], None], *, complete: bool = False) -> None:
        self.given = after
        """The place of the last frame given out."""
        self.channel = Channel()
        self.closed = False
        self.ended = False
        self._run_id, self._read, self._wake, self._complete = run_id, read, wake, complete
        self._ready: list[bytes] = []
        self._size = 0
        self._heard = after
        self._ends = False
        self._behind = True

    @property
    def over(self) -> bool:
        """Whether everything was given out that ever will be."""
        return self.ended or self.closed

    def hear(self, frame: Frame) -> None:
        """Keep a frame ready, if it is the next one and there is room; else go back to the log."""
        seq, delta = self._heard
        if self._behind or (frame.seq, frame.delta) <= self._heard:
            return
        follows = frame.delta == delta + 1 if frame.seq == seq else frame.seq == seq + 1 and not frame.delta
        if follows and self._size + len(frame.data) <= BUFFER:
            self._ready.append(frame.data)
            self._size += len(frame.data)
            self._heard = frame.seq, frame.delta
            self._ends = frame.kind == "run_ended"
            self._wake()
        else:
            self._fall_behind()

    def look(self, length: int) -> None:
        """Go back to the log when it has grown; a run whose log has gone is over."""
        if length == 0 and self._heard[0]:
            self.close()
        elif length > self._heard[0] and not self._behind:
            self._fall_behind()

    def close(self) -> None:
        """Come to an end after what is ready now."""
        self.closed = True
        self._wake()

    async def more(self) -> bytes:
        """The frames that there are now behind those given out, joined, at most about `BUFFER` bytes; none: b""."""
        while self._behind and not self.closed:
            told = self.channel.seq
            records = await self._read(self.given[0])
            if not records and told > self.given[0]:
                # What is told is in the log before. When it is not, it was deleted, and there is nothing to go back to.
                self.given = told, 0
            if batch := self._catch_up(records):
                return batch
        ready, self._ready, self._size = self._ready, [], 0
        self.given, self.ended = self._heard, self.ended or self._ends
        return b"".join(ready)

    def _catch_up(self, records: Sequence[Record]) -> bytes:
        """What fits into one writing of `records` and the deltas behind them; after the last of them, no longer behind."""
        batch: list[bytes] = []
        size = 0
        for frame in self._missed(records):
            size += len(frame.data)
            if batch and size > BUFFER:
                break
            batch.append(frame.data)
            self.given = frame.seq, frame.delta
            self.ended = frame.kind == "run_ended"
        else:
            # Something may have been told while the log was read.
            self._behind = self.channel.seq > self.given[0]
            self.ended = self.ended or (self._complete and not self._behind)
        self._heard = self.given
        return b"".join(batch)

    def _missed(self, records: Sequence[Record]) -> Iterator[Frame]:
        for record in records:
            yield record_frame(self._run_id, record)
        if self.channel.seq == self.given[0]:
            yield from (frame for frame in self.channel.deltas if frame.delta > self.given[1])

    def _fall_behind(self) -> None:
        self._ready, self._size = [], 0
        self._heard = self.given
        self._ends = False
        self._behind = True
        self._wake()


class SettledBell:
    """Rings when a run has ended or paused, or may have."""

    def __init__(self) -> None:
        self.rung = asyncio.Event()
        self.closed = False
        self._length = 0

    def hear(self, frame: Frame) -> None:
        """Ring for what settles a run."""
        if frame.kind in ("run_ended", "run_paused"):
            self.rung.set()

    def look(self, length: int) -> None:
        """Ring when the log has grown."""
        if length != self._length:
            self._length = length
            self.rung.set()

    def close(self) -> None:
        """Ring for the last time."""
        self.closed = True
        self.rung.set()
