"""Leases: who drives a run. A lease keeps a second driver away; its epoch, checked at every write, keeps the log right."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, or_, select, update

from zeno.core.errors import Conflict, NotFound
from zeno.stores.database import Database, writing
from zeno.stores.runs import AHEAD
from zeno.stores.tables import runs

AT_ONCE = 500
"""Leases renewed by one statement: databases limit its parameters."""


@dataclass(frozen=True, kw_only=True)
class Lease:
    """The right to drive a run. `epoch` counts the drivers that the run has had."""

    run_id: str
    owner: str
    epoch: int


@dataclass(frozen=True, kw_only=True)
class Leases:
    """The leases of all runs. Times are milliseconds since 1970-01-01 UTC, durations milliseconds."""

    database: Database

    @writing
    def take(
        self,
        connection: Connection,
        run_id: str,
        owner: str,
        *,
        now: int,
        duration: int,
        is_dead: Callable[[str], bool] = lambda _owner: False,
        in_turn: bool = True,
    ) -> Lease:
        """Take the lease if nobody has it, it has expired, or its owner is known to be dead.

        Raises `NotFound` for an unknown run, `Conflict` when another driver holds it, or an earlier run of its session is still
        open and it is to be `in_turn`: runs of one conversation follow each other.
        """
        columns = (runs.c.session_id, runs.c.epoch, runs.c.lease_owner, AHEAD.label("first"))
        row = (connection.execute(select(*columns).where(runs.c.id == run_id))).first()
        if row is None:
            raise NotFound("run_not_found", run=run_id)
        if in_turn and row.first is not None:
            raise Conflict("session_busy", session=row.session_id, run=row.first)
        dead = row.lease_owner if row.lease_owner and is_dead(row.lease_owner) else None
        free = or_(runs.c.lease_owner.is_(None), runs.c.lease_until < now, runs.c.lease_owner == dead)
        taking = update(runs).where(runs.c.id == run_id, runs.c.epoch == row.epoch, free)
        taken = connection.execute(taking.values(lease_owner=owner, lease_until=now + duration, epoch=row.epoch + 1))
        if taken.rowcount == 0:
            raise Conflict("run_driven", run=run_id, owner=row.lease_owner or "")
        return Lease(run_id=run_id, owner=owner, epoch=row.epoch + 1)

    @writing
    def renew(self, connection: Connection, leases: Sequence[Lease], *, now: int, duration: int) -> set[str]:
        """Hold the leases of one owner for another `duration`: the ids of the runs that are still held."""
        held: set[str] = set()
        for some in batched(leases, AT_ONCE):
            epochs = {lease.run_id: lease.epoch for lease in some}
            mine = and_(runs.c.id.in_(list(epochs)), runs.c.lease_owner == some[0].owner)
            connection.execute(update(runs).where(mine).values(lease_until=now + duration))
            rows = connection.execute(select(runs.c.id, runs.c.epoch).where(mine))
            held |= {row.id for row in rows if row.epoch == epochs[row.id]}
        return held

    @writing
    def release(self, connection: Connection, lease: Lease) -> None:
        """Give the lease back, if it is still held."""
        held = update(runs).where(runs.c.id == lease.run_id, runs.c.epoch == lease.epoch)
        connection.execute(held.values(lease_owner=None, lease_until=None))


def batched(leases: Sequence[Lease], size: int) -> Iterator[Sequence[Lease]]:
    """The leases in pieces of at most `size`."""
    return (leases[start : start + size] for start in range(0, len(leases), size))
