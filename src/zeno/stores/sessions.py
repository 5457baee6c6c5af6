"""Sessions: the conversations of a user, each a row of runs that share their files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, delete, exists, insert, or_, select, update

from zeno.core.errors import Conflict, NotFound
from zeno.core.scope import Scope
from zeno.stores.database import Database, reading, writing
from zeno.stores.tables import effects, runs, sessions

AT_ONCE = 500
"""Runs whose effects one statement deletes: databases limit its parameters."""


class Session(msgspec.Struct, frozen=True):
    """One conversation. Times are milliseconds since 1970-01-01 UTC; `archived_at` is `None` while it is in use."""

    id: str
    title: str
    created_at: int
    used_at: int
    archived_at: int | None = None


@dataclass(frozen=True, kw_only=True)
class Sessions:
    """All sessions."""

    database: Database

    @writing
    def create(self, connection: Connection, scope: Scope, session: Session) -> None:
        """Keep a new session."""
        values = msgspec.structs.asdict(session) | {"team_id": scope.team, "user_id": scope.user}
        connection.execute(insert(sessions).values(values))

    @reading
    def find(self, connection: Connection, scope: Scope, session_id: str) -> Session:
        """One session of the scope. Raises `NotFound`."""
        row = (connection.execute(select(sessions).where(*_own(scope), sessions.c.id == session_id))).first()
        if row is None:
            raise NotFound("session_not_found", session=session_id)
        return _session(row)

    @reading
    def newest(
        self,
        connection: Connection,
        scope: Scope,
        most: int,
        *,
        before: int | None = None,
        archived: bool = False,
        search: str = "",
    ) -> list[Session]:
        """The scope's sessions, the one used last first, at most `most`; used before `before`.

        `search` is looked for in titles and in what the user asked.
        """
        query = select(sessions).where(*_own(scope))
        query = query.where(sessions.c.archived_at.is_not(None) if archived else sessions.c.archived_at.is_(None))
        if before is not None:
            query = query.where(sessions.c.used_at < before)
        if search:
            asked = exists().where(runs.c.session_id == sessions.c.id, runs.c.task.icontains(search, autoescape=True))
            query = query.where(or_(sessions.c.title.icontains(search, autoescape=True), asked))
        rows = connection.execute(query.order_by(sessions.c.used_at.desc(), sessions.c.id).limit(most))
        return [_session(row) for row in rows]

    async def rename(self, scope: Scope, session_id: str, title: str) -> None:
        """Give it another title. Raises `NotFound`."""
        await self._change(scope, session_id, {"title": title})

    async def archive(self, scope: Scope, session_id: str, at: int | None) -> None:
        """Put it away, or back with `None`. Raises `NotFound`."""
        await self._change(scope, session_id, {"archived_at": at})

    @writing
    def delete(self, connection: Connection, scope: Scope, session_id: str, now: int) -> None:
        """Remove it with its runs and all they hold. Raises `NotFound`, or `Conflict` while one is being driven."""
        driven = exists().where(
            runs.c.session_id == session_id,
            runs.c.ended_at.is_(None),
            runs.c.lease_owner.is_not(None),
            runs.c.lease_until >= now,
        )
        # Held from here on: no run of it can begin.
        held = select(sessions.c.id).where(*_own(scope), sessions.c.id == session_id).with_for_update()
        if connection.scalar(held) is None:
            raise NotFound("session_not_found", session=session_id)
        if connection.scalar(select(driven)):
            raise Conflict("session_busy", session=session_id)
        delete_sessions(connection, [session_id])

    @writing
    def _change(self, connection: Connection, scope: Scope, session_id: str, values: dict[str, object]) -> None:
        changing = update(sessions).where(*_own(scope), sessions.c.id == session_id).values(values)
        if (connection.execute(changing)).rowcount == 0:
            raise NotFound("session_not_found", session=session_id)


def delete_sessions(connection: Connection, session_ids: Sequence[str]) -> int:
    """Delete conversations with all they hold, as part of a transaction that holds their rows: how many runs they had."""
    theirs = list(connection.scalars(select(runs.c.id).where(runs.c.session_id.in_(session_ids))))
    connection.execute(delete(sessions).where(sessions.c.id.in_(session_ids)))
    # After the runs: whoever drives one writes no effect from then on.
    for start in range(0, len(theirs), AT_ONCE):
        connection.execute(delete(effects).where(effects.c.run_id.in_(theirs[start : start + AT_ONCE])))
    return len(theirs)


def _own(scope: Scope) -> tuple[Any, Any]:
    return sessions.c.team_id == scope.team, sessions.c.user_id == scope.user


def _session(row: Row[Any]) -> Session:
    return Session(row.id, row.title, row.created_at, row.used_at, row.archived_at)
