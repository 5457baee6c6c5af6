"""The findings of a table job: the results of its queries put together, one block per measure and group."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zeno.models.offline.conversation import Job
from zeno.models.offline.tables import facts, queries
from zeno.models.offline.tables.facts import GroupFigure, Series, Timeline
from zeno.models.offline.tables.plan import Measure, Plan
from zeno.models.offline.tables.profile import Column, Note, Rows, rows_of

REST = "\0rest"
"""Stands for all groups that are not shown one by one, until it gets a name in the reader's language."""
BLANK = "\0blank"
"""Stands for the rows that have no group."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """One measure, by one group or none. `drawn` holds the groups' figures along the timeline."""

    measure: Measure
    group: Column | None
    overall: float | None
    line: Timeline | None
    figures: tuple[GroupFigure, ...] = ()
    drawn: Mapping[str, Series] = field(default_factory=dict)

    @property
    def real(self) -> tuple[GroupFigure, ...]:
        """The groups that are groups: neither the rest nor the rows without one."""
        return tuple(figure for figure in self.figures if figure.name not in (REST, BLANK))


def needed(plan: Plan, job: Job) -> list[queries.Query]:
    """The queries whose results the report still lacks. Those that depend on others come after them."""
    wanted: list[queries.Query] = []
    for measure in plan.measures:
        wanted.append(queries.overall(plan, measure))
        if plan.every:
            wanted.append(queries.by_period(plan, measure))
        for group in plan.groups:
            wanted.append(queries.by_group(plan, measure, group))
            grid = grid_query(plan, measure, group, job)
            if grid is not None:
                wanted.append(grid)
    return [query for query in wanted if job.find("query_table", query) is None]


def blocks(plan: Plan, job: Job) -> list[Block]:
    """What the results say, the primary block first."""
    return [_block(plan, measure, group, job) for measure in plan.measures for group in plan.groups or (None,)]


def result(job: Job, query: queries.Query) -> Rows | None:
    """The rows that a query brought, `None` when it failed or was not made."""
    exchange = job.find("query_table", query)
    return rows_of(exchange.data) if exchange and exchange.done else None


def query_notes(job: Job) -> list[Note]:
    """The notes of all queries, each once."""
    found: dict[tuple[str, str | None], Note] = {}
    for exchange in job.exchanges:
        rows = rows_of(exchange.data) if exchange.name == "query_table" and exchange.done else None
        for note in rows.notes if rows else ():
            found.setdefault((note.code, note.column), note)
    return list(found.values())


def grid_query(plan: Plan, measure: Measure, group: Column, job: Job) -> queries.Query | None:
    """The query by period and group; with many groups it waits for the greatest to be known."""
    if plan.every is None:
        return None
    picked = next((c["value"] for c in plan.where if c["column"] == group.name and c["op"] == "in"), None)
    if (len(picked) if picked else group.distinct) <= queries.MANY_GROUPS:
        return queries.grid(plan, measure, group, None)
    rows = result(job, queries.by_group(plan, measure, group))
    if rows is None:
        return None
    names = [name for name in facts.totals(rows, group.name, measure.name) if name is not None]
    return queries.grid(plan, measure, group, names[: queries.TOP_GROUPS])


def _block(plan: Plan, measure: Measure, group: Column | None, job: Job) -> Block:
    whole = result(job, queries.overall(plan, measure))
    overall = facts.single(whole) if whole else None
    line = _line(plan, measure, job)
    if group is None:
        return Block(measure=measure, group=None, overall=overall, line=line)
    rows = result(job, queries.by_group(plan, measure, group))
    by_group = facts.totals(rows, group.name, measure.name) if rows else {}
    shown, others = _shown(by_group, measure, overall)
    drawn = _drawn(plan, measure, group, job, line, list(shown))
    if others is not None:
        shown[REST] = others
        if line:
            drawn[REST] = facts.rest(line.values, drawn)
    figures = tuple(_figure(name, total, overall, drawn.get(name), line, measure) for name, total in shown.items())
    return Block(measure=measure, group=group, overall=overall, line=line, figures=figures, drawn=drawn)


def _line(plan: Plan, measure: Measure, job: Job) -> Timeline | None:
    days = plan.days
    rows = result(job, queries.by_period(plan, measure)) if plan.every and plan.time and days else None
    if rows is None or plan.every is None or plan.time is None or days is None:
        return None
    ends = facts.data_ends(days, plan.where, plan.time.name)
    return facts.timeline(rows, plan.every, measure.name, queries.DAYS, ends)


def _shown(
    by_group: Mapping[str | None, float | None], measure: Measure, overall: float | None
) -> tuple[dict[str, float | None], float | None]:
    """The groups to show, and what all others amount to: `None` when all are shown or parts do not add up."""
    named = {name: total for name, total in by_group.items() if name is not None}
    if len(named) <= queries.MANY_GROUPS:
        blank = {BLANK: by_group[None]} if by_group.get(None) is not None else {}
        return {**named, **blank}, None
    shown = dict(list(named.items())[: queries.TOP_GROUPS])
    if not measure.adds_up or overall is None:
        return shown, None
    return shown, overall - sum(total or 0 for total in shown.values())


def _drawn(plan: Plan, measure: Measure, group: Column, job: Job, line: Timeline | None, shown: list[str]) -> dict[str, Series]:
    query = grid_query(plan, measure, group, job) if line else None
    rows = result(job, query) if query else None
    return facts.lines(rows, line.every, line.labels, shown) if rows and line else {}


def _figure(
    name: str, total: float | None, overall: float | None, values: Series | None, line: Timeline | None, measure: Measure
) -> GroupFigure:
    latest = values[line.last] if values and line else None
    previous = values[line.last - 1] if values and line and line.last > line.first else None
    share = facts.share(total, overall) if measure.adds_up else None
    return GroupFigure(name=name, total=total, share=share, latest=latest, previous=previous)
