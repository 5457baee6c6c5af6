"""`zeno runs` and `zeno trace`: which runs there are, and what happened in one."""

import sys
from datetime import UTC, datetime

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zeno.app import App
from zeno.cli.draw import explained, plain
from zeno.cli.edge import enter
from zeno.core.events import RunEnded
from zeno.core.scope import LOCAL
from zeno.i18n import text
from zeno.runs.cost import cost
from zeno.runs.steps import Step, steps
from zeno.stores.event_log import Record
from zeno.stores.runs import Run


def show_runs(requested: str | None, most: int, *, as_json: bool) -> int:
    """List the newest runs."""

    async def work(app: App, language: str) -> int:
        runs = await app.runs.newest(LOCAL, most)
        if as_json:
            sys.stdout.write(msgspec.json.encode(runs).decode() + "\n")
            return 0
        table = _table(language, "run", "started", "ending", "model", "task")
        for run in runs:
            task = plain(" ".join(run.task.split()))[:80]
            table.add_row(run.id[:12], _local(run.created_at), _ending(language, run), run.agent.model, Text(task))
        Console().print(table)
        return 0

    return enter(requested, work)


def show_trace(requested: str | None, prefix: str, *, as_json: bool) -> int:
    """Show the steps of one run, rebuilt from its log."""

    async def work(app: App, language: str) -> int:
        run = await app.runs.find(LOCAL, prefix)
        records = await app.log.read(LOCAL, run.id)
        table, spent = steps(records), cost(records, app.prices)
        if as_json:
            sys.stdout.write(msgspec.json.encode({"run": run, "steps": table, "cost": spent}).decode() + "\n")
            return 0
        _print_trace(language, run, records, table)
        if spent is not None:
            Console().print(text(language, "cli.draw.cost", cost=f"{spent:.6g}"))
        return 0

    return enter(requested, work)


def _print_trace(language: str, run: Run, records: list[Record], rows: list[Step]) -> None:
    console = Console(highlight=False)
    console.print(Text.assemble((run.id, "bold"), f"  {_local(run.created_at)}  {run.agent.model}  {_ending(language, run)}"))
    console.print(Text(plain(run.task)))
    table = _table(language, "step", "action", "tool", "arguments", "outcome", "length", "tokens", "seconds")
    for row in rows:
        seconds = "–" if row.milliseconds is None else f"{row.milliseconds / 1000:.2f}"
        outcome = text(language, f"cli.outcome.{row.outcome}")
        arguments = Text(plain(row.arguments), overflow="ellipsis")
        table.add_row(
            str(row.number), row.action, row.tool, arguments, outcome, str(row.result_length), str(row.tokens), seconds
        )
    console.print(table)
    if records and isinstance(ended := records[-1].event, RunEnded):
        console.print(Text(explained(language, ended)))


def _ending(language: str, run: Run) -> str:
    return text(language, f"cli.ending.{run.ending or 'open'}")


def _table(language: str, *columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(text(language, f"cli.column.{column}"), overflow="fold")
    return table


def _local(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
