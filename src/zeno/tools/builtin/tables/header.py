"""Where the header of a table is, judged from its first rows. Knows rows of texts only."""

import re
from collections import Counter
from dataclasses import dataclass

from zeno.tools.builtin.tables.table import Note, unique

SAMPLE_ROWS = 100
"""How many rows the judgement needs."""

_WIDE_ENOUGH = 0.6
"""A header fills this share of the columns at least; titles above it fill less."""

_DATA = re.compile(
    r"""[-+(]?\s*(?:[¥￥$€£]\s*)?[-+]?[\d０-９][\d０-９,.，．'\s]*[%％万亿元kK]*\)?   # numbers
    |   \d{1,4}[-/.年]\s?\d{1,2}(?:[-/.月]\s?\d{1,4}日?)?(?:[T\s].*)?                # dates
    |   true|false""",
    re.VERBOSE | re.IGNORECASE,
)
_PERIOD = re.compile(r"(?:19|20|21)\d\d(?:年|[-/.年]\s?\d{1,2}月?)?|\d{1,2}月")
"""Years and months are data in a column, but also usual headers of columns."""


@dataclass(frozen=True, kw_only=True)
class Header:
    """`names` of all columns; the data begin with row `first_row`, counted from 1. `notes` say what was odd.

    `row` is the header as it stands in the file, None when there is none.
    """

    names: list[str]
    first_row: int
    row: list[str] | None
    notes: list[Note]


def find_header(sample: list[list[str]]) -> Header:
    """The header in the first rows of a table, or made-up names when there is none. `sample` has a row that is not empty."""
    rows = [[_tidy(cell) for cell in row] for row in sample]
    index = _first_wide(rows)
    below = [row for row in rows[index + 1 :] if any(row)]
    labels = rows[index]
    headed = _is_header(labels, below)
    if not headed:
        below = [labels, *below]
    while labels and not labels[-1]:
        labels = labels[:-1]
    width = max(len(labels), _usual_length(below))
    given = labels if headed else []
    names, notes = _named(given + [""] * (width - len(given)), headed)
    titles = [" ".join(filter(None, row))[:100] for row in rows[:index] if any(row)]
    if titles:
        notes.insert(0, Note("title_rows_skipped", None, len(titles), titles[:3]))
    return Header(names=names, first_row=index + 1 + headed, row=sample[index] if headed else None, notes=notes)


def _named(given: list[str], headed: bool) -> tuple[list[str], list[Note]]:
    names = unique([name or f"column_{position}" for position, name in enumerate(given, 1)])
    notes = []
    if not headed:
        notes.append(Note("no_header", None, len(names), names[:3]))
    elif blank := [name for name, written in zip(names, given, strict=True) if not written]:
        notes.append(Note("blank_header", None, len(blank), blank[:3]))
    for name, written in zip(names, given, strict=True):
        if written and name != written:
            notes.append(Note("duplicate_header", name, 1, [written]))
    return names, notes


def _tidy(cell: str) -> str:
    return " ".join(cell.split())


def _first_wide(rows: list[list[str]]) -> int:
    filled = [sum(map(bool, row)) for row in rows]
    counts = Counter(count for count in filled if count > 1) or Counter(count for count in filled if count)
    width = max(counts, key=lambda count: (counts[count], count))
    return next(index for index, count in enumerate(filled) if count and count >= width * _WIDE_ENOUGH)


def _is_header(labels: list[str], below: list[list[str]]) -> bool:
    if not all(_is_label(cell) for cell in labels):
        return False
    if all(_DATA.fullmatch(cell) for cell in labels if cell):
        return False
    if any(_DATA.fullmatch(cell) for cell in labels) and below and all(_is_label(cell) for cell in below[0]):
        return False  # a period in the first row and in the next: data
    return _tops_data(labels, below) or not _repeats(labels, below)


def _is_label(cell: str) -> bool:
    return not _DATA.fullmatch(cell) or bool(_PERIOD.fullmatch(cell))


def _tops_data(labels: list[str], below: list[list[str]]) -> bool:
    """Whether a text stands above a column of numbers or dates."""
    columns = [[row[index] for row in below if index < len(row) and row[index]] for index in range(len(labels))]
    return any(
        label and not _DATA.fullmatch(label) and sum(bool(_DATA.fullmatch(cell)) for cell in cells) * 2 > len(cells)
        for label, cells in zip(labels, columns, strict=True)
    )


def _repeats(labels: list[str], below: list[list[str]]) -> bool:
    """Whether some of the first row's texts come again below them, as data do; a header printed again repeats them all."""
    others = [row for row in below if row != labels]
    columns = [{row[index] for row in others if index < len(row)} for index in range(len(labels))]
    return any(label and label in column for label, column in zip(labels, columns, strict=True))


def _usual_length(rows: list[list[str]]) -> int:
    lengths = Counter(max((index for index, cell in enumerate(row, 1) if cell), default=0) for row in rows)
    return max(lengths, key=lambda length: (lengths[length], length)) if lengths else 0
