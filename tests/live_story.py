"""A run that is driven at one instance or another and followed at all of them, beneath HTTP: its log is in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field

from tests.contracts.test_live_feed import Ear, Log, asked, ids
from zeno.core.ports import TextDelta
from zeno.runs.feed import LiveFeed
from zeno.runs.follow import Follower
from zeno.runs.frames import Frame, Position
from zeno.runs.redis_feed import RedisLiveFeed, redis_feed
from zeno.stores.event_log import Record

RUN = "a" * 32


@dataclass
class Story:
    """A run: its log, which all instances read, and the feed of whichever instance drives it."""

    log: Log = field(default_factory=Log)
    feed: LiveFeed | None = None
    deltas: int = 0
    _drive: ExitStack = field(default_factory=ExitStack)

    def drive(self, feed: LiveFeed) -> None:
        """Another instance drives it from now on, or the same one again."""
        self.stop()
        self._drive.enter_context(feed.driving(RUN))
        self.feed = feed
        self.step()

    def stop(self) -> None:
        """Nobody drives it any more."""
        self._drive.close()
        self.feed = None

    def record(self, make: Callable[[int], Record]) -> None:
        """Written first, then told, as a driver does."""
        record = make(len(self.log.records) + 1)
        self.log.records.append(record)
        self.deltas = 0
        assert self.feed is not None
        self.feed.publish(RUN, record)

    def step(self) -> None:
        self.record(asked)

    def delta(self, text: str = "x") -> None:
        assert self.feed is not None
        self.deltas += 1
        self.feed.publish(RUN, TextDelta(text))

    @property
    def place(self) -> Position:
        """Where it stands."""
        return len(self.log.records), self.deltas

    async def lengths(self, run_ids: Sequence[str]) -> dict[str, int]:
        return {RUN: len(self.log.records)} if RUN in run_ids else {}


class Client:
    """Someone who follows the story at an instance, as a stream does."""

    def __init__(self, story: Story, feed: LiveFeed, after: Position = (0, 0)) -> None:
        self.got: list[Position] = []
        self.data = b""
        self.after = after
        self._story, self._feed = story, feed
        self._woken, self._news = asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self._follow(Follower(RUN, after, story.log.read, self._woken.set)))

    async def _follow(self, follower: Follower) -> None:
        with self._feed.listen(RUN, follower) as follower.channel:
            self._feed.watch(self._story.lengths)
            while True:
                while chunk := await follower.more():
                    self.data += chunk
                    self.got += ids(chunk)
                    self._news.set()
                if follower.over:
                    return
                await self._woken.wait()
                self._woken.clear()

    async def until(self, place: Position) -> None:
        """Return when it has this."""
        while place > self.after and place not in self.got:
            await self._news.wait()
            self._news.clear()

    async def end(self) -> None:
        """Return when it was told of the end; nothing was lost and nothing came twice then."""
        await self._task
        assert self.got == sorted(set(self.got))
        records = [seq for seq, delta in self.got if not delta]
        assert records == list(range(self.after[0] + 1, len(self._story.log.records) + 1))
        for seq in {seq for seq, _ in self.got}:
            numbers = [delta for other, delta in self.got if other == seq and delta]
            first = self.after[1] + 1 if seq == self.after[0] else 1
            assert numbers == list(range(first, first + len(numbers)))

    async def leave(self) -> None:
        """Go, in the middle of whatever there is."""
        self._task.cancel()
        await asyncio.wait({self._task})


class DeltaEar(Ear):
    """A listener that waits for so many deltas."""

    def __init__(self, expected: int) -> None:
        super().__init__()
        self.deltas: list[Frame] = []
        self.full = asyncio.Event()
        self._expected = expected

    def hear(self, frame: Frame) -> None:
        if frame.delta:
            self.deltas.append(frame)
            if len(self.deltas) >= self._expected:
                self.full.set()


@asynccontextmanager
async def instances(url: str) -> AsyncIterator[tuple[RedisLiveFeed, RedisLiveFeed, RedisLiveFeed]]:
    """Three, each of which hears the others already."""
    async with redis_feed(url) as a, redis_feed(url) as b, redis_feed(url) as c:
        for number, (one, other) in enumerate(((a, b), (b, c), (c, a))):
            first, ear = f"{number:032x}", DeltaEar(1)
            with one.driving(first), other.listen(first, ear):
                one.publish(first, asked(1))
                one.publish(first, TextDelta("x"))
                await ear.full.wait()
        yield a, b, c
