"""Runs: listed, shown, followed, and told what to do. How one begins stands in `starts`."""

from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Header, Query, Request
from pydantic import Field, RootModel
from starlette.responses import Response

from zeno.core.commands import Cancel, Say
from zeno.core.endings import Ending
from zeno.core.errors import Forbidden, NotFound
from zeno.core.messages import FilePart, Usage
from zeno.runs.follow import position
from zeno.runs.frames import whole
from zeno.runs.start import LONGEST_TASK
from zeno.runs.steps import Step
from zeno.server.answers import House, answer, described, paged
from zeno.server.audited import audited
from zeno.server.auth import Principal, Reader, note_refusal, still_known
from zeno.server.bodies import Body
from zeno.server.deciding import DecisionBody, decided
from zeno.server.event_schema import RECORD, RECORD_EXAMPLE, EventPage, page_or_stream
from zeno.server.run_report import RunReport, RunSummary, report, run_of, summary
from zeno.server.sse import event_stream
from zeno.stores.accounts import Right
from zeno.stores.runs import Run

router = APIRouter(prefix="/api/v1/runs", tags=["runs"])

_ID = "0af7651916cd43dd8448eb211c80319c"
_SESSION = "3f0c9d5e8a7b4c2d9e1f0a6b7c8d9e0f"
_BEGAN = 1_790_000_000_000
SUMMARY_EXAMPLE = RunSummary(_ID, _SESSION, "Add up sales.csv.", "default", "offline", _BEGAN, _BEGAN + 1200, "answered")
RUN_EXAMPLE = RunReport(
    id=_ID,
    session_id=_SESSION,
    task="Add up sales.csv.",
    agent="default",
    model="offline",
    language="en-US",
    created_at=_BEGAN,
    ended_at=_BEGAN + 1200,
    ending="answered",
    code="answered",
    params={},
    answer="The total is 1,024.",
    usage=Usage(900, 40),
    cost=None,
    files=(FilePart("report.docx", 40_960, "application/octet-stream"),),
    approvals=(),
    steps=(Step(1, "TOOL_CALL", "query_table", '{"path":"sales.csv"}', "done", 120, 460, 35),),
    events=9,
)

EndingFilter = Literal["open"] | Ending


class RunPage(msgspec.Struct, frozen=True):
    """Runs, the newest first. `next` goes into `before` for the next page; `null` on the last one."""

    runs: tuple[RunSummary, ...]
    next: int | None


class Accepted(msgspec.Struct, frozen=True):
    """The command is with the run; what comes of it is told among its events."""

    run_id: str


class CancelBody(Body):
    """Stop the run."""

    type: Literal["cancel"]


class SayBody(Body):
    """Say something to the run while it is on."""

    type: Literal["say"]
    text: str = Field(min_length=1, max_length=LONGEST_TASK, examples=["Only the second quarter, please."])


class DecideBody(Body):
    """Decide about one of its approvals."""

    type: Literal["decide"]
    approval_id: str = Field(max_length=64)
    decision: DecisionBody


class CommandBody(RootModel[Annotated[CancelBody | SayBody | DecideBody, Field(discriminator="type")]]):
    """What a run can be told."""


@router.get("", **described(RunPage, "List runs", example=RunPage((SUMMARY_EXAMPLE,), None)))
async def listing(
    app: House,
    who: Reader,
    session: Annotated[str | None, Query(max_length=64, description="Those of one conversation.")] = None,
    ending: Annotated[EndingFilter | None, Query(description="How they ended; `open`: at work or in the queue.")] = None,
    state: Annotated[Literal["open", "ended"] | None, Query(description="`open`: not over, paused ones too.")] = None,
    agent: Annotated[str | None, Query(max_length=200, description="Those of one agent.")] = None,
    model: Annotated[str | None, Query(max_length=500, description="Those that one model was asked in.")] = None,
    search: Annotated[str, Query(max_length=200, description="Looked for in what was asked.")] = "",
    before: Annotated[int | None, Query(ge=0, le=2**53, description="Made before this time, in milliseconds.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """One's own runs, page by page."""

    async def fetch(most: int) -> list[Run]:
        return await app.runs.newest(
            who.scope,
            most,
            before=before,
            ending=ending,
            state=state,
            session_id=session,
            agent=agent,
            model=model,
            search=search,
        )

    found, following = await paged(fetch, limit, lambda run: run.created_at)
    return answer(RunPage(tuple(summary(run) for run in found), following))


@router.get("/{run_id}", **described(RunReport, "Show a run and what came of it", example=RUN_EXAMPLE, problems=(404,)))
async def show(app: House, who: Reader, run_id: str) -> Response:
    """Its answer, files, usage, cost, steps, and the approvals it waits for."""
    return answer(await report(app, await run_of(app, who.scope, run_id)))


_FOLLOWED = described(None, "Follow the events of a run, or read a page of them", problems=(404,))
_FOLLOWED["responses"][200]["content"] = page_or_stream()
_FOLLOWED["responses"][204] = {"description": "The run is over and nothing lies behind the cursor: stop asking."}


@router.get("/{run_id}/events", **_FOLLOWED)
async def events(
    app: House,
    who: Reader,
    request: Request,
    run_id: str,
    after: Annotated[str, Query(max_length=32, description="Begin behind the event of this `id`.")] = "",
    format: Annotated[  # noqa: A002 - the name on the wire
        Literal["stream", "json"] | None, Query(description="Left out: by the Accept header; a stream when in doubt.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Events on a page.")] = 500,
    last_event_id: Annotated[str | None, Header(max_length=32, description="As `after`, sent by browsers.")] = None,
) -> Response:
    """Server-Sent Events: what has happened, then what happens, until the run is over. With `format=json` a page of the log."""
    run = await run_of(app, who.scope, run_id)
    cursor = last_event_id or after or None
    if format == "stream" or (format is None and not _wants_page(request)):
        return event_stream(app, who.scope, run, cursor, allowed=lambda: still_known(request))
    return answer(await _page(app, run, cursor, limit))


_ONE = described(None, "Read one event", problems=(404,))
_ONE["responses"][200]["content"] = {"application/json": {"schema": RECORD, "example": RECORD_EXAMPLE}}


@router.get("/{run_id}/events/{seq}", **_ONE)
async def event(app: House, who: Reader, run_id: str, seq: int) -> Response:
    """The whole event, also one that is too large for a stream."""
    run = await run_of(app, who.scope, run_id)
    records = await app.log.read(who.scope, run.id, seq - 1, 1) if 0 < seq < 2**31 else []
    if not records or records[0].seq != seq:
        raise NotFound("event_not_found", run=run.id, event=str(seq)[:20])
    return Response(whole(records[0]), media_type="application/json")


@router.post(
    "/{run_id}/commands", **described(Accepted, "Tell a run something", status=202, example=Accepted(_ID), problems=(404, 409))
)
async def command(app: House, who: Reader, request: Request, run_id: str, body: CommandBody) -> Response:
    """Cancel it, say something to it, or decide about an approval. It hears of it at once when it is at work."""
    told = body.root
    await _need(request, app, who, "decide" if isinstance(told, DecideBody) else "run")
    match told:
        case CancelBody():
            async with audited(app, who, "run_cancelled", run_id=run_id):
                run = await run_of(app, who.scope, run_id)
                await app.send(who.scope, run.id, Cancel())
        case SayBody(text=text):
            run = await run_of(app, who.scope, run_id)
            await app.send(who.scope, run.id, Say(text))
        case DecideBody():
            approval = await app.approvals.find(who.scope, told.approval_id, admin="admin" in who.rights)
            if approval.run_id != run_id:
                raise NotFound("approval_not_found", approval=told.approval_id)
            await decided(app, who, approval.id, told.decision)
    return answer(Accepted(run_id), 202)


async def _need(request: Request, app: House, who: Principal, right: Right) -> None:
    """Which right a command needs is known when it was read only."""
    if right not in who.rights:
        await note_refusal(request, app, who, "right_missing")
        raise Forbidden("right_missing", right=right)


async def _page(app: House, run: Run, cursor: str | None, most: int) -> EventPage:
    after, _ = position(cursor)
    records = await app.log.read(run.scope, run.id, after, most + 1)
    shown = records[:most]
    following = shown[-1].seq if len(records) > most else None
    return EventPage(tuple(msgspec.Raw(whole(record)) for record in shown), following)


def _wants_page(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    return "application/json" in accepted and "text/event-stream" not in accepted
