"""What follows from an event for the other tables, in the transaction that writes it: none can say what the log does not."""

import msgspec
from sqlalchemy import Connection, exists, insert, literal, select, update

from zeno.core.events import (
    ApprovalDecided,
    ApprovalRequested,
    CancelRequested,
    Event,
    RunEnded,
    RunPaused,
    ToolFinished,
    UserSaid,
)
from zeno.stores.audit import fitting
from zeno.stores.tables import approvals, audit, inbox, runs


class CommandsWaiting(Exception):
    """The run cannot end or pause now: a command has come that it did not know of."""


def project(connection: Connection, run_id: str, event: Event, at: int) -> None:
    """Bring the other tables in step. Raises `CommandsWaiting`."""
    match event:
        case ToolFinished():
            _audit(connection, run_id, event, at)
        case ApprovalRequested():
            _hold(connection, run_id, event, at)
        case RunPaused():
            _refuse_if_commanded(connection, run_id)
            connection.execute(update(runs).where(runs.c.id == run_id).values(ending="awaiting_approval"))
        case UserSaid() | ApprovalDecided() | CancelRequested():
            connection.execute(update(runs).where(runs.c.id == run_id, runs.c.ending.is_not(None)).values(ending=None))
        case RunEnded(ending=ending):
            _refuse_if_commanded(connection, run_id)
            connection.execute(update(runs).where(runs.c.id == run_id).values(ending=ending, ended_at=at))
            _void(connection, run_id, None, "cancelled")
        case _:
            pass


def _refuse_if_commanded(connection: Connection, run_id: str) -> None:
    # Whoever leaves a command holds the run's row meanwhile.
    connection.execute(select(runs.c.id).where(runs.c.id == run_id).with_for_update())
    waiting = select(exists().where(inbox.c.run_id == run_id, inbox.c.absorbed.is_(False)))
    if connection.scalar(waiting):
        raise CommandsWaiting


def _hold(connection: Connection, run_id: str, event: ApprovalRequested, at: int) -> None:
    _void(connection, run_id, event.call_id, "void")
    values = {
        "id": event.approval_id,
        "run_id": run_id,
        "call_id": event.call_id,
        "approver": event.approver,
        "kind": event.kind,
        "tool": event.name,
        "effect": event.effect,
        "arguments": event.arguments,
        "definition": event.definition,
        "cause": event.cause,
        "passage": msgspec.json.encode(event.passage).decode() if event.passage else None,
        "requested_at": at,
        "expires_at": at + event.patience,
        "status": "pending",
    }
    owner = (runs.c.session_id, runs.c.team_id, runs.c.user_id)
    row = select(*(literal(value) for value in values.values()), *owner).where(runs.c.id == run_id)
    connection.execute(insert(approvals).from_select([*values, "session_id", "team_id", "user_id"], row))


def _void(connection: Connection, run_id: str, call_id: str | None, status: str) -> None:
    """Close what nobody has decided: of one call, or of the whole run."""
    closing = update(approvals).where(approvals.c.run_id == run_id, approvals.c.status == "pending")
    if call_id is not None:
        closing = closing.where(approvals.c.call_id == call_id)
    connection.execute(closing.values(status=status))


def _audit(connection: Connection, run_id: str, event: ToolFinished, at: int) -> None:
    result = event.result
    values = {
        "at": at,
        "action": "tool",
        "target": fitting(result.name),
        "run_id": run_id,
        "call_id": result.call_id[:200],
        "effect": event.effect,
        "digest": event.digest,
        "decision": event.approval,
        "result": f"{result.outcome}:{event.code}"[:64] if event.code else result.outcome,
    }
    row = select(*(literal(value) for value in values.values()), runs.c.team_id, runs.c.user_id).where(runs.c.id == run_id)
    connection.execute(insert(audit).from_select([*values, "team_id", "user_id"], row))
