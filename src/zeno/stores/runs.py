"""Runs and sessions: the rows that say which runs there are. What happened in them is in the log."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Row, insert, select

from zeno.core.agents import AgentSpec
from zeno.core.commands import Say
from zeno.core.errors import Invalid, NotFound
from zeno.stores.database import Database
from zeno.stores.inbox import put_command
from zeno.stores.tables import runs, sessions


class Run(msgspec.Struct, frozen=True):
    """One run. Times are milliseconds since 1970-01-01 UTC; `ending` is `None` while it is open."""

    id: str
    session_id: str
    task: str
    agent: AgentSpec
    created_at: int
    ended_at: int | None = None
    ending: str | None = None


@dataclass(frozen=True, kw_only=True)
class Runs:
    """All runs."""

    database: Database

    async def create(self, run: Run, say: Say) -> None:
        """Keep a new run, its session if that is new, and its first command, all or nothing."""
        async with self.database.writing() as connection:
            known = await connection.scalar(select(sessions.c.id).where(sessions.c.id == run.session_id))
            if known is None:
                title = run.task[:200]
                await connection.execute(insert(sessions).values(id=run.session_id, title=title, created_at=run.created_at))
            values = msgspec.structs.asdict(run) | {"agent": msgspec.json.encode(run.agent).decode(), "epoch": 0}
            await connection.execute(insert(runs).values(values))
            await put_command(connection, run.id, say, run.created_at)

    async def find(self, prefix: str) -> Run:
        """The run whose id begins with `prefix`. Raises `NotFound`, or `Invalid` when several do."""
        query = select(runs).where(runs.c.id.startswith(prefix, autoescape=True)).limit(2)
        async with self.database.reading() as connection:
            rows = (await connection.execute(query)).all()
        if not rows or not prefix:
            raise NotFound("run_not_found", run=prefix)
        if len(rows) > 1:
            raise Invalid("run_ambiguous", run=prefix)
        return _run(rows[0])

    async def newest(self, most: int) -> list[Run]:
        """The newest runs, newest first, at most `most`."""
        return await self._list(select(runs).order_by(runs.c.created_at.desc(), runs.c.id).limit(most))

    async def of_session(self, session_id: str) -> list[Run]:
        """The runs of a session, oldest first."""
        query = select(runs).where(runs.c.session_id == session_id)
        return await self._list(query.order_by(runs.c.created_at, runs.c.id))

    async def _list(self, query: Any) -> list[Run]:
        async with self.database.reading() as connection:
            rows: Sequence[Row[Any]] = (await connection.execute(query)).all()
        return [_run(row) for row in rows]


def _run(row: Row[Any]) -> Run:
    return Run(
        id=row.id,
        session_id=row.session_id,
        task=row.task,
        agent=msgspec.json.decode(row.agent, type=AgentSpec),
        created_at=row.created_at,
        ended_at=row.ended_at,
        ending=row.ending,
    )
