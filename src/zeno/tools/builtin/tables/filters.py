"""Conditions on rows as SQL. Values from the question are parameters, read by the same rules as the cells of their column."""

# ruff: noqa: S608 (no table is named here)

import re
from typing import Any

from zeno.core.errors import ToolFailed
from zeno.tools.builtin.tables.cells import value_sql
from zeno.tools.builtin.tables.loading import Table
from zeno.tools.builtin.tables.question import Filter
from zeno.tools.builtin.tables.table import Column, Reading

_COMPARISONS = {"=": "=", "!=": "IS DISTINCT FROM", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_PARTS = {r"\d{4}": "%Y", r"\d{4}-\d\d": "%Y-%m"}
"""A year or a month given as a date stands for all its days."""


def conditions(table: Table, filters: list[Filter]) -> tuple[str, list[Any]]:
    """The condition that all filters make together, and its parameters. Raises `ToolFailed` for one that cannot be met."""
    parts, parameters = ["true"], []
    for entry in filters:
        sql, values = _condition(table, table.about.column(entry.column), entry)
        parts.append(f"({sql})")
        parameters += values
    return " AND ".join(parts), parameters


def _condition(table: Table, column: Column, entry: Filter) -> tuple[str, list[Any]]:
    if entry.op in {"is_empty", "not_empty"}:
        return f"{column.field} IS {'NOT ' if entry.op == 'not_empty' else ''}NULL", []
    values = _given(column, entry)
    if entry.op == "contains":
        return f"contains(lower(CAST({column.field} AS VARCHAR)), lower(?))", [_text(values[0])]
    sides = [_side(table, column, value) for value in values]
    if entry.op == "between":
        (low, lowest), (high, highest) = sides
        return f"{low} >= ? AND {high} <= ?", [lowest, highest]
    comparison = "=" if entry.op == "in" else _COMPARISONS[entry.op]
    return " OR ".join(f"{left} {comparison} ?" for left, _ in sides), [value for _, value in sides]


def _given(column: Column, entry: Filter) -> list[str | float]:
    """The values of a filter, as many as its operator needs."""
    values = entry.value if isinstance(entry.value, list) else [] if entry.value is None else [entry.value]
    fits = {"in": len(values) > 0, "between": len(values) == 2}.get(entry.op, len(values) == 1)
    if not fits:
        needs = {"in": "a list of values", "between": "a list of two values"}.get(entry.op, "one value")
        hint = " Use 'is_empty' for rows without a value." if entry.value is None else ""
        raise ToolFailed(f"The condition {entry.op!r} on {column.name!r} needs {needs}.{hint}", code="bad_filter")
    return list(values)


def _text(value: str | float) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _side(table: Table, column: Column, value: str | float) -> tuple[str, Any]:
    """What to compare with the value, and the value as the column has it."""
    text = _text(value).strip()
    if column.type == "date":
        for shape, part in _PARTS.items():
            if re.fullmatch(shape, text):
                return f"strftime({column.field}, '{part}')", text
        found = _read(table, Reading("date", day_first=column.reading.day_first, compact=True, timed=True), column, text)
        day_meant = column.reading.timed and ":" not in text
        return f"CAST({column.field} AS DATE)" if day_meant else column.field, found
    if column.type == "number" and isinstance(value, float):
        return column.field, value
    if column.type in {"number", "boolean"}:
        return column.field, _read(table, column.reading, column, text)
    return f"CAST({column.field} AS VARCHAR)", text


def _read(table: Table, reading: Reading, column: Column, text: str) -> Any:
    found = table.connection.execute(f"SELECT {value_sql(reading, 't')} FROM (SELECT ? AS t)", [text]).fetchall()[0][0]
    if found is None:
        raise ToolFailed(
            f"{text!r} is no {column.type}, but the column {column.name!r} holds {column.type} values. Give such a value.",
            code="bad_filter",
        )
    return found
