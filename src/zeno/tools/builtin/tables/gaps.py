"""What makes an answer less than whole: cells that are missing or could not be read among the rows it comes from."""

# ruff: noqa: S608 (fields are c0, c1, ...; values are parameters)

from typing import Any

from zeno.tools.builtin.tables.loading import Table
from zeno.tools.builtin.tables.question import Question
from zeno.tools.builtin.tables.table import Column, Note

_GRAVE = {
    *("ambiguous_dates_day_first", "ambiguous_dates_month_first", "formulas_without_value", "long_quoted_cells"),
    *("mixed_column", "mixed_units", "ragged_rows", "total_rows", "undecodable_characters"),
}
"""What was noted on reading and may make an answer wrong."""


def gaps(table: Table, question: Question, chosen: str, parameters: list[Any]) -> list[Note]:
    """What makes the answer less than whole: cells that could not be read or are missing among the rows it comes from."""
    measured = {measure.column for measure in question.measures if measure.column}
    grouped = {*question.group_by, *([question.period.column] if question.period else [])}
    filtered = {entry.column for entry in question.where}
    every = [column.name for column in table.about.columns]
    selected = set() if question.groups else set(question.columns or every)
    notes: dict[tuple[str, str], Note] = {}
    for names, code, within in (
        (filtered, "", "cells"),
        (measured, "missing_values", "chosen"),
        (grouped, "missing_group", "chosen"),
        (selected, "", "chosen"),
    ):
        for column in sorted({table.about.column(name) for name in names}, key=lambda column: column.position):
            for note in _gaps(table, column, code, within, chosen, parameters):
                notes[note.code, column.name] = note
    used = {table.about.column(name).name for name in measured | grouped | filtered | selected}
    read = [note for note in table.about.notes if note.code in _GRAVE and (note.column is None or note.column in used)]
    return [*notes.values(), *read]


def _gaps(table: Table, column: Column, code: str, within: str, chosen: str, parameters: list[Any]) -> list[Note]:
    unread = table.connection.execute(
        f"WITH {chosen} SELECT row, text, count(*) OVER () FROM unread JOIN {within} USING (row) "
        "WHERE position = ? ORDER BY row LIMIT 3",
        [*parameters, column.position],
    ).fetchall()
    notes = []
    if unread:
        examples = [f"row {row}: {text[:60]}" for row, text, _ in unread]
        notes.append(Note("not_a_number" if column.type == "number" else "not_a_date", column.name, unread[0][2], examples))
    if code:
        query = f"WITH {chosen} SELECT count(*) FROM {within} WHERE {column.field} IS NULL"
        missing = table.connection.execute(query, parameters).fetchall()[0][0]
        if unread and code == "missing_values":
            missing -= unread[0][2]
        if missing:
            notes.append(Note(code, column.name, missing))
    return notes
