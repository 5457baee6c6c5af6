"""Runs: the rows that say which runs there are. What happened in them is in the log."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    Row,
    ScalarSelect,
    and_,
    cast,
    exists,
    insert,
    or_,
    select,
    tuple_,
    type_coerce,
    update,
)
from sqlalchemy.exc import IntegrityError

from zeno.core.agents import AgentSpec
from zeno.core.commands import Say
from zeno.core.errors import Invalid, NotFound
from zeno.core.scope import Scope
from zeno.stores.database import Database, reading, writing
from zeno.stores.inbox import put_command
from zeno.stores.tables import inbox, runs, sessions

WHOLE = 32
"""Characters of an id."""


class Run(msgspec.Struct, frozen=True):
    """One run. Times are milliseconds since 1970-01-01 UTC; `ended_at` is `None` while it is open.

    `ending` is `None` while it is at work and `awaiting_approval` while it is paused.
    """

    id: str
    session_id: str
    team_id: str
    user_id: str
    task: str
    agent: AgentSpec
    created_at: int
    ended_at: int | None = None
    ending: str | None = None

    @property
    def scope(self) -> Scope:
        """Whose run it is."""
        return Scope(self.team_id, self.user_id)


class Stranded(msgspec.Struct, frozen=True):
    """An open run that somebody should drive. `owner` is who did so last; `leased` says that they may still be at it."""

    id: str
    session_id: str
    owner: str | None
    leased: bool


def _ahead() -> ScalarSelect[str]:
    other = runs.alias()
    earlier = tuple_(other.c.created_at, other.c.id) < tuple_(runs.c.created_at, runs.c.id)
    same = select(other.c.id).where(other.c.session_id == runs.c.session_id, other.c.ended_at.is_(None), earlier)
    return same.limit(1).scalar_subquery()


AHEAD = _ahead()
"""In a query of runs: an open run of the same session that was asked for before, and has to come to its end first."""


@dataclass(frozen=True, kw_only=True)
class Runs:
    """All runs."""

    database: Database

    async def create(self, run: Run, say: Say, request_key: str | None = None) -> Run:
        """Keep a new run, its session if that is new, and its first command, all or nothing.

        `request_key` is the caller's name for the request: made once more with the same one, the first run is returned.
        Raises `NotFound` when the session is another user's.
        """
        try:
            return await self._create(run, say, request_key)
        except IntegrityError:
            # At this very moment somebody made the session, or asked the same. What they made is there to be seen now.
            return await self._create(run, say, request_key)

    @writing
    def _create(self, connection: Connection, run: Run, say: Say, request_key: str | None) -> Run:
        owner = select(sessions.c.team_id, sessions.c.user_id).where(sessions.c.id == run.session_id)
        known = (connection.execute(owner)).first()
        if known is None:
            connection.execute(insert(sessions).values(_session_of(run)))
        elif (known.team_id, known.user_id) != (run.team_id, run.user_id):
            raise NotFound("session_not_found", session=run.session_id)
        elif request_key is not None:
            same = select(runs).where(runs.c.session_id == run.session_id, runs.c.request_key == request_key)
            if earlier := (connection.execute(same)).first():
                return _run(earlier)
        connection.execute(update(sessions).where(sessions.c.id == run.session_id).values(used_at=run.created_at))
        values = msgspec.structs.asdict(run) | {"agent": msgspec.json.encode(run.agent).decode(), "epoch": 0}
        connection.execute(insert(runs).values(values | {"request_key": request_key}))
        put_command(connection, run.id, say, run.created_at)
        return run

    @reading
    def find(self, connection: Connection, scope: Scope | None, prefix: str) -> Run:
        """The scope's run whose id begins with `prefix`, or with `None` anybody's.

        Raises `NotFound`, or `Invalid` when several do.
        """
        # A whole id is looked up; for a part of one, no index helps.
        same = runs.c.id == prefix if len(prefix) == WHOLE else runs.c.id.startswith(prefix, autoescape=True)
        query = select(runs).where(*(_own(scope) if scope else ()), same).limit(2)
        rows = (connection.execute(query)).all()
        if not rows or not prefix:
            raise NotFound("run_not_found", run=prefix)
        if len(rows) > 1:
            raise Invalid("run_ambiguous", run=prefix)
        return _run(rows[0])

    @reading
    def newest(
        self,
        connection: Connection,
        scope: Scope,
        most: int,
        *,
        before: int | None = None,
        ending: str | None = None,
        state: Literal["open", "ended"] | None = None,
        session_id: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        search: str = "",
    ) -> list[Run]:
        """The scope's newest runs, newest first, at most `most`; made before `before`, of one ending (`open`: none yet).

        `state` is `open` for those that are not over, paused ones too; `search` is looked for in what was asked.
        """
        # Whose the runs of a conversation are, the conversation says: by both, a database may choose the longer way.
        wanted: list[ColumnElement[bool]] = (
            list(_own(scope)) if session_id is None else [exists().where(*owned(scope, session_id))]
        )
        if before is not None:
            wanted.append(runs.c.created_at < before)
        if session_id is not None:
            wanted.append(runs.c.session_id == session_id)
        if ending is not None:
            wanted.append(runs.c.ending.is_(None) if ending == "open" else runs.c.ending == ending)
        if state is not None:
            wanted.append(runs.c.ended_at.is_(None) if state == "open" else runs.c.ended_at.is_not(None))
        wanted += [
            _of_agent(connection, name) == value for name, value in (("name", agent), ("model", model)) if value is not None
        ]
        if search:
            wanted.append(runs.c.task.icontains(search, autoescape=True))
        rows = connection.execute(select(runs).where(*wanted).order_by(runs.c.created_at.desc(), runs.c.id).limit(most))
        return [_run(row) for row in rows]

    @reading
    def latest(self, connection: Connection, scope: Scope, session_id: str, most: int, before: str | None) -> list[Run]:
        """The last runs of a session, the last one first, at most `most`; of those ahead of the run `before`, if that is given.

        Raises `NotFound` when there is no such session, or no such run in it.
        """
        known = select(sessions.c.id).where(*owned(scope, session_id))
        if connection.scalar(known) is None:
            raise NotFound("session_not_found", session=session_id)
        query = select(runs).where(runs.c.session_id == session_id)
        if before is not None:
            place = select(runs.c.created_at).where(runs.c.id == before, runs.c.session_id == session_id)
            if (at := connection.scalar(place)) is None:
                raise NotFound("run_not_found", run=before)
            query = query.where(runs.c.created_at <= at, or_(runs.c.created_at < at, runs.c.id < before))
        rows = connection.execute(query.order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(most))
        return [_run(row) for row in rows]

    async def of_session(self, scope: Scope, session_id: str) -> list[Run]:
        """The scope's runs of a session, oldest first."""
        query = select(runs).where(runs.c.session_id == session_id, exists().where(*owned(scope, session_id)))
        return await self._list(query.order_by(runs.c.created_at, runs.c.id))

    @reading
    def due(self, connection: Connection, session_id: str) -> tuple[Run, bool] | None:
        """The oldest open run of a session, and whether there is anything to be done in it; it has to come first."""
        query = select(runs, _COMMANDED.label("commanded")).where(runs.c.session_id == session_id, runs.c.ended_at.is_(None))
        row = (connection.execute(query.order_by(runs.c.created_at, runs.c.id).limit(1))).first()
        return (_run(row), row.ending is None or row.commanded) if row else None

    @reading
    def queued(self, connection: Connection, run_id: str) -> bool:
        """Whether a run waits for another one of its session."""
        return connection.scalar(select(AHEAD).where(runs.c.id == run_id)) is not None

    @reading
    def stranded(self, connection: Connection, *, older_than: int, now: int) -> list[Stranded]:
        """Open runs with something to be done in them now, made before `older_than`, the oldest first."""
        leased = and_(runs.c.lease_owner.is_not(None), runs.c.lease_until >= now)
        query = select(runs.c.id, runs.c.session_id, runs.c.lease_owner, leased).where(
            runs.c.ended_at.is_(None),
            or_(runs.c.ending.is_(None), _COMMANDED),
            runs.c.created_at < older_than,
            AHEAD.is_(None),
        )
        return [Stranded(*row) for row in connection.execute(query.order_by(runs.c.created_at))]

    @reading
    def _list(self, connection: Connection, query: Any) -> list[Run]:
        rows: Sequence[Row[Any]] = (connection.execute(query)).all()
        return [_run(row) for row in rows]


_COMMANDED = exists().where(and_(inbox.c.run_id == runs.c.id, inbox.c.absorbed.is_(False)))


def _own(scope: Scope) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return runs.c.team_id == scope.team, runs.c.user_id == scope.user


def owned(scope: Scope, session_id: str) -> tuple[ColumnElement[bool], ...]:
    """That the session of this id is the scope's, and so all its runs are: an index finds them by the session alone."""
    return sessions.c.id == session_id, sessions.c.team_id == scope.team, sessions.c.user_id == scope.user


def _of_agent(connection: Connection, name: str) -> ColumnElement[str]:
    """A field of the agent that a run was given."""
    # PostgreSQL reads JSON from a column of that type only, others from any text.
    column = cast(runs.c.agent, JSON) if connection.dialect.name == "postgresql" else type_coerce(runs.c.agent, JSON)
    text: ColumnElement[str] = column[name].as_string()
    return text


def _session_of(run: Run) -> dict[str, str | int]:
    return {
        "id": run.session_id,
        "team_id": run.team_id,
        "user_id": run.user_id,
        "title": " ".join(run.task.split())[:200],
        "created_at": run.created_at,
        "used_at": run.created_at,
    }


def _run(row: Row[Any]) -> Run:
    return Run(
        id=row.id,
        session_id=row.session_id,
        team_id=row.team_id,
        user_id=row.user_id,
        task=row.task,
        agent=msgspec.json.decode(row.agent, type=AgentSpec),
        created_at=row.created_at,
        ended_at=row.ended_at,
        ending=row.ending,
    )
