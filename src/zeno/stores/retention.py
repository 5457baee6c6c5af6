"""Retention: what has become old is found and deleted, a few rows at a time. How old that is, is not decided here.

A conversation goes as a whole, with its runs: half of one would be a lie to whoever reads on. Nothing goes while a run of it
is open, and a paused run is open.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Table, and_, delete, exists, func, or_, select

from zeno.stores.database import Database, reading, writing
from zeno.stores.sessions import delete_sessions
from zeno.stores.tables import audit, inbox, logins, runs, sessions

AT_ONCE = 100
"""Rows that one transaction deletes at most: writers in between should not have to wait."""


class Old(msgspec.Struct, frozen=True, kw_only=True):
    """The limits, in milliseconds since 1970-01-01 UTC: what is from before them is old; `None`: nothing is.

    `unused` is for when a conversation was used last, `archived` for when it was put away, `expired` for when a login ended,
    `noted` for lines of the audit, `absorbed` for commands that their runs have taken.
    """

    unused: int | None = None
    archived: int | None = None
    expired: int | None = None
    noted: int | None = None
    absorbed: int | None = None


class Rows(msgspec.Struct, frozen=True):
    """How many rows are old."""

    sessions: int
    runs: int
    logins: int
    audit: int
    inbox: int


@dataclass(frozen=True, kw_only=True)
class Retention:
    """What is old, of all users."""

    database: Database

    @reading
    def count(self, connection: Connection, old: Old) -> Rows:
        """How much there is to be deleted."""
        conversations = select(sessions.c.id).where(_old_session(old))
        return Rows(
            sessions=connection.scalar(select(func.count()).select_from(conversations.subquery())) or 0,
            runs=connection.scalar(select(func.count()).select_from(runs).where(runs.c.session_id.in_(conversations))) or 0,
            **{table.name: _count(connection, table, condition) for table, _, condition in _loose(old)},
        )

    @writing
    def delete_sessions(self, connection: Connection, old: Old) -> tuple[list[str], int]:
        """Delete some old conversations with all they hold: their ids, none when there are no more, and how many runs they had.

        What was done in them stays in the audit for as long as that is kept.
        """
        found = select(sessions.c.id).where(_old_session(old)).order_by(sessions.c.id).limit(AT_ONCE)
        # Held first and asked again then: a run that began meanwhile is seen, and none can begin from here on.
        held = list(connection.scalars(found.with_for_update()))
        gone = list(connection.scalars(select(sessions.c.id).where(sessions.c.id.in_(held), _old_session(old))))
        return gone, delete_sessions(connection, gone)

    async def delete_rows(self, old: Old) -> dict[str, int]:
        """Delete the old rows that stand for themselves: how many of each table."""
        deleted: dict[str, int] = {}
        for table, key, condition in _loose(old):
            deleted[table.name] = 0
            while number := await self._delete_some(table, key, condition):
                deleted[table.name] += number
        return deleted

    @reading
    def known(self, connection: Connection, session_ids: Sequence[str]) -> set[str]:
        """Which of these conversations there are."""
        return set(connection.scalars(select(sessions.c.id).where(sessions.c.id.in_(session_ids))))

    @reading
    def is_empty(self, connection: Connection) -> bool:
        """Whether there is no conversation at all."""
        return connection.scalar(select(sessions.c.id).limit(1)) is None

    @writing
    def _delete_some(
        self, connection: Connection, table: Table, key: ColumnElement[Any], condition: ColumnElement[bool] | None
    ) -> int:
        if condition is None:
            return 0
        some = list(connection.scalars(select(key).where(condition).limit(AT_ONCE)))
        connection.execute(delete(table).where(key.in_(some)))
        return len(some)


def _old_session(old: Old) -> ColumnElement[bool]:
    """Whether a conversation is old and nothing of it is open."""
    of_it = runs.c.session_id == sessions.c.id
    ways = []
    if old.unused is not None:
        ended_since = exists().where(of_it, runs.c.ended_at >= old.unused)
        ways.append(and_(sessions.c.used_at < old.unused, ~ended_since))
    if old.archived is not None:
        ways.append(sessions.c.archived_at < old.archived)
    return and_(or_(False, *ways), ~exists().where(of_it, runs.c.ended_at.is_(None)))


def _loose(old: Old) -> Sequence[tuple[Table, ColumnElement[Any], ColumnElement[bool] | None]]:
    """Tables whose rows go one by one: each with its key, and which of its rows are old."""
    taken = and_(inbox.c.absorbed.is_(True), inbox.c.at < old.absorbed)
    return (
        (logins, logins.c.hash, None if old.expired is None else logins.c.expires_at < old.expired),
        (audit, audit.c.id, None if old.noted is None else audit.c.at < old.noted),
        (inbox, inbox.c.id, None if old.absorbed is None else taken),
    )


def _count(connection: Connection, table: Table, condition: ColumnElement[bool] | None) -> int:
    if condition is None:
        return 0
    return connection.scalar(select(func.count()).select_from(table).where(condition)) or 0
