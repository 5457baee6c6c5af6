"""Approvals: the inbox of calls that wait for a person, what is needed to draw one, and the decision."""

from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from zeno.core.decisions import Approved
from zeno.core.errors import Conflict
from zeno.server.answers import House, answer, described, referred
from zeno.server.auth import Decider, Reader
from zeno.server.deciding import Decided, DecisionBody, decided
from zeno.server.problems import MEDIA_TYPE, Problem, problem
from zeno.stores.approvals import Approval, Status

router = APIRouter(prefix="/api/v1/approvals", tags=["approvals"])

_PENDING = Approval(
    id="9f86d081884c7d659a2feaa0c55ad015",
    run_id="0af7651916cd43dd8448eb211c80319c",
    call_id="call_1_1",
    session_id="3f0c9d5e8a7b4c2d9e1f0a6b7c8d9e0f",
    kind="action",
    tool="send_email",
    effect="danger",
    arguments='{"to":"li@example.com"}',
    definition="9a0364b9e99bb480",
    cause="danger",
    approver="owner",
    requested_at=1_790_000_000_000,
    expires_at=1_790_086_400_000,
    status="pending",
)
_DECIDED = msgspec.structs.replace(
    _PENDING, status="decided", decision=Approved(), decided_at=1_790_000_050_000, decided_by="local"
)


class ApprovalList(msgspec.Struct, frozen=True):
    """Approvals, at most as many as were asked for: those that wait the oldest first, any others the newest first."""

    approvals: tuple[Approval, ...]


class ApprovalForm(msgspec.Struct, frozen=True):
    """An approval, with the tool as it is now: what it is for, the JSON schema of its arguments, `null` when it is gone.

    `changed` says that the tool is no longer what the person was asked about; then the call is asked about anew.
    """

    approval: Approval
    description: str
    parameters: dict[str, Any] | None
    changed: bool


_FORM = ApprovalForm(
    _PENDING, "Sends a mail. Use it when ...", {"type": "object", "properties": {"to": {"type": "string"}}}, False
)


@router.get("", **described(ApprovalList, "List what waits for a decision", example=ApprovalList((_PENDING,))))
async def listing(
    app: House,
    who: Reader,
    status: Annotated[Status | Literal["any"], Query()] = "pending",
    run: Annotated[str | None, Query(max_length=64, description="Those of one run.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Response:
    """Those of one's own runs; for an admin also those of the team that are meant for admins."""
    admin = "admin" in who.rights
    return answer(
        ApprovalList(
            tuple(
                await app.approvals.listed(
                    who.scope, admin=admin, status=None if status == "any" else status, run_id=run, most=limit
                )
            )
        )
    )


@router.get("/{approval_id}", **described(ApprovalForm, "Show an approval and its tool", example=_FORM, problems=(404,)))
async def show(app: House, who: Reader, approval_id: str) -> Response:
    """All that a form needs in which the call can be read, changed and decided about."""
    approval = await app.approvals.find(who.scope, approval_id, admin="admin" in who.rights)
    tool = app.tools.get(approval.tool)
    if tool is None:
        return answer(ApprovalForm(approval, "", None, True))
    spec = tool.spec
    return answer(ApprovalForm(approval, spec.description, spec.parameters, spec.digest != approval.definition))


_DECISION = described(Decided, "Decide about a call", example=Decided(_DECIDED, True), problems=(404, 409))
_DECISION["responses"][409] = {
    "description": "It was decided otherwise, or is closed: `approval` shows how.",
    "content": {MEDIA_TYPE: {"schema": {"allOf": [referred(Problem), {"properties": {"approval": referred(Approval)}}]}}},
}


@router.post("/{approval_id}/decision", **_DECISION)
async def decide(app: House, who: Decider, request: Request, approval_id: str, body: DecisionBody) -> Response:
    """The first decision counts. A different one that comes later is a conflict, whose problem holds the approval as it is."""
    try:
        return answer(await decided(app, who, approval_id, body))
    except Conflict as late:
        approval = await app.approvals.find(who.scope, approval_id, admin="admin" in who.rights)
        return problem(late, request.scope, members={"approval": msgspec.to_builtins(approval)})
