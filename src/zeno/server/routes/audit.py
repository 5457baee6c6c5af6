"""The audit: who did what, with which outcome."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from zeno.server.answers import House, answer, described
from zeno.server.auth import Reader
from zeno.stores.audit import AuditEntry

router = APIRouter(prefix="/api/v1/audit", tags=["audit"])

_ENTRY = AuditEntry(
    id=17,
    at=1_790_000_000_000,
    user_id="local",
    action="tool",
    target="query_table",
    run_id="0af7651916cd43dd8448eb211c80319c",
    call_id="call_1_1",
    effect="read",
    digest="9a0364b9e99bb480",
    decision="",
    result="done",
)


class AuditPage(msgspec.Struct, frozen=True):
    """Lines of the audit, the newest first. `next` goes into `before` for the next page; `null` on the last one."""

    entries: tuple[AuditEntry, ...]
    next: int | None


@router.get("", **described(AuditPage, "Read the audit", example=AuditPage((_ENTRY,), None)))
async def listing(
    app: House,
    who: Reader,
    run: Annotated[str | None, Query(max_length=64, description="Lines of one run.")] = None,
    before: Annotated[int | None, Query(ge=0, le=2**53, description="Lines with an id below this one.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Response:
    """One's own lines; for an admin the team's."""
    found = await app.audit.newest(who.scope, limit + 1, admin="admin" in who.rights, before=before, run_id=run)
    shown = found[:limit]
    return answer(AuditPage(tuple(shown), shown[-1].id if len(found) > limit else None))
