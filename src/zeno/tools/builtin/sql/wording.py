"""Rows and tables of a database as a model reads them: the conclusion, then a line for each, bounded in every direction."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import groupby

import msgspec

from zeno.tools.builtin.sql.session import Row, Rows

MOST_CELL = 300
_MOST_TEXT = 60_000
"""Characters of one result."""
_BYTES_SHOWN = 16


def rows_text(found: Rows, database: str) -> str:
    """What a query gave."""
    if not found.columns:
        return f"{database} carried the statement out; it gives no rows."
    lines, shown = _table(found)
    cut = found.more or shown < len(found.rows)
    if not found.rows:
        said = f"No rows from {database}. Columns: {', '.join(found.columns)}."
    elif cut:
        said = f"The first {shown:,} rows from {database}; there are MORE. Aggregate, narrow the query or raise max_rows."
    else:
        said = f"{shown:,} row{'s' if shown > 1 else ''} from {database}, all there are."
    return "\n".join([said, "", *lines]) if found.rows else said


def change_text(found: Rows, database: str) -> str:
    """What a change did."""
    if found.affected >= 0:
        said = f"Done and committed in {database}: {found.affected:,} row{'' if found.affected == 1 else 's'} affected."
    else:
        said = f"Done and committed in {database}."
    if not found.rows:
        return said
    lines, shown = _table(found)
    left_out = f" (the first {shown:,})" if found.more or shown < len(found.rows) else ""
    return "\n".join([f"{said} It returned{left_out}:", "", *lines])


def tables_text(rows: Sequence[Row], database: str, kind: str, *, more: bool) -> str:
    """The tables of a database; `rows` are those of a session's `listing`."""
    if not rows:
        return f"{database} ({kind}) has no such tables."
    tables = [_table_line(name, list(columns)) for name, columns in groupby(rows, key=lambda row: str(row[0]))]
    cut = " There are MORE: give a part of a name in `containing`." if more else ""
    return "\n".join([f"{database} ({kind}) has {len(tables)} table{'s' if len(tables) > 1 else ''}:{cut}", *tables])


def cell(value: object) -> str:
    """One value in one line: NULL, numbers in full, ISO dates, bytes in hexadecimal, all else as text."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case bytes() | bytearray() | memoryview():
            raw = bytes(value)
            return f"x'{raw[:_BYTES_SHOWN].hex()}{'…' if len(raw) > _BYTES_SHOWN else ''}' ({len(raw):,} bytes)"
        case Decimal():
            return format(value, "f") if value.is_finite() else str(value)
        case datetime():
            return value.isoformat(" ")
        case date() | time():
            return value.isoformat()
        case timedelta() | int() | float():
            return str(value)
        case list() | tuple() | dict():
            return _text(msgspec.json.encode(value, enc_hook=str).decode())
        case str():
            return _text(value) if value else "''"
        case _:
            return _text(str(value))


def _text(text: str) -> str:
    shown = text if len(text) <= MOST_CELL else f"{text[:MOST_CELL]}… (+{len(text) - MOST_CELL:,} characters)"
    return shown.replace("\\", "\\\\").replace("|", "\\|").replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")


def _table(found: Rows) -> tuple[list[str], int]:
    """The lines of a table, and how many of its rows they show."""
    lines = [_line(_text(column) for column in found.columns), "|".join(["", *["---"] * len(found.columns), ""])]
    room = _MOST_TEXT
    for row in found.rows:
        line = _line(map(cell, row))
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    return lines, len(lines) - 2


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table_line(name: str, columns: Sequence[Row]) -> str:
    kind = "" if columns[0][1] == "table" else f" ({columns[0][1]})"
    return f"- {name}{kind}: {', '.join(_column(row) for row in columns)}"


def _column(row: Row) -> str:
    _, _, name, kind, required, key, reference = row
    parts = [str(name), str(kind or "any")]
    parts += ["key"] if key else ["required"] if required else []
    parts += [f"-> {reference}"] if reference else []
    return " ".join(parts)
