"""Leases: who drives a run. A lease keeps a second driver away; its epoch, checked at every write, keeps the log right."""

from dataclasses import dataclass

from sqlalchemy import or_, select, update

from zeno.core.errors import Conflict, NotFound, RunLost
from zeno.stores.database import Database
from zeno.stores.tables import runs


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

    async def holder(self, run_id: str) -> str | None:
        """The owner of the lease, expired or not."""
        async with self.database.reading() as connection:
            return await connection.scalar(select(runs.c.lease_owner).where(runs.c.id == run_id))

    async def take(self, run_id: str, owner: str, *, now: int, duration: int, from_dead: str | None = None) -> Lease:
        """Take the lease if nobody has it, it has expired, or its owner is `from_dead`.

        Raises `NotFound` for an unknown run and `Conflict` when another driver holds it.
        """
        free = or_(runs.c.lease_owner.is_(None), runs.c.lease_until < now, runs.c.lease_owner == from_dead)
        async with self.database.writing() as connection:
            row = (await connection.execute(select(runs.c.epoch, runs.c.lease_owner).where(runs.c.id == run_id))).first()
            if row is None:
                raise NotFound("run_not_found", run=run_id)
            taking = update(runs).where(runs.c.id == run_id, runs.c.epoch == row.epoch, free)
            taken = await connection.execute(taking.values(lease_owner=owner, lease_until=now + duration, epoch=row.epoch + 1))
            if taken.rowcount == 0:
                raise Conflict("run_driven", run=run_id, owner=row.lease_owner or "")
        return Lease(run_id=run_id, owner=owner, epoch=row.epoch + 1)

    async def renew(self, lease: Lease, *, now: int, duration: int) -> None:
        """Hold the lease for another `duration`. Raises `RunLost` when it has passed to another driver."""
        if not await self._change(lease, lease_until=now + duration):
            raise RunLost("run_lost", run=lease.run_id)

    async def release(self, lease: Lease) -> None:
        """Give the lease back, if it is still held."""
        await self._change(lease, lease_owner=None, lease_until=None)

    async def _change(self, lease: Lease, **values: object) -> bool:
        held = update(runs).where(runs.c.id == lease.run_id, runs.c.epoch == lease.epoch)
        async with self.database.writing() as connection:
            return (await connection.execute(held.values(**values))).rowcount == 1
