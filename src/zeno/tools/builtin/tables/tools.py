"""The two tools on tables: one shows what a file holds, the other answers questions about it."""

from typing import Annotated

from msgspec import Meta

from zeno.core.ports import ToolContext
from zeno.tools.builtin.tables.loading import open_table
from zeno.tools.builtin.tables.profile import preview, profile
from zeno.tools.builtin.tables.query import answer
from zeno.tools.builtin.tables.question import Filter, Measure, Period, Question
from zeno.tools.builtin.tables.wording import answer_text, table_text
from zeno.tools.function import tool

_TIMEOUT = 300.0
"""Seconds: a file of hundreds of megabytes is read once, also on a busy machine."""


@tool(timeout=_TIMEOUT, untrusted=True)
def read_table(
    path: str, ctx: ToolContext, sheet: str | None = None, preview_rows: Annotated[int, Meta(ge=0, le=50)] = 5
) -> str:
    """Look into a table file (CSV, TSV, XLSX) of the workspace: its columns, their types, ranges and sums, and its dirt.

    Finds encoding, delimiter and header by itself, reads dirty numbers and dates, and reports what it could not read. Use this
    first, before query_table, to learn the columns of a file. It is not for computing: ask query_table for figures.

    Args:
        path: File in the workspace, such as sales.csv.
        ctx: Where the call happens.
        sheet: Sheet of a workbook; default is the first one with data.
        preview_rows: How many first rows to show.
    """
    with open_table(ctx.workspace, path, sheet) as table:
        return table_text(table, profile(table), preview(table, preview_rows))


@tool(timeout=_TIMEOUT, untrusted=True)
def query_table(
    path: str,
    ctx: ToolContext,
    sheet: str | None = None,
    columns: list[str] = [],  # noqa: B006 (the tool copies its defaults)
    where: list[Filter] = [],  # noqa: B006
    group_by: list[str] = [],  # noqa: B006
    period: Period | None = None,
    measures: list[Measure] = [],  # noqa: B006
    pivot: str | None = None,
    change: bool = False,
    order_by: str | None = None,
    descending: bool = False,
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100,
) -> str:
    """Compute figures from a table file (CSV, TSV, XLSX) exactly: filter, group, sum, compare periods, pivot; or pick out rows.

    Use this for every total, average, ranking, share, trend or comparison instead of computing from the preview. Without
    group_by, period and measures it returns rows. Call read_table first to learn the column names.

    Args:
        path: File in the workspace, such as sales.csv.
        ctx: Where the call happens.
        sheet: Sheet of a workbook; default is the first one with data.
        columns: Columns of the rows to return, default all; only without group_by, period and measures.
        where: Conditions that rows must meet, all of them.
        group_by: Columns to group by.
        period: Group by day, week, month, quarter or year of a date column; gives the first column, named after the period.
        measures: Figures to compute for each group; default is the number of rows.
        pivot: One of the group_by columns (or the period): its values become columns. Goes with exactly one measure.
        change: With a period: adds previous_, change_ and change_percent_ columns, against the calendar period just before.
        order_by: Column of the result to sort by; default is by group, or the order of the file.
        descending: Sort from high to low.
        limit: Most rows to return, up to 1000; the text says how many are left out.
    """
    question = Question(
        columns=columns,
        where=where,
        group_by=group_by,
        period=period,
        measures=measures,
        pivot=pivot,
        change=change,
        order_by=order_by,
        descending=descending,
        limit=limit,
    )
    with open_table(ctx.workspace, path, sheet) as table:
        return answer_text(table, question, answer(table, question))
