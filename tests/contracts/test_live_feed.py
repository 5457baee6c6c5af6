"""What every live feed does, and a follower on top of it: nothing is lost, nothing comes twice, nobody is waited for."""

import asyncio
import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeno.core.errors import Invalid
from zeno.core.events import Event, ModelReplied, RunEnded, StepStarted, UserSaid
from zeno.core.messages import Message, TextPart, Usage
from zeno.core.ports import Delta, TextDelta, ThinkingDelta
from zeno.runs.feed import LiveFeed, MemoryLiveFeed
from zeno.runs.follow import BUFFER, Follower, position
from zeno.runs.frames import LARGEST, Frame
from zeno.runs.redis_feed import RedisLiveFeed
from zeno.runs.redis_link import Link
from zeno.stores.event_log import Record

RUN = "a" * 32


def redis_feed_alone() -> LiveFeed:
    """A feed whose Redis is away: it serves its own process. Several of them are the business of `tests/behaviour`."""
    return RedisLiveFeed(Link("redis://127.0.0.1:1"))


FEEDS: list[Callable[[], LiveFeed]] = [MemoryLiveFeed, redis_feed_alone]


@pytest.fixture(params=FEEDS)
def feed(request: pytest.FixtureRequest) -> LiveFeed:
    made: LiveFeed = request.param()
    return made


@dataclass(eq=False)
class Ear:
    """A listener that keeps what it hears."""

    frames: list[Frame] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    closed: bool = False

    def hear(self, frame: Frame) -> None:
        self.frames.append(frame)

    def look(self, length: int) -> None:
        self.lengths.append(length)

    def close(self) -> None:
        self.closed = True

    @property
    def ids(self) -> list[tuple[int, int]]:
        return [(frame.seq, frame.delta) for frame in self.frames]


def said(seq: int, text: str = "hi") -> Record:
    return Record(seq, 1000 + seq, UserSaid((TextPart(text),)))


def asked(seq: int, step: int = 1) -> Record:
    return Record(seq, 1000 + seq, StepStarted(step))


def replied(seq: int, text: str) -> Record:
    message = Message("assistant", (TextPart(text),))
    return Record(seq, 1000 + seq, ModelReplied(1, message, "answer", Usage(), "stop", "m"))


def ended(seq: int) -> Record:
    return Record(seq, 1000 + seq, RunEnded("answered", "answered", {}, 1))


def fields(data: bytes) -> dict[str, str]:
    assert data.endswith(b"\n\n")
    return dict(line.split(": ", 1) for line in data.decode().removesuffix("\n\n").split("\n"))


def ids(data: bytes) -> list[tuple[int, int]]:
    return [position(fields(frame + b"\n\n")["id"]) for frame in data.split(b"\n\n") if frame]


def test_a_record_and_its_deltas_are_frames_in_the_order_told(feed: LiveFeed) -> None:
    ear = Ear()
    with feed.driving(RUN), feed.listen(RUN, ear):
        feed.publish(RUN, said(1))
        feed.publish(RUN, asked(2, step=7))
        feed.publish(RUN, ThinkingDelta("well"))
        feed.publish(RUN, TextDelta("two\nlines\r\u2028and 中文"))
    assert ear.ids == [(1, 0), (2, 0), (2, 1), (2, 2)]
    record, _, thinking, text = (fields(frame.data) for frame in ear.frames)
    assert (record["id"], record["event"]) == ("1", "user_said")
    assert msgspec.json.decode(record["data"]) == {
        "seq": 1,
        "at": 1001,
        "type": "user_said",
        "parts": [{"type": "text", "text": "hi"}],
    }
    assert (thinking["id"], thinking["event"]) == ("2.1", "thinking_delta")
    assert (text["id"], text["event"]) == ("2.2", "text_delta")
    assert msgspec.json.decode(text["data"]) == {"type": "text_delta", "text": "two\nlines\r\u2028and 中文", "step": 7}


def test_what_is_told_is_encoded_once_however_many_follow(feed: LiveFeed) -> None:
    one, other = Ear(), Ear()
    with feed.driving(RUN), feed.listen(RUN, one), feed.listen(RUN, other):
        feed.publish(RUN, asked(1))
        feed.publish(RUN, TextDelta("word"))
    assert [id(frame.data) for frame in one.frames] == [id(frame.data) for frame in other.frames]


def test_runs_do_not_hear_of_each_other(feed: LiveFeed) -> None:
    ear = Ear()
    with feed.driving(RUN), feed.driving("b" * 32), feed.listen(RUN, ear):
        feed.publish("b" * 32, said(1))
        feed.publish("c" * 32, said(1))
    assert not ear.frames


def test_who_has_left_hears_nothing_more(feed: LiveFeed) -> None:
    ear = Ear()
    with feed.driving(RUN):
        with feed.listen(RUN, ear):
            feed.publish(RUN, said(1))
        feed.publish(RUN, said(2))
    assert ear.ids == [(1, 0)]


def test_a_step_is_kept_for_those_who_come_later_until_the_next_record_or_the_end_of_the_drive(feed: LiveFeed) -> None:
    def kept() -> list[tuple[int, int]]:
        with feed.listen(RUN, Ear()) as channel:
            return [(frame.seq, frame.delta) for frame in channel.deltas]

    with feed.driving(RUN):
        feed.publish(RUN, asked(4))
        feed.publish(RUN, TextDelta("a"))
        feed.publish(RUN, TextDelta("b"))
        assert kept() == [(4, 1), (4, 2)]
        feed.publish(RUN, replied(5, "ab"))
        assert kept() == []
        feed.publish(RUN, asked(6))
        feed.publish(RUN, TextDelta("c"))
    assert kept() == []


def test_a_record_too_large_for_a_stream_is_told_by_reference(feed: LiveFeed) -> None:
    ear = Ear()
    with feed.driving(RUN), feed.listen(RUN, ear):
        overhead = len(msgspec.json.encode({"seq": 1, "at": 1001}) + msgspec.json.encode(said(1, "").event)) - 1
        feed.publish(RUN, said(1, "x" * (LARGEST - overhead)))
        feed.publish(RUN, said(2, "x" * (LARGEST - overhead + 1)))
    fits, too_large = (msgspec.json.decode(fields(frame.data)["data"]) for frame in ear.frames)
    assert len(fields(ear.frames[0].data)["data"]) == LARGEST
    assert fits["parts"]
    assert too_large == {
        "seq": 2,
        "at": 1002,
        "type": "user_said",
        "reference": f"/api/v1/runs/{RUN}/events/2",
        "size": LARGEST + 1,
    }


def test_a_feed_that_is_closed_lets_everyone_go_and_keeps_nobody_who_comes_later(feed: LiveFeed) -> None:
    ear, late = Ear(), Ear()
    with feed.listen(RUN, ear):
        feed.close()
        assert ear.closed
        with feed.listen(RUN, late):
            assert late.closed


@pytest.mark.parametrize("cursor", ["x", "1.", ".1", "-1", "1.-1", "1.2.3", " 1", "1 ", "1e3", "١", "9" * 16, "1.5\n"])
def test_a_cursor_that_no_frame_can_have_had_is_refused(cursor: str) -> None:
    with pytest.raises(Invalid, match="cursor_invalid"):
        position(cursor)


def test_a_cursor_names_a_record_or_a_delta() -> None:
    assert [position(cursor) for cursor in (None, "", "0", "7", "7.12")] == [(0, 0), (0, 0), (0, 0), (7, 0), (7, 12)]


@dataclass
class Log:
    """A log in memory. `meanwhile` is what happens while it is being read, from which the reader may or may not see."""

    records: list[Record] = field(default_factory=list)
    reads: int = 0
    meanwhile: list[Callable[[], None]] = field(default_factory=list)

    async def read(self, after: int) -> list[Record]:
        self.reads += 1
        found = [record for record in self.records if record.seq > after]
        if self.meanwhile:
            self.meanwhile.pop(0)()
        return found


async def taken(follower: Follower) -> bytes:
    """All that there is now."""
    data = b""
    while chunk := await follower.more():
        data += chunk
    return data


def test_a_follower_that_does_not_take_costs_little_and_then_gets_every_record(feed: LiveFeed) -> None:
    async def play() -> None:
        log = Log()
        follower = Follower(RUN, (0, 0), log.read, lambda: None)
        with feed.driving(RUN), feed.listen(RUN, follower) as follower.channel:
            assert await taken(follower) == b""
            gc.collect()
            tracemalloc.start()
            for seq in range(1, 1001):
                feed.publish(RUN, said(seq, f"{seq} " + "x" * 30_000))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < 3 * BUFFER
            log.records = [said(seq, f"{seq} " + "x" * 30_000) for seq in range(1, 1001)]
            log.records.append(ended(1001))
            got: list[tuple[int, int]] = []
            while chunk := await follower.more():
                assert len(chunk) < 2 * BUFFER
                got += ids(chunk)
            assert got == [(seq, 0) for seq in range(1, 1002)]
            assert follower.over

    asyncio.run(play())


def test_a_follower_gets_a_long_step_piece_by_piece(feed: LiveFeed) -> None:
    async def play() -> None:
        log = Log([asked(1)])
        with feed.driving(RUN):
            feed.publish(RUN, asked(1))
            for _ in range(1000):
                feed.publish(RUN, TextDelta("x" * 2000))
            follower = Follower(RUN, (1, 3), log.read, lambda: None)
            with feed.listen(RUN, follower) as follower.channel:
                got: list[tuple[int, int]] = []
                while chunk := await follower.more():
                    assert len(chunk) < 2 * BUFFER
                    got += ids(chunk)
        assert got == [(1, delta) for delta in range(4, 1001)]

    asyncio.run(play())


def test_a_follower_does_not_ask_the_log_for_what_it_is_told(feed: LiveFeed) -> None:
    async def play() -> None:
        log = Log()
        woken: list[int] = []
        follower = Follower(RUN, (0, 0), log.read, lambda: woken.append(1))
        with feed.driving(RUN), feed.listen(RUN, follower) as follower.channel:
            await taken(follower)
            assert log.reads == 1
            for record in (said(1), asked(2)):
                feed.publish(RUN, record)
            feed.publish(RUN, TextDelta("a"))
            assert len(woken) == 3
            assert ids(await follower.more()) == [(1, 0), (2, 0), (2, 1)]
            assert log.reads == 1

    asyncio.run(play())


def test_a_follower_whose_run_was_deleted_is_over(feed: LiveFeed) -> None:
    async def play() -> None:
        log = Log([said(1)])
        follower = Follower(RUN, (0, 0), log.read, lambda: None)
        with feed.listen(RUN, follower) as follower.channel:
            await taken(follower)
            follower.look(1)
            assert not follower.over
            follower.look(0)
            assert follower.over

    asyncio.run(play())


def test_a_run_whose_log_is_gone_does_not_keep_its_follower_asking(feed: LiveFeed) -> None:
    async def play() -> None:
        log = Log()
        follower = Follower(RUN, (0, 0), log.read, lambda: None)
        with feed.driving(RUN), feed.listen(RUN, follower) as follower.channel:
            log.meanwhile.append(lambda: feed.publish(RUN, asked(5)))
            await taken(follower)
            reads = log.reads
            feed.publish(RUN, TextDelta("a"))
            assert ids(await taken(follower)) == [(5, 1)]
            assert log.reads == reads

    asyncio.run(play())


Step = tuple[str, int]
DRIVING = ("record", "step", "delta", "write", "tell", "elsewhere")
STEPS = st.lists(st.tuples(st.sampled_from([*DRIVING, "take"]), st.integers(0, 5)))


@dataclass
class Story:
    """A run whose records are written and told in any way that a driver may, and one who follows it at any pace."""

    feed: LiveFeed
    log: Log = field(default_factory=Log)
    told: int = 0
    here: bool = False
    deltas: list[tuple[int, int]] = field(default_factory=list)
    got: list[tuple[int, int]] = field(default_factory=list)

    def write(self, event: Event) -> None:
        """A record that others may read before it is told here."""
        self.log.records.append(Record(len(self.log.records) + 1, 0, event))

    def tell(self) -> None:
        """Tell what was written."""
        for record in self.log.records[self.told :]:
            self.feed.publish(RUN, record)
            self.deltas, self.here = [], True
        self.told = len(self.log.records)

    def delta(self, size: int) -> None:
        """A driver tells no deltas between writing a record and telling it."""
        if self.here and self.told == len(self.log.records):
            delta: Delta = TextDelta("x" * size)
            self.feed.publish(RUN, delta)
            self.deltas.append((self.told, len(self.deltas) + 1))

    def play(self, step: Step) -> None:
        """One thing that a driver does."""
        what, size = step
        match what:
            case "delta":
                self.delta(size * 20_000)
            case "write":
                self.write(UserSaid((TextPart("x" * size * 10_000),)))
            case "tell":
                self.tell()
            case "elsewhere":
                # Another process drives it for a while, and tells nothing here.
                self.tell()
                self.write(UserSaid(()))
                self.told, self.deltas, self.here = len(self.log.records), [], False
            case _:
                self.write(StepStarted(1) if what == "step" else UserSaid(()))
                self.tell()


@pytest.mark.parametrize("make", FEEDS)
@given(before=STEPS, steps=STEPS, races=STEPS, cut=st.integers(0, 40))
def test_whatever_the_order_a_follower_gets_every_record_once_and_the_deltas_of_the_step_that_is_on(
    make: Callable[[], LiveFeed], before: list[Step], steps: list[Step], races: list[Step], cut: int
) -> None:
    async def play() -> None:
        story = Story(make())
        with story.feed.driving(RUN):
            for step in before:
                if step[0] in DRIVING:
                    story.play(step)
            start = (min(cut, len(story.log.records)), 0)
            story.log.meanwhile = [lambda step=step: story.play(step) for step in races if step[0] in DRIVING]  # type: ignore[misc]
            follower = Follower(RUN, start, story.log.read, lambda: None)
            with story.feed.listen(RUN, follower) as follower.channel:
                for step in steps:
                    if step[0] == "take":
                        story.got += ids(await follower.more())
                    else:
                        story.play(step)
                story.log.meanwhile = []
                story.got += ids(await taken(follower))
                # What was written and not told yet is found once it is told.
                story.tell()
                if not story.here:
                    follower.look(len(story.log.records))
                story.got += ids(await taken(follower))
        assert story.got == sorted(set(story.got))
        assert [seq for seq, delta in story.got if not delta] == list(range(start[0] + 1, len(story.log.records) + 1))
        assert [place for place in story.got if place[0] == story.told and place[1]] == story.deltas
        for seq in {seq for seq, _ in story.got}:
            numbers = [delta for other, delta in story.got if other == seq and delta]
            assert numbers == list(range(1, len(numbers) + 1))

    asyncio.run(play())
