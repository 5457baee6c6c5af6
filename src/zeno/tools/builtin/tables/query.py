"""A question about a table becomes SQL, and its answer: rows, or figures by group and period.

Names of the file and of the question never get into a statement: fields are c0, c1, ... in the table, k0, k1, ... for what is
grouped by and m0, m1, ... for the figures. Knows nothing of the words the answer is given in.
"""

# ruff: noqa: S608 (see above; values are parameters)

from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from zeno.core.errors import ToolFailed
from zeno.tools.builtin.tables.filters import conditions
from zeno.tools.builtin.tables.gaps import gaps
from zeno.tools.builtin.tables.loading import Table
from zeno.tools.builtin.tables.question import Measure, Question
from zeno.tools.builtin.tables.table import Column, Note, unique
from zeno.tools.builtin.tables.values import Value, plain, shown

_MOST_PIVOTED = 60
_PLACES = 6
"""Decimal places of what was divided."""

_STEPS = {"day": "1 day", "week": "7 days", "month": "1 month", "quarter": "3 months", "year": "1 year"}
_LABELS = {"month": "strftime({0}, '%Y-%m')", "quarter": "strftime({0}, '%Y-Q') || quarter({0})", "year": "strftime({0}, '%Y')"}


class Output(Struct, frozen=True):
    """A column of an answer: its name, the SQL for it, and the unit of its numbers."""

    name: str
    sql: str
    unit: str | None = None


class Answer(Struct, frozen=True):
    """The rows of an answer, at most the limit; `row_count` counts all, `matched` the rows of the file behind them."""

    outputs: list[Output]
    rows: list[list[Value]]
    row_count: int
    matched: int
    notes: list[Note]


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """A statement in the making: `tables` are its WITH entries, the last of which is selected `outputs` from."""

    tables: list[str]
    source: str
    outputs: list[Output]
    parameters: list[Any]
    order: list[str] = field(default_factory=list)


def answer(table: Table, question: Question) -> Answer:
    """The answer to the question. Raises `ToolFailed` for one that the table cannot answer."""
    where, parameters = conditions(table, question.where)
    chosen = f"chosen AS (SELECT * FROM cells WHERE {where})"
    matched = table.connection.execute(f"WITH {chosen} SELECT count(*) FROM chosen", parameters).fetchall()[0][0]
    plan = _figures(table, question, chosen, parameters) if question.groups else _rows(table, question, chosen, parameters)
    outputs = [
        Output(name, output.sql, output.unit)
        for name, output in zip(unique([output.name for output in plan.outputs]), plan.outputs, strict=True)
    ]
    rows, count = _fetched(table.connection, plan, outputs, question)
    notes = gaps(table, question, chosen, parameters)
    return Answer(outputs=outputs, rows=rows, row_count=count, matched=matched, notes=notes)


def _fetched(connection: Any, plan: _Plan, outputs: list[Output], question: Question) -> tuple[list[list[Value]], int]:
    order = list(plan.order)
    if question.order_by is not None:
        position = _position(outputs, question.order_by)
        order.insert(0, f"{position + 1} {'DESC' if question.descending else 'ASC'} NULLS LAST")
    elif question.descending:
        order[0] = order[0].replace(" NULLS", " DESC NULLS")
    fields = ", ".join(output.sql for output in outputs)
    tables = f"WITH {', '.join(plan.tables)}"
    count = connection.execute(f"{tables} SELECT count(*) FROM {plan.source}", plan.parameters).fetchall()[0][0]
    sorted_by = f" ORDER BY {', '.join(order)}" if order else ""
    rows = connection.execute(
        f"{tables} SELECT {fields} FROM {plan.source}{sorted_by} LIMIT ?", [*plan.parameters, question.limit]
    ).fetchall()
    return [[shown(value) for value in row] for row in rows], count


def _position(outputs: list[Output], name: str) -> int:
    for same in (str, lambda text: text.strip().casefold()):
        for position, output in enumerate(outputs):
            if same(output.name) == same(name):
                return position
    known = ", ".join(repr(output.name) for output in outputs)
    raise ToolFailed(f"The result has no column {name!r} to order by. It has: {known}.", code="unknown_column")


def _rows(table: Table, question: Question, chosen: str, parameters: list[Any]) -> _Plan:
    if question.pivot or question.change:
        raise ToolFailed("'pivot' and 'change' need measures, and 'change' a period. Add them.", code="bad_query")
    columns = [table.about.column(name) for name in question.columns] or table.about.columns
    outputs = [Output(column.name, column.field, column.unit) for column in columns]
    return _Plan(tables=[chosen], source="chosen", outputs=outputs, parameters=parameters, order=["row NULLS LAST"])


def _figures(table: Table, question: Question, chosen: str, parameters: list[Any]) -> _Plan:
    if question.columns:
        raise ToolFailed("'columns' is for rows without figures. Name the columns in 'group_by' instead.", code="bad_query")
    keys = _keys(table, question)
    measures = question.measures or [Measure("count")]
    fields = [f"{key.sql} AS k{index}" for index, key in enumerate(keys)]
    figures = [_figure(table, measure) for measure in measures]
    fields += [f"{figure.sql} AS m{index}" for index, figure in enumerate(figures)]
    grouped = f"grouped AS (SELECT {', '.join(fields)} FROM chosen{' GROUP BY ALL' if keys else ''})"
    if question.pivot is not None:
        return _pivoted(table, question, [chosen, grouped], parameters, keys, figures)
    labels = [Output(key.name, _label(question, index), key.unit) for index, key in enumerate(keys)]
    outputs = list(labels)
    for index, (measure, figure) in enumerate(zip(measures, figures, strict=True)):
        outputs.append(Output(figure.name, f"m{index}", figure.unit))
        if measure.share:
            outputs.append(_share(question, measure, figure, index))
        if question.change:
            if measure.function in {"min", "max"}:
                _typed(table, measure.column or "", "number", "'change'")
            outputs += _changes(figure, index)
    order = [f"k{index} NULLS LAST" for index in range(len(keys))]
    tables = [chosen, grouped]
    if question.change:
        tables.append(_compared(question, len(keys), len(figures)))
    source = "compared" if question.change else "grouped"
    return _Plan(tables=tables, source=source, outputs=outputs, parameters=parameters, order=order)


def _keys(table: Table, question: Question) -> list[Output]:
    """What is grouped by: the period first."""
    keys = []
    if question.period is not None:
        column = _typed(table, question.period.column, "date", "a period")
        keys.append(Output(question.period.every, f"CAST(date_trunc('{question.period.every}', {column.field}) AS DATE)"))
    columns = [table.about.column(name) for name in question.group_by]
    return keys + [Output(column.name, column.field, column.unit) for column in columns]


def _typed(table: Table, name: str, wanted: str, purpose: str) -> Column:
    column = table.about.column(name)
    if column.type != wanted:
        fitting = ", ".join(repr(one.name) for one in table.about.columns if one.type == wanted) or "none"
        raise ToolFailed(
            f"{purpose} needs a {wanted} column, but {column.name!r} is {column.type}. Columns of that type: {fitting}.",
            code="wrong_column_type",
        )
    return column


def _label(question: Question, index: int) -> str:
    if index == 0 and question.period is not None:
        return _LABELS.get(question.period.every, "{0}").format("k0")
    return f"k{index}"


def _figure(table: Table, measure: Measure) -> Output:
    if measure.column is None:
        if measure.function != "count":
            raise ToolFailed(f"The measure {measure.function!r} needs a column. Only 'count' does without.", code="bad_query")
        return Output(measure.name or "count", "count(*)")
    column = table.about.column(measure.column)
    if measure.function in {"sum", "mean", "median"}:
        _typed(table, measure.column, "number", measure.function)
    places = _PLACES if column.decimals is None else column.decimals
    sql = {
        "sum": f"round(fsum({column.field}), {places})" if column.decimals is not None else f"fsum({column.field})",
        "mean": f"round(favg({column.field}), {places + _PLACES})",
        "median": f"round(median({column.field}), {places + _PLACES})",
        "min": f"min({column.field})",
        "max": f"max({column.field})",
        "count": f"count({column.field})",
        "count_distinct": f"count(DISTINCT {column.field})",
    }[measure.function]
    unit = None if measure.function in {"count", "count_distinct"} else column.unit
    return Output(measure.name or f"{measure.function}_{column.name}", sql, unit)


def _share(question: Question, measure: Measure, figure: Output, index: int) -> Output:
    if measure.function not in {"sum", "count"}:
        raise ToolFailed(f"A share needs 'sum' or 'count', not {measure.function!r}: those do not add up.", code="bad_query")
    total = f"sum(m{index}) OVER ({'PARTITION BY k0' if question.period else ''})"
    return Output(f"share_{figure.name}", f"round(100.0 * m{index} / nullif({total}, 0), {_PLACES})", "%")


def _changes(figure: Output, index: int) -> list[Output]:
    now, before = f"m{index}", f"p{index}"
    change = f"{now} - {before}"
    percent = f"100.0 * ({change}) / nullif(abs({before}), 0)"
    return [
        Output(f"previous_{figure.name}", before, figure.unit),
        Output(f"change_{figure.name}", f"round({change}, {_PLACES})", figure.unit),
        Output(f"change_percent_{figure.name}", f"round({percent}, {_PLACES})", "%"),
    ]


def _compared(question: Question, keys: int, figures: int) -> str:
    """Every group beside itself one period earlier in the calendar; a gap has nothing to compare with."""
    if question.period is None:
        raise ToolFailed("'change' compares with the period before and needs 'period'. Add it.", code="bad_query")
    previous = ", ".join(f"earlier.m{index} AS p{index}" for index in range(figures))
    same = "".join(f" AND earlier.k{index} IS NOT DISTINCT FROM now.k{index}" for index in range(1, keys))
    step = _STEPS[question.period.every]
    return (
        f"compared AS (SELECT now.*, {previous} FROM grouped AS now LEFT JOIN grouped AS earlier "
        f"ON earlier.k0 = CAST(now.k0 - INTERVAL '{step}' AS DATE){same})"
    )


def _pivoted(
    table: Table, question: Question, tables: list[str], parameters: list[Any], keys: list[Output], figures: list[Output]
) -> _Plan:
    """One row per group without the pivot column, whose values become columns."""
    position = _pivot_position(table, question, keys, figures)
    key = f"k{position}"
    distinct = f"SELECT DISTINCT {_label(question, position)}, {key} FROM grouped ORDER BY {key} NULLS LAST LIMIT ?"
    statement = f"WITH {', '.join(tables)} {distinct}"
    values = table.connection.execute(statement, [*parameters, _MOST_PIVOTED + 1]).fetchall()
    if len(values) > _MOST_PIVOTED:
        raise ToolFailed(
            f"{question.pivot!r} has more than {_MOST_PIVOTED} values, too many for columns. Ask without pivot.",
            code="bad_query",
        )
    others = [index for index in range(len(keys)) if index != position]
    fields = [f"k{index}" for index in others]
    fields += [f"any_value(m0) FILTER ({key} IS NOT DISTINCT FROM ?) AS v{index}" for index in range(len(values))]
    wide = f"wide AS (SELECT {', '.join(fields)} FROM grouped{' GROUP BY ALL' if others else ''})"
    outputs = [Output(keys[index].name, _label(question, index), keys[index].unit) for index in others]
    for index, (value, _) in enumerate(values):
        outputs.append(Output("(missing)" if value is None else plain(value), f"v{index}", figures[0].unit))
    return _Plan(
        tables=[*tables, wide],
        source="wide",
        outputs=outputs,
        parameters=[*parameters, *(value for _, value in values)],
        order=[f"k{index} NULLS LAST" for index in others],
    )


def _pivot_position(table: Table, question: Question, keys: list[Output], figures: list[Output]) -> int:
    if len(figures) != 1 or question.change or any(measure.share for measure in question.measures):
        raise ToolFailed("'pivot' goes with exactly one measure, without 'share' and without 'change'.", code="bad_query")
    pivot = question.pivot or ""
    names = [key.name for key in keys]
    name = pivot if pivot in names else table.about.column(pivot).name
    if name not in names:
        raise ToolFailed(f"The pivot column {name!r} must also be in 'group_by'. Add it there.", code="bad_query")
    return names.index(name)
