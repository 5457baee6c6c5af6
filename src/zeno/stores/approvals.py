"""Approvals: the calls that people are asked about. A decision is one compare-and-set; all that follows comes after it."""

from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from sqlalchemy import Connection, Row, and_, or_, select, true, update

from zeno.core.commands import Decide
from zeno.core.decisions import Decision, Expired
from zeno.core.errors import Conflict, NotFound
from zeno.core.ports import Effect
from zeno.core.provenance import Passage
from zeno.core.scope import LOCAL, Scope
from zeno.stores.audit import put_line
from zeno.stores.database import Database, reading, writing
from zeno.stores.inbox import put_command
from zeno.stores.rules import KeptRule, put_rule
from zeno.stores.tables import approvals

Status = Literal["pending", "decided", "expired", "cancelled", "void"]


class Approval(msgspec.Struct, frozen=True):
    """One call that a person is asked about. Times are milliseconds since 1970-01-01 UTC.

    `arguments` is canonical JSON, `definition` the digest of the tool when it was asked. `passage` is untrusted text that an
    argument was taken over from. `decision` is `None` until there is one; `cancelled` closed it with its run, `void` because
    the tool had changed.
    """

    id: str
    run_id: str
    call_id: str
    session_id: str
    kind: Literal["action", "question"]
    tool: str
    effect: Effect
    arguments: str
    definition: str
    cause: str
    approver: str
    requested_at: int
    expires_at: int
    status: Status
    decision: Decision | None = None
    decided_at: int | None = None
    decided_by: str | None = None
    passage: Passage | None = None


@dataclass(frozen=True, kw_only=True)
class Approvals:
    """All approvals. What a user may see and decide are those of their own runs; an admin's also those meant for admins.

    A scope of `None` is for whoever runs the installation, who decides in place of anybody.
    """

    database: Database

    @reading
    def find(self, connection: Connection, scope: Scope | None, approval_id: str, *, admin: bool = False) -> Approval:
        """One approval. Raises `NotFound`."""
        return _find(connection, scope, approval_id, admin=admin)

    @reading
    def listed(
        self,
        connection: Connection,
        scope: Scope | None,
        *,
        admin: bool = False,
        status: Status | None = "pending",
        run_id: str | None = None,
        most: int = 100,
    ) -> list[Approval]:
        """The approvals of one status (`None`: any), at most `most`; pending ones the oldest first, others the newest first."""
        query = select(approvals).where(_visible(scope, admin=admin))
        if status is not None:
            query = query.where(approvals.c.status == status)
        if run_id is not None:
            query = query.where(approvals.c.run_id == run_id)
        order: tuple[Any, ...] = (approvals.c.requested_at, approvals.c.id)
        if status != "pending":
            order = (order[0].desc(), order[1].desc())
        rows = connection.execute(query.order_by(*order).limit(most))
        return [_approval(row) for row in rows]

    @reading
    def of_run(self, connection: Connection, scope: Scope, run_id: str) -> list[Approval]:
        """What a run of the scope's own waits for, the oldest first, whoever may decide about it."""
        own = (approvals.c.team_id == scope.team, approvals.c.user_id == scope.user, approvals.c.run_id == run_id)
        query = select(approvals).where(*own, approvals.c.status == "pending")
        return [_approval(row) for row in connection.execute(query.order_by(approvals.c.requested_at, approvals.c.id))]

    @writing
    def decide(
        self,
        connection: Connection,
        scope: Scope | None,
        found: Approval,
        decision: Decision,
        *,
        now: int,
        admin: bool = False,
        sparing: KeptRule | None = None,
    ) -> tuple[Approval, bool]:
        """Decide about what `find` found, if nobody has: the approval then, and whether it was this call that decided it.

        The decision, the command for the run, its line in the audit and the rule `sparing` the next question are written
        together. What whoever runs the installation decides is in the audit of the run's team, as the user `local`. Raises
        `NotFound`, `Conflict` when it was decided otherwise, closed, or has expired, and when there is no room for the rule.
        """
        body = msgspec.json.encode(decision).decode()
        who = scope or Scope(_team(connection, found.id), LOCAL.user)
        deciding = update(approvals).where(
            approvals.c.id == found.id,
            approvals.c.status == "pending",
            approvals.c.expires_at > now,
            _visible(scope, admin=admin),
        )
        values = {"status": "decided", "decision": body, "decided_at": now, "decided_by": who.user}
        won = (connection.execute(deciding.values(values))).rowcount == 1
        if won:
            put_command(connection, found.run_id, Decide(found.id, decision, who.user), now)
            kind = str(type(decision).__struct_config__.tag)
            put_line(connection, who, "decide", found.tool, at=now, decision=found.id, result=kind, run_id=found.run_id)
            found = msgspec.structs.replace(found, **values | {"decision": decision})
        else:
            found = _find(connection, scope, found.id, admin=admin)
            if found.status != "decided" or found.decision != decision:
                raise _closed(found)
        if sparing is not None and put_rule(connection, who, sparing) is sparing:
            put_line(connection, who, "rule_added", sparing.id, at=now, result="done")
        return found, won

    async def expire(self, now: int) -> list[str]:
        """Say no where nobody decided in time: the ids of the runs that have to be told, and now find it in their inbox."""
        due = await self._due(now)
        return await self._expire(due, now) if due else []

    @reading
    def _due(self, connection: Connection, now: int) -> list[tuple[str, str]]:
        due = select(approvals.c.id, approvals.c.run_id).where(approvals.c.status == "pending", approvals.c.expires_at <= now)
        # In one order everywhere: several processes notice at the same time, and lock what they close.
        return [(row.id, row.run_id) for row in connection.execute(due.order_by(approvals.c.id))]

    @writing
    def _expire(self, connection: Connection, due: list[tuple[str, str]], now: int) -> list[str]:
        told, body = [], msgspec.json.encode(Expired()).decode()
        for approval_id, run_id in due:
            closing = update(approvals).where(approvals.c.id == approval_id, approvals.c.status == "pending")
            if connection.execute(closing.values(status="expired", decision=body, decided_at=now)).rowcount:
                put_command(connection, run_id, Decide(approval_id, Expired()), now)
                told.append(run_id)
        return told

    @reading
    def unnotified(self, connection: Connection, most: int) -> list[Approval]:
        """Pending ones that nobody outside was told of yet."""
        query = select(approvals).where(approvals.c.status == "pending", approvals.c.notified_at.is_(None))
        return [_approval(row) for row in connection.execute(query.order_by(approvals.c.requested_at).limit(most))]

    @writing
    def notified(self, connection: Connection, approval_id: str, now: int) -> None:
        """Remember that somebody outside was told of it."""
        connection.execute(update(approvals).where(approvals.c.id == approval_id).values(notified_at=now))


def _closed(approval: Approval) -> Conflict:
    """Why it can no longer be decided so. One that is still pending has expired, and only nobody has said so yet."""
    match approval.status:
        case "decided":
            return Conflict("approval_decided", approval=approval.id)
        case "cancelled":
            return Conflict("approval_cancelled", approval=approval.id)
        case "void":
            return Conflict("approval_void", approval=approval.id)
        case "expired" | "pending":
            return Conflict("approval_expired", approval=approval.id)


def _visible(scope: Scope | None, *, admin: bool) -> Any:
    """Those that the scope may decide: its own, unless they are for admins; an admin of the team decides those."""
    if scope is None:
        return true()
    own = and_(approvals.c.user_id == scope.user, approvals.c.approver == "owner")
    mine = or_(own, approvals.c.approver == "admin") if admin else own
    return and_(approvals.c.team_id == scope.team, mine)


def _find(connection: Connection, scope: Scope | None, approval_id: str, *, admin: bool) -> Approval:
    query = select(approvals).where(_visible(scope, admin=admin), approvals.c.id == approval_id)
    row = (connection.execute(query)).first()
    if row is None:
        raise NotFound("approval_not_found", approval=approval_id)
    return _approval(row)


def _team(connection: Connection, approval_id: str) -> str:
    team: str = connection.execute(select(approvals.c.team_id).where(approvals.c.id == approval_id)).scalar_one()
    return team


def _approval(row: Row[Any]) -> Approval:
    values = {name: getattr(row, name) for name in Approval.__struct_fields__}
    decision = msgspec.json.decode(row.decision, type=Decision) if row.decision else None
    passage = msgspec.json.decode(row.passage, type=Passage) if row.passage else None
    return Approval(**(values | {"decision": decision, "passage": passage}))
