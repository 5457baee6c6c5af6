"""The event log: what happened in each run, numbered by its driver, never changed."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import exists, insert, literal, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from zeno.core.errors import RunLost
from zeno.core.events import Event, RunEnded
from zeno.stores.database import Database
from zeno.stores.leases import Lease
from zeno.stores.tables import events, inbox, runs


class Record(msgspec.Struct, frozen=True):
    """One line of the log: `seq` counts from 1, `at` is in milliseconds since 1970-01-01 UTC."""

    seq: int
    at: int
    event: Event


@dataclass(frozen=True, kw_only=True)
class EventLog:
    """The log of all runs."""

    database: Database

    async def read(self, run_id: str, after: int = 0) -> list[Record]:
        """The events of a run behind number `after`, in order."""
        query = select(events.c.seq, events.c.at, events.c.body).where(events.c.run_id == run_id, events.c.seq > after)
        async with self.database.reading() as connection:
            rows = await connection.execute(query.order_by(events.c.seq))
            return [Record(seq, at, msgspec.json.decode(body, type=Event)) for seq, at, body in rows]

    async def append(self, lease: Lease, records: Sequence[Record], absorbed: Sequence[int] = ()) -> None:
        """Write events and mark the inbox rows they came from, all or nothing.

        Raises `RunLost` when the lease has passed to another driver or a number is taken: then nothing is written.
        """
        try:
            async with self.database.writing() as connection:
                for record in records:
                    await _insert(connection, lease, record)
                if absorbed:
                    await connection.execute(update(inbox).where(inbox.c.id.in_(absorbed)).values(absorbed=True))
                await _close_ended(connection, lease.run_id, records[-1])
        except IntegrityError:
            raise RunLost("run_lost", run=lease.run_id) from None


async def _insert(connection: AsyncConnection, lease: Lease, record: Record) -> None:
    """Write one event if the lease still holds, in one statement: on most databases a second one costs a journey."""
    held = select(*(literal(value) for value in _row(lease.run_id, record).values()))
    held = held.where(exists().where(runs.c.id == lease.run_id, runs.c.epoch == lease.epoch))
    written = await connection.execute(insert(events).from_select(list(_row(lease.run_id, record)), held))
    if written.rowcount != 1:
        raise RunLost("run_lost", run=lease.run_id)


async def _close_ended(connection: AsyncConnection, run_id: str, last: Record) -> None:
    if isinstance(last.event, RunEnded):
        closing = update(runs).where(runs.c.id == run_id)
        await connection.execute(closing.values(ending=last.event.ending, ended_at=last.at))


def _row(run_id: str, record: Record) -> dict[str, str | int]:
    body = msgspec.json.encode(record.event).decode()
    kind = str(type(record.event).__struct_config__.tag)
    return {"run_id": run_id, "seq": record.seq, "at": record.at, "type": kind, "body": body}
