"""What is in a table, column by column: counts, extremes, sums, usual values."""

# ruff: noqa: S608 (fields are c0, c1, ...; numbers are parameters)

from typing import Any

from msgspec import Struct

from zeno.tools.builtin.tables.loading import Table
from zeno.tools.builtin.tables.table import Column
from zeno.tools.builtin.tables.values import Value, plain, shown

_EXAMPLES = 5


class ColumnProfile(Struct, frozen=True):
    """One column. `missing` counts cells without a usable value; `minimum`, `maximum` and `sum` are None where senseless."""

    column: Column
    missing: int
    distinct: int
    minimum: Value
    maximum: Value
    sum: Value
    examples: list[str]


def profile(table: Table) -> list[ColumnProfile]:
    """The profile of every column."""
    return [_profile(table.connection, column) for column in table.about.columns]


def preview(table: Table, rows: int) -> list[list[Value]]:
    """The first rows."""
    fields = ", ".join(column.field for column in table.about.columns)
    found = table.connection.execute(f"SELECT {fields} FROM cells ORDER BY row LIMIT ?", [rows]).fetchall()
    return [[shown(value) for value in row] for row in found]


def _profile(connection: Any, column: Column) -> ColumnProfile:
    field = column.field
    ordered = column.type in {"number", "date"}
    total = f"fsum({field})" if column.type == "number" else "NULL"
    low, high = (f"min({field})", f"max({field})") if ordered else ("NULL", "NULL")
    query = f"SELECT count(*) - count({field}), {low}, {high}, {total} FROM cells"
    missing, minimum, maximum, added = connection.execute(query).fetchall()[0]
    if added is not None and column.decimals is not None:
        added = round(added, column.decimals)
    groups = f"SELECT {field} AS v, count(*) AS n, min(row) AS first_row FROM cells WHERE {field} IS NOT NULL GROUP BY v"
    usual = connection.execute(
        f"SELECT v, count(*) OVER () FROM ({groups}) ORDER BY n DESC, first_row LIMIT ?", [_EXAMPLES]
    ).fetchall()
    return ColumnProfile(
        column=column,
        missing=missing,
        distinct=usual[0][1] if usual else 0,
        minimum=shown(minimum),
        maximum=shown(maximum),
        sum=shown(added),
        examples=[plain(value) for value, _ in usual],
    )
