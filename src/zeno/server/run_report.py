"""Run reports: a run as the API shows it, made from its row and its log alone."""

from collections.abc import Sequence

import msgspec

from zeno.app import App
from zeno.core.errors import NotFound
from zeno.core.events import RunEnded, ToolFinished
from zeno.core.messages import FilePart, Usage
from zeno.core.scope import Scope
from zeno.core.state import RunState, fold
from zeno.runs.cost import cost
from zeno.runs.steps import Step, steps
from zeno.stores.approvals import Approval
from zeno.stores.event_log import Record
from zeno.stores.runs import Run

SHORT_TASK = 500
"""Characters of a task that a list shows."""

ID_LENGTH = 32


class RunSummary(msgspec.Struct, frozen=True):
    """A run in a list, its task cut to 500 characters. Times are milliseconds since 1970-01-01 UTC.

    `ending` is `null` while it is at work or in the queue and `awaiting_approval` while it is paused.
    """

    id: str
    session_id: str
    task: str
    agent: str
    model: str
    created_at: int
    ended_at: int | None
    ending: str | None


class RunReport(msgspec.Struct, frozen=True):
    """A run, with what came of it. Times are milliseconds since 1970-01-01 UTC.

    `code` names the cause of the ending and `params` are its placeholders; `answer` is what was said last, once it is over.
    `cost` is in the currency of the settings' prices, `null` where a model has none. `files` are those it produced, `approvals`
    those it waits for, whoever may decide about them (`approver`), `events` the number of events so far.
    """

    id: str
    session_id: str
    task: str
    agent: str
    model: str
    language: str
    created_at: int
    ended_at: int | None
    ending: str | None
    code: str
    params: dict[str, str | int]
    answer: str | None
    usage: Usage
    cost: float | None
    files: tuple[FilePart, ...]
    approvals: tuple[Approval, ...]
    steps: tuple[Step, ...]
    events: int


async def run_of(app: App, scope: Scope, run_id: str) -> Run:
    """The scope's run of exactly this id. Raises `NotFound`."""
    if len(run_id) == ID_LENGTH:
        run = await app.runs.find(scope, run_id)
        if run.id == run_id:
            return run
    raise NotFound("run_not_found", run=run_id[:ID_LENGTH])


def summary(run: Run) -> RunSummary:
    """A run in a list."""
    task = run.task if len(run.task) <= SHORT_TASK else f"{run.task[: SHORT_TASK - 1]}…"
    return RunSummary(run.id, run.session_id, task, run.agent.name, run.agent.model, run.created_at, run.ended_at, run.ending)


async def report(app: App, run: Run) -> RunReport:
    """A run with what is known of it."""
    records = await app.log.read(run.scope, run.id)
    state = fold(record.event for record in records)
    ended = next((record.event for record in reversed(records) if isinstance(record.event, RunEnded)), None)
    pending = await app.approvals.of_run(run.scope, run.id)
    return RunReport(
        id=run.id,
        session_id=run.session_id,
        task=run.task,
        agent=run.agent.name,
        model=run.agent.model,
        language=run.agent.language,
        created_at=run.created_at,
        ended_at=run.ended_at,
        ending=run.ending,
        code=ended.code if ended else "",
        params=ended.params if ended else {},
        answer=_last_words(state) if ended else None,
        usage=state.usage,
        cost=cost(records, app.prices),
        files=_produced(records),
        approvals=tuple(pending),
        steps=tuple(steps(records)),
        events=records[-1].seq if records else 0,
    )


def _last_words(state: RunState) -> str | None:
    last = state.messages[-1] if state.messages else None
    return last.text if last and last.role == "assistant" and last.text else None


def _produced(records: Sequence[Record]) -> tuple[FilePart, ...]:
    """The files of all results, each path once, as it was last."""
    results = (record.event.result for record in records if isinstance(record.event, ToolFinished))
    return tuple({file.path: file for result in results for file in result.files}.values())
