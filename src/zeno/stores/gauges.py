"""Gauges: a few figures about the whole database, each by one cheap question. It knows nothing of who asks."""

from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, and_, exists, func, or_, select

from zeno.stores.database import Database, reading
from zeno.stores.runs import AHEAD
from zeno.stores.tables import approvals, inbox, runs


class Load(msgspec.Struct, frozen=True):
    """What there is to be done. `oldest_due_at` is in milliseconds since 1970-01-01 UTC, `None` when nothing is due."""

    due: int
    oldest_due_at: int | None
    driven: int
    paused: int
    approvals: int


@dataclass(frozen=True, kw_only=True)
class Gauges:
    """Figures of the whole installation, whoever its rows belong to."""

    database: Database

    @reading
    def load(self, connection: Connection, now: int) -> Load:
        """The load at `now`, in milliseconds: due are the open runs that somebody should drive now and nobody does."""
        commanded = exists().where(inbox.c.run_id == runs.c.id, inbox.c.absorbed.is_(False))
        leased = and_(runs.c.lease_owner.is_not(None), runs.c.lease_until >= now)
        free = or_(runs.c.lease_owner.is_(None), runs.c.lease_until < now)
        opened = runs.c.ended_at.is_(None)
        due = select(func.count(), func.min(runs.c.created_at)).where(
            opened, free, or_(runs.c.ending.is_(None), commanded), AHEAD.is_(None)
        )
        number, oldest = connection.execute(due).one()
        driven = select(func.count()).select_from(runs).where(opened, leased)
        paused = select(func.count()).select_from(runs).where(opened, free, runs.c.ending.is_not(None), ~commanded)
        waiting = select(func.count()).select_from(approvals).where(approvals.c.status == "pending")
        return Load(
            due=number,
            oldest_due_at=oldest,
            driven=connection.scalar(driven) or 0,
            paused=connection.scalar(paused) or 0,
            approvals=connection.scalar(waiting) or 0,
        )
