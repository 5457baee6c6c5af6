"""The inbox: commands on their way to a run, kept until its driver has turned them into events."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, insert, select

from zeno.core.commands import Command
from zeno.core.errors import Conflict
from zeno.stores.database import Database, reading, writing
from zeno.stores.jobs import put_job
from zeno.stores.tables import inbox, runs


@dataclass(frozen=True, kw_only=True)
class Inbox:
    """The commands of all runs. Times are milliseconds since 1970-01-01 UTC."""

    database: Database

    @writing
    def put(self, connection: Connection, run_id: str, command: Command, at: int) -> None:
        """Leave a command for the run. Raises `Conflict` when the run is over: then nobody would read it."""
        # The row is held until the command is written, so the run cannot end in between.
        ended = select(runs.c.ended_at).where(runs.c.id == run_id).with_for_update()
        if connection.scalar(ended) is not None:
            raise Conflict("run_ended", run=run_id)
        put_command(connection, run_id, command, at)

    @reading
    def pending(self, connection: Connection, run_id: str) -> Sequence[tuple[int, Command]]:
        """The commands that no event came of yet, oldest first, each with its number."""
        waiting = select(inbox.c.id, inbox.c.body).where(inbox.c.run_id == run_id, inbox.c.absorbed.is_(False))
        rows = connection.execute(waiting.order_by(inbox.c.id))
        return [(number, msgspec.json.decode(body, type=Command)) for number, body in rows]

    @reading
    def waiting(self, connection: Connection) -> set[str]:
        """The runs for which something lies here."""
        return set(connection.scalars(select(inbox.c.run_id).where(inbox.c.absorbed.is_(False)).distinct()))


def put_command(connection: Connection, run_id: str, command: Command, at: int) -> None:
    """Leave a command within a transaction of the caller's, and the job of whoever is to look at it."""
    body = msgspec.json.encode(command).decode()
    connection.execute(insert(inbox).values(run_id=run_id, at=at, body=body, absorbed=False))
    put_job(connection, run_id)
