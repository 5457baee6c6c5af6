"""Starts: a task comes in, a run comes of it, now or when its turn is."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from zeno.app import App
from zeno.i18n import detect
from zeno.runs.clock import new_id
from zeno.server.access import note_run
from zeno.server.answers import House, answer, described, referred
from zeno.server.auth import Runner
from zeno.server.languages import preferred
from zeno.server.routes.runs import RUN_EXAMPLE
from zeno.server.routes.sessions import LONGEST_TITLE
from zeno.server.run_report import RunReport, report
from zeno.server.sse import wait_until_settled
from zeno.server.starting import NewRun, NewSessionRun, Started, queued_behind, session_for, started
from zeno.stores.runs import Run

LONGEST_WAIT = 600
"""Seconds that a request may be held until its run is settled."""

router = APIRouter(prefix="/api/v1", tags=["runs"])

RequestKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=128,
        pattern=r"^[\x21-\x7e]+$",
        description="The caller's name for the request: sent again with the same one, no second run is made. Words that a run"
        " hears by `steer` are not remembered by it.",
    ),
]
Wait = Annotated[
    int,
    Query(
        ge=0,
        le=LONGEST_WAIT,
        description="Hold the answer until the run has ended or paused: for so many seconds, `1` for as long as may be.",
    ),
]


def _described(summary: str) -> dict[str, Any]:
    example = Started(RUN_EXAMPLE.id, RUN_EXAMPLE.session_id, None)
    made = described(Started, summary, status=202, example=example, problems=(404, 409))
    settled = {"schema": referred(RunReport), "example": msgspec.to_builtins(RUN_EXAMPLE)}
    made["responses"][200] = {"description": "The run has ended or paused.", "content": {"application/json": settled}}
    return made


@router.post("/sessions/{session_id}/runs", **_described("Give a conversation a task"))
async def start_in_session(
    app: House,
    who: Runner,
    request: Request,
    session_id: str,
    body: NewSessionRun,
    key: RequestKey = None,
    wait: Wait = 0,
) -> Response:
    """The task is kept and will be done, whatever becomes of the connection; `Location` says where to look."""
    session = await app.sessions.find(who.scope, session_id)
    run = await started(app, who, session_id, body, key, _language(app, request))
    if not session.title:
        await app.sessions.rename(who.scope, session_id, " ".join(body.text.split())[:LONGEST_TITLE])
    return await _begun(app, request, run, wait)


@router.post("/runs", **_described("Give a task, in a conversation of its own"))
async def start(app: House, who: Runner, request: Request, body: NewRun, key: RequestKey = None, wait: Wait = 0) -> Response:
    """As in a conversation, which is begun with it."""
    session_id = new_id() if key is None else session_for(who.scope, key)
    asked = NewSessionRun(**body.model_dump())
    return await _begun(app, request, await started(app, who, session_id, asked, key, _language(app, request)), wait)


async def _begun(app: App, request: Request, run: Run, wait: int) -> Response:
    note_run(request.scope, run.id)
    if app.telemetry:
        app.telemetry.requested(run, request.headers.get("traceparent"))
    if wait:
        run = await wait_until_settled(app, run.scope, run, LONGEST_WAIT if wait == 1 else wait)
    headers = {"location": f"/api/v1/runs/{run.id}"}
    if wait and run.ending is not None:
        return answer(await report(app, run), 200, headers)
    return answer(Started(run.id, run.session_id, await queued_behind(app, run)), 202, headers)


def _language(app: App, request: Request) -> str:
    return preferred(request.scope, detect(app.settings.language, {}))
