"""What this process tells of its runs, on its way to Redis: together, in the background, and never more than fits.

Per run there is a channel for those who follow it now, and a stream that holds what those need who come now: the newest record
and the deltas behind it. Knows Redis and frames, and neither the log nor who follows.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec
from redis.asyncio.client import Pipeline

from zeno.runs.frames import Frame
from zeno.runs.redis_link import CHECK, PATIENCE, Link, Well

LIFE = 3600
"""Seconds after its newest record that a run's stream is kept."""

LONGEST = 10_000
"""About how many writings of one step are kept. Who comes behind them finds the step's message in the log when it is over."""

MOST = 4 * 2**20
"""Bytes that may wait for Redis; when there are more, only where each run stands is told, once there is room."""

AT_ONCE = 2**20
"""About how many bytes are written before an answer is waited for."""

_Packed = list[tuple[int, int, str, bytes]]
_decoder = msgspec.msgpack.Decoder(_Packed)


class Source(Protocol):
    """Where it is known what is told of here."""

    def told_here(self) -> list[str]:
        """The runs."""
        ...

    def so_far(self, run_id: str) -> list[Frame]:
        """What someone who comes now needs of one; nothing when it is told of no more."""
        ...


def key(run_id: str) -> str:
    """The name of a run's stream, and of its channel."""
    return f"zeno:feed:{run_id}"


def packed(frames: Iterable[Frame]) -> bytes:
    """Frames as they lie in Redis."""
    return msgspec.msgpack.encode([(frame.seq, frame.delta, frame.kind, frame.data) for frame in frames])


def unpacked(data: bytes) -> list[Frame]:
    """The frames in `data`; none when it is not what `packed` made."""
    try:
        return [Frame(*each) for each in _decoder.decode(data)]
    except msgspec.MsgspecError:
        return []


class RedisOutbox:
    """Frames that are to be told elsewhere."""

    def __init__(self, link: Link, source: Source) -> None:
        self._link, self._source = link, source
        self._open = False
        self._due = asyncio.Event()
        self._pending: dict[str, list[Frame]] = {}
        self._size = 0
        self._anew: set[str] = set()

    def put(self, run_id: str, frame: Frame) -> None:
        """Take a frame along with the next writing. While Redis is away it is left out: where runs stand is told anew then."""
        if not self._open or run_id in self._anew:
            return
        if self._size > MOST:
            self._anew.update(self._pending, (run_id,))
            self._pending, self._size = {}, 0
            return
        self._pending.setdefault(run_id, []).append(frame)
        self._size += len(frame.data)
        self._due.set()

    async def write(self, well: Well) -> None:
        """Write what is put here, for good. Raises what Redis does; nothing waits here after that, until it is called again."""
        self._open = True
        self._anew.update(self._source.told_here())
        try:
            await self._link.ping()
            while True:
                await self._flush()
                well()
                try:
                    async with asyncio.timeout(CHECK):
                        await self._due.wait()
                except TimeoutError:
                    await self._link.ping()
        finally:
            self._open = False
            self._pending, self._size, self._anew = {}, 0, set()

    async def _flush(self) -> None:
        self._due.clear()
        batch, self._pending, self._size = self._pending, {}, 0
        batch |= {run_id: frames for run_id in self._anew if (frames := self._source.so_far(run_id))}
        self._anew = set()
        writing: list[str] = []
        pipeline = self._link.client.pipeline(transaction=False)
        size = 0
        for run_id, frames in batch.items():
            size += self._add(pipeline, key(run_id), frames)
            writing.append(run_id)
            if size > AT_ONCE:
                await self._execute(pipeline, writing)
                writing, size = [], 0
        if writing:
            await self._execute(pipeline, writing)

    def _add(self, pipeline: Pipeline, name: str, frames: Sequence[Frame]) -> int:
        """Three commands for what there is of one run; its size in bytes."""
        data = packed(frames)
        newest = next((at for at in range(len(frames) - 1, -1, -1) if not frames[at].delta), None)
        if newest is None:
            # Deltas alone are of no use to those who come: where their record is gone, they are not kept.
            pipeline.xadd(name, {"f": data}, maxlen=LONGEST, approximate=True, nomkstream=True)
        else:
            # A record makes everything before it the log's business.
            kept = data if newest == 0 else packed(frames[newest:])
            pipeline.xadd(name, {"f": kept}, maxlen=1, approximate=False)
            pipeline.expire(name, LIFE)
        # Behind the stream: who hears of it here and asks there finds it.
        pipeline.publish(name, data)
        return len(data)

    async def _execute(self, pipeline: Pipeline, writing: Sequence[str]) -> None:
        async with asyncio.timeout(PATIENCE):
            replies = await pipeline.execute()
        added = [reply for reply in replies if reply is None or isinstance(reply, bytes)]
        for run_id, reply in zip(writing, added, strict=True):
            if reply is None:
                self._anew.add(run_id)
                self._due.set()
