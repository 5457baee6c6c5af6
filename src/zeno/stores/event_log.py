"""The event log: what happened in each run, numbered by its driver, never changed."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, Select, exists, func, insert, literal, select, update
from sqlalchemy.exc import IntegrityError

from zeno.core.errors import RunLost
from zeno.core.events import Event
from zeno.core.scope import Scope
from zeno.stores.database import Database, reading, steady, writing
from zeno.stores.leases import Lease
from zeno.stores.projections import project
from zeno.stores.runs import Run, owned
from zeno.stores.tables import events, inbox, runs

AT_ONCE = 50
"""Rows that are fetched together where it is not known beforehand how many will be wanted."""


class Record(msgspec.Struct, frozen=True):
    """One line of the log: `seq` counts from 1, `at` is in milliseconds since 1970-01-01 UTC."""

    seq: int
    at: int
    event: Event


@dataclass(frozen=True, kw_only=True)
class EventLog:
    """The log of all runs."""

    database: Database

    @reading
    def read(self, connection: Connection, scope: Scope, run_id: str, after: int = 0, most: int | None = None) -> list[Record]:
        """The events of a run of that scope, from the one behind number `after` on, at most `most`; none for another's run."""
        own = exists().where(runs.c.id == run_id, runs.c.team_id == scope.team, runs.c.user_id == scope.user)
        query = select(events.c.seq, events.c.at, events.c.body).where(events.c.run_id == run_id, events.c.seq > after, own)
        rows = connection.execute(query.order_by(events.c.seq).limit(most))
        return [Record(seq, at, msgspec.json.decode(body, type=Event)) for seq, at, body in rows]

    @reading
    def of_runs(self, connection: Connection, scope: Scope, wanted: Sequence[Run], most: int) -> dict[str, list[Record]]:
        """The events of these runs of one session, which are as `Runs.latest` gives them.

        Whole runs, the first one in any case, further ones as long as all of it has at most `most` characters; the others are
        left out, and not fetched.
        """
        found: dict[str, list[Record]] = {run.id: [] for run in wanted}
        if not wanted:
            return found
        held, taken = 0, list(found)
        # Rows that come piece by piece need a transaction.
        steady(connection)
        with connection.execute(_of_session(scope, wanted), execution_options={"yield_per": AT_ONCE}) as rows:
            for run_id, seq, at, body in rows:
                if run_id not in found:
                    continue
                held += len(body)
                if held > most and run_id != taken[0]:
                    taken = taken[: taken.index(run_id)]
                    break
                found[run_id].append(Record(seq, at, msgspec.json.decode(body, type=Event)))
        return {run_id: found[run_id] for run_id in taken}

    @reading
    def lengths(self, connection: Connection, run_ids: Sequence[str]) -> dict[str, int]:
        """How many events each of these runs has so far."""
        query = select(events.c.run_id, func.max(events.c.seq).label("length")).where(events.c.run_id.in_(run_ids))
        return {row.run_id: row.length for row in connection.execute(query.group_by(events.c.run_id))}

    @writing
    def append(self, connection: Connection, lease: Lease, records: Sequence[Record], absorbed: Sequence[int] = ()) -> None:
        """Write events, what follows from them, and that the inbox rows they came from are absorbed: all or nothing.

        Raises `RunLost` when the lease has passed to another driver or a number is taken, and `CommandsWaiting` when the run
        was to end or to pause although something lies in its inbox: then nothing is written.
        """
        try:
            for record in records:
                _insert(connection, lease, record)
            if absorbed:
                connection.execute(update(inbox).where(inbox.c.id.in_(absorbed)).values(absorbed=True))
            for record in records:
                project(connection, lease.run_id, record.event, record.at)
        except IntegrityError:
            raise RunLost("run_lost", run=lease.run_id) from None


def _of_session(scope: Scope, wanted: Sequence[Run]) -> Select[str, int, int, str]:
    """The events of these runs in their order. They are asked for as a span of their session, which an index has in order."""
    session_id, last, first = wanted[0].session_id, wanted[0].created_at, wanted[-1].created_at
    query = select(events.c.run_id, events.c.seq, events.c.at, events.c.body).join(runs, runs.c.id == events.c.run_id)
    query = query.where(runs.c.session_id == session_id, runs.c.created_at.between(first, last))
    query = query.where(exists().where(*owned(scope, session_id)))
    return query.order_by(runs.c.created_at.desc(), runs.c.id.desc(), events.c.seq)


def _insert(connection: Connection, lease: Lease, record: Record) -> None:
    """Write one event if the lease still holds, in one statement: on most databases a second one costs a journey."""
    row = _row(lease.run_id, record)
    held = select(*(literal(value) for value in row.values()))
    held = held.where(exists().where(runs.c.id == lease.run_id, runs.c.epoch == lease.epoch))
    # Some drivers would not keep how many rows an insert wrote.
    once_held = insert(events).from_select(list(row), held).execution_options(preserve_rowcount=True)
    written = connection.execute(once_held)
    if written.rowcount != 1:
        raise RunLost("run_lost", run=lease.run_id)


def _row(run_id: str, record: Record) -> dict[str, str | int]:
    body = msgspec.json.encode(record.event).decode()
    kind = str(type(record.event).__struct_config__.tag)
    return {"run_id": run_id, "seq": record.seq, "at": record.at, "type": kind, "body": body}
