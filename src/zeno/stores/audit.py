"""The audit: who did what, with which outcome; refused ones too. What tools did comes here with the event that tells it."""

from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, insert, select

from zeno.core.scope import Scope
from zeno.stores.database import Database, reading, writing
from zeno.stores.tables import audit


class AuditEntry(msgspec.Struct, frozen=True):
    """One line. `at` is in milliseconds since 1970-01-01 UTC, `digest` stands for the arguments, `decision` for an approval."""

    id: int
    at: int
    user_id: str
    action: str
    target: str
    run_id: str
    call_id: str
    effect: str
    digest: str
    decision: str
    result: str


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The whole audit."""

    database: Database

    @writing
    def write(
        self,
        connection: Connection,
        scope: Scope,
        action: str,
        target: str = "",
        *,
        at: int,
        decision: str = "",
        result: str = "",
        run_id: str = "",
    ) -> None:
        """Add a line about something that is not a tool's call."""
        put_line(connection, scope, action, target, at=at, decision=decision, result=result, run_id=run_id)

    @reading
    def newest(
        self,
        connection: Connection,
        scope: Scope,
        most: int,
        *,
        admin: bool = False,
        before: int | None = None,
        run_id: str | None = None,
    ) -> list[AuditEntry]:
        """The newest lines, newest first, with an id below `before`: one's own, for an admin the team's."""
        query = select(audit).where(audit.c.team_id == scope.team)
        if not admin:
            query = query.where(audit.c.user_id == scope.user)
        if before is not None:
            query = query.where(audit.c.id < before)
        if run_id is not None:
            query = query.where(audit.c.run_id == run_id)
        rows = connection.execute(query.order_by(audit.c.id.desc()).limit(most))
        return [AuditEntry(*(getattr(row, name) for name in AuditEntry.__struct_fields__)) for row in rows]


def put_line(
    connection: Connection,
    scope: Scope,
    action: str,
    target: str,
    *,
    at: int,
    decision: str = "",
    result: str = "",
    run_id: str = "",
) -> None:
    """Add a line as part of a transaction."""
    own = {"team_id": scope.team, "user_id": scope.user, "at": at, "action": action[:64], "target": fitting(target)}
    more = {"run_id": fitting(run_id, 32), "call_id": "", "effect": "", "digest": "", "decision": decision[:48]}
    connection.execute(insert(audit).values(own | more | {"result": result[:64]}))


def fitting(text: str, most: int = 255) -> str:
    """What somebody named, which may be anything, as a column takes it."""
    return text[:most].replace("\x00", "\ufffd")
