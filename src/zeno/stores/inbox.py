"""The inbox: commands on their way to a run, kept until its driver has turned them into events."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from zeno.core.commands import Command
from zeno.stores.database import Database
from zeno.stores.tables import inbox


@dataclass(frozen=True, kw_only=True)
class Inbox:
    """The commands of all runs. Times are milliseconds since 1970-01-01 UTC."""

    database: Database

    async def put(self, run_id: str, command: Command, at: int) -> None:
        """Leave a command for the run."""
        async with self.database.writing() as connection:
            await put_command(connection, run_id, command, at)

    async def pending(self, run_id: str) -> Sequence[tuple[int, Command]]:
        """The commands that no event came of yet, oldest first, each with its number."""
        waiting = select(inbox.c.id, inbox.c.body).where(inbox.c.run_id == run_id, inbox.c.absorbed.is_(False))
        async with self.database.reading() as connection:
            rows = await connection.execute(waiting.order_by(inbox.c.id))
            return [(number, msgspec.json.decode(body, type=Command)) for number, body in rows]


async def put_command(connection: AsyncConnection, run_id: str, command: Command, at: int) -> None:
    """Leave a command within a transaction of the caller's."""
    body = msgspec.json.encode(command).decode()
    await connection.execute(insert(inbox).values(run_id=run_id, at=at, body=body, absorbed=False))
