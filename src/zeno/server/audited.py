"""Audited: what somebody did over HTTP is written into the audit, whether it was done or refused."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from zeno.app import App
from zeno.core.errors import RequestError
from zeno.runs.clock import now
from zeno.server.auth import Principal


@asynccontextmanager
async def audited(app: App, who: Principal, action: str, target: str = "", *, run_id: str = "") -> AsyncIterator[None]:
    """Write down how what is done inside went."""
    try:
        yield
    except RequestError as refused:
        await app.audit.write(who.scope, action, target, at=now(), decision="refused", result=refused.code, run_id=run_id)
        raise
    await app.audit.write(who.scope, action, target, at=now(), result="done", run_id=run_id)
