"""What a model reads about a table: the conclusion first, then the key figures, what was odd, and JSON at the end."""

from collections.abc import Sequence
from typing import Any

import msgspec

from zeno.tools.builtin.tables.loading import Table
from zeno.tools.builtin.tables.profile import ColumnProfile
from zeno.tools.builtin.tables.query import Answer, Output
from zeno.tools.builtin.tables.question import Question
from zeno.tools.builtin.tables.table import Note
from zeno.tools.builtin.tables.values import Value, in_words

_FIRST_ROWS = 3

_UNREAD = {
    "not_a_number": "not readable as numbers, so missing: {count} cells",
    "not_a_date": "not readable as dates, so missing: {count} cells",
    "ragged_rows": "rows with too few or too many cells: {count}",
    "undecodable_characters": "characters that could not be decoded and show as \ufffd: {count}",
    "formulas_without_value": "formulas without a stored value, so missing: {count}; open and save the file in Excel",
    "long_quoted_cells": "quoted cells over many lines, where a stray quote may have swallowed rows: {count}",
    "mixed_units": "different units are mixed, so a sum is doubtful; filter them apart or ask",
    "total_rows": "rows that look like totals but are counted like all others: {count}; filter them out before adding up",
    "ambiguous_dates_day_first": "dates that could be day/month or month/day, read as day/month: {count}",
    "ambiguous_dates_month_first": "dates that could be day/month or month/day, read as month/day: {count}",
    "mixed_column": "numbers among texts, kept as text: {count} cells",
    "missing_values": "left out of the figure, because they have no value: {count} rows",
    "missing_group": "in the group null, because they have no usable value: {count} rows",
}
_CLEANED = {
    "numbers_cleaned": "numbers cleaned of separators and signs: {count}",
    "percentages_read": "percentages, 12% kept as 12 with the unit %: {count}",
    "currency_removed": "amounts freed of their currency sign: {count}",
    "decimal_comma": "numbers with a decimal comma: {count}",
    "dates_unified": "dates brought into ISO form: {count}",
    "missing_markers": "words or signs for 'nothing', so missing: {count} cells",
    "identifiers_kept": "long or zero-led digits kept as text, because they are identifiers: {count}",
    "empty_rows_skipped": "empty rows skipped: {count}",
    "repeated_headers_skipped": "rows that repeat the header skipped: {count}",
    "title_rows_skipped": "rows above the header skipped: {count}",
    "no_header": "no header; the columns are named by their position",
    "blank_header": "columns without a name, named by their position: {count}",
    "duplicate_header": "a name that comes twice; this column was renamed",
}


def table_text(table: Table, profiles: list[ColumnProfile], preview: list[list[Value]]) -> str:
    """What `read_table` says."""
    about = table.about
    size = f"{_counted(about.rows, 'row')}, {_counted(len(about.columns), 'column')}"
    lines = [f"{table.name}: {size} ({about.layout})."]
    if len(about.sheets) > 1:
        lines.append(f"Sheets: {', '.join(map(repr, about.sheets))}; this is {about.sheet!r}.")
    lines += ["Columns:", *(f"- {_column_line(one)}" for one in profiles), *_note_lines(about.notes)]
    data = {
        "path": table.name,
        "sheet": about.sheet,
        "sheets": about.sheets,
        "rows": about.rows,
        "columns": [_column_data(one) for one in profiles],
        "notes": about.notes,
        "preview": preview,
    }
    return _with_json(lines, data)


def answer_text(table: Table, question: Question, found: Answer) -> str:
    """What `query_table` says."""
    results = _counted(found.row_count, "group" if question.groups else "row")
    total = _counted(table.about.rows, "row")
    lines = [f"{table.name}: {results} from {f'{found.matched:,} of {total}' if question.where else f'all {total}'}."]
    left_out = found.row_count - len(found.rows)
    if left_out:
        lines.append(
            f"Only the first {len(found.rows):,} are shown; {left_out:,} are left out. Raise 'limit' or group further."
        )
    lines.append(f"Columns: {', '.join(_output_name(output) for output in found.outputs)}.")
    if found.rows:
        lines += ["First rows:", *(f"- {_row_line(found.outputs, row)}" for row in found.rows[:_FIRST_ROWS])]
    elif question.where:
        lines.append("No row meets the conditions. Check the values with read_table, which shows examples of each column.")
    lines += _note_lines(found.notes)
    data = {
        "path": table.name,
        "columns": [output.name for output in found.outputs],
        "rows": found.rows,
        "row_count": found.row_count,
        "shown": len(found.rows),
        "notes": found.notes,
    }
    return _with_json(lines, data)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _with_json(lines: list[str], data: dict[str, Any]) -> str:
    return "\n".join([*lines, "", "```json", msgspec.json.encode(data).decode(), "```"])


def _column_line(one: ColumnProfile) -> str:
    column = one.column
    kind = f"number in {column.unit}" if column.unit else column.type
    parts = [f"{column.name}: {kind}"]
    if one.minimum is not None:
        parts.append(f"{in_words(one.minimum, column.unit)} to {in_words(one.maximum, column.unit)}")
    if one.sum is not None and column.unit != "%":
        parts.append(f"sum {in_words(one.sum, column.unit)}")
    parts.append(f"{one.distinct:,} different")
    if column.type == "text" and one.examples:
        parts.append(f"e.g. {', '.join(in_words(example)[:40] for example in one.examples[:3])}")
    if one.missing:
        parts.append(f"{one.missing:,} missing")
    return ", ".join(parts)


def _column_data(one: ColumnProfile) -> dict[str, Any]:
    column = one.column
    data: dict[str, Any] = {"name": column.name, "type": column.type}
    if column.type == "number":
        data["unit"] = column.unit
    data |= {"missing": one.missing, "distinct": one.distinct}
    if column.type in {"number", "date"}:
        data |= {"minimum": one.minimum, "maximum": one.maximum}
    if column.type == "number":
        data["sum"] = one.sum
    return data | {"examples": one.examples}


def _output_name(output: Output) -> str:
    name = in_words(output.name)
    return f"{name} ({output.unit})" if output.unit else name


def _row_line(outputs: list[Output], row: list[Value]) -> str:
    cells = zip(outputs, row, strict=True)
    return ", ".join(f"{in_words(output.name)} {in_words(value, output.unit)}" for output, value in cells)


def _note_lines(notes: Sequence[Note]) -> list[str]:
    lines = []
    for title, texts in (("Beware:", _UNREAD), ("Cleaned:", _CLEANED)):
        found = [_note_line(note, texts[note.code]) for note in notes if note.code in texts]
        lines += [title, *found] if found else []
    return lines


def _note_line(note: Note, text: str) -> str:
    where = f"{note.column}: " if note.column else ""
    examples = f" ({'; '.join(note.examples)})" if note.examples else ""
    return f"- {where}{text.format(count=format(note.count, ','))}{examples}."
