"""History: a conversation as it was, page by page, its runs with their events. What happens next is told by their streams."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from zeno.runs.frames import shown
from zeno.server.answers import House, answer, described
from zeno.server.auth import Reader
from zeno.server.event_schema import RECORD_EXAMPLE
from zeno.server.routes.runs import SUMMARY_EXAMPLE
from zeno.server.run_report import RunSummary, summary

MOST_EVENTS = 4 * 2**20
"""Characters of events that a page holds, but for those of its newest run."""

router = APIRouter(prefix="/api/v1/sessions", tags=["sessions"])


class RunHistory(msgspec.Struct, frozen=True):
    """A run with its events so far, as its stream tells them: of one of more than 64 KiB, where it is."""

    run: RunSummary
    events: tuple[msgspec.Raw, ...]


class HistoryPage(msgspec.Struct, frozen=True):
    """Runs of a conversation, the newest last. `before` asks for the page of those ahead of them; `null` on the first one."""

    runs: tuple[RunHistory, ...]
    before: str | None


_EXAMPLE = {"runs": [{"run": SUMMARY_EXAMPLE, "events": [RECORD_EXAMPLE]}], "before": None}


@router.get("/{session_id}/history", **described(HistoryPage, "Read what was said and done", example=_EXAMPLE, problems=(404,)))
async def history(
    app: House,
    who: Reader,
    session_id: str,
    before: Annotated[str | None, Query(max_length=32, description="The `before` of the page that follows.")] = None,
    limit: Annotated[int, Query(ge=1, le=100, description="Runs on a page; fewer where they have very many events.")] = 20,
) -> Response:
    """The runs of a conversation with their events. One that is not over is followed from its last event on."""
    found = await app.runs.latest(who.scope, session_id, limit + 1, before)
    events = await app.log.of_runs(who.scope, found[:limit], MOST_EVENTS)
    page = [run for run in found if run.id in events]
    told = [
        RunHistory(summary(run), tuple(msgspec.Raw(shown(run.id, record)) for record in events[run.id]))
        for run in reversed(page)
    ]
    return answer(HistoryPage(tuple(told), page[-1].id if len(page) < len(found) else None))
