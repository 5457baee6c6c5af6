"""Frames: what happens in a run as the bytes that everyone who follows it is sent (Server-Sent Events), made once.

Knows the wire, and not who reads it.
"""

import msgspec
from msgspec import Struct

from zeno.core.ports import Delta
from zeno.stores.event_log import Record

LARGEST = 64 * 1024
"""Bytes of a record's JSON that are sent; of a larger one, only where it can be fetched."""

Position = tuple[int, int]
"""A place in a run's stream: the number of a record, and how many of the deltas behind it."""


class Frame(Struct, frozen=True, gc=False):
    """One event of the stream. `delta` is 0 for a record, else it counts the deltas behind record `seq` from 1."""

    seq: int
    delta: int
    kind: str
    data: bytes


def whole(record: Record) -> bytes:
    """A record as JSON: its number and time beside the event's own fields."""
    return b'{"seq":%d,"at":%d,%b' % (record.seq, record.at, msgspec.json.encode(record.event)[1:])


def shown(run_id: str, record: Record) -> bytes:
    """A record as JSON, or a reference to it when it is too large for a stream."""
    data = whole(record)
    if len(data) <= LARGEST:
        return data
    kind, address = _kind(record), f"/api/v1/runs/{run_id}/events/{record.seq}"
    reference = {"seq": record.seq, "at": record.at, "type": kind, "reference": address, "size": len(data)}
    return msgspec.json.encode(reference)


def record_frame(run_id: str, record: Record) -> Frame:
    """The frame of a record."""
    kind = _kind(record)
    data = b"id: %d\nevent: %b\ndata: %b\n\n" % (record.seq, kind.encode(), shown(run_id, record))
    return Frame(record.seq, 0, kind, data)


def delta_frame(seq: int, number: int, step: int, delta: Delta) -> Frame:
    """The frame of the delta that is number `number` behind record `seq`."""
    kind = str(type(delta).__struct_config__.tag)
    body = msgspec.json.encode(delta)[:-1]
    data = b'id: %d.%d\nevent: %b\ndata: %b,"step":%d}\n\n' % (seq, number, kind.encode(), body, step)
    return Frame(seq, number, kind, data)


def _kind(record: Record) -> str:
    return str(type(record.event).__struct_config__.tag)
