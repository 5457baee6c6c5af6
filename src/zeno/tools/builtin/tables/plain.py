"""The rows of any source in one plain form: CSV in UTF-8, a row number first, below the header only, all rows equally wide.

What this leaves out or fills up is counted. Knows nothing of types and of the database.
"""

import csv
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zeno.core.errors import ToolFailed
from zeno.tools.builtin.tables.header import SAMPLE_ROWS, Header, find_header
from zeno.tools.builtin.tables.source import Source
from zeno.tools.builtin.tables.table import Note

_MOST_COLUMNS = 1000


def write_plain(source: Source, name: str, plain: Path) -> tuple[Header, list[Note]]:
    """Write the rows of the file called `name` to `plain`, numbered as in the file; return the header and what was odd.

    Raises `ToolFailed` when there are no rows, or too many columns.
    """
    rows = source.rows()
    sample = list(itertools.islice(rows, SAMPLE_ROWS))
    while sample and not any(map(_filled, sample)):
        sample = list(itertools.islice(rows, SAMPLE_ROWS))
    if not sample:
        raise ToolFailed(f"{name} has no cell that is filled: there is no table in it.", code="table_empty")
    header = find_header(sample)
    if len(header.names) > _MOST_COLUMNS:
        raise ToolFailed(
            f"{name} has {len(header.names)} columns; at most {_MOST_COLUMNS} can be read.", code="table_too_large"
        )
    shape = _Shape(width=len(header.names), padded=source.sheet is not None, header=header.row)
    with plain.open("w", encoding="utf-8", errors="replace", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerows(shape.even(itertools.chain(sample, rows), header.first_row))
    if not shape.rows:
        names = ", ".join(map(repr, header.names))
        raise ToolFailed(f"{name} has a header ({names}) but no rows below it.", code="table_empty")
    return header, source.notes() + header.notes + shape.notes()


def _filled(row: list[str]) -> bool:
    return bool("".join(row).strip())


@dataclass(kw_only=True)
class _Shape:
    """Makes rows equally wide and remembers which were not. `padded`: the format leaves empty cells at the end out."""

    width: int
    padded: bool
    header: list[str] | None
    rows: int = 0
    empty: int = 0
    repeated: int = 0
    ragged: int = 0
    examples: list[str] = field(default_factory=list)

    def even(self, rows: Iterator[list[str]], first_row: int) -> Iterator[list[Any]]:
        for number, row in enumerate(rows, 1):
            if number < first_row:
                continue
            if not _filled(row):
                self.empty += 1
                continue
            if row == self.header:
                self.repeated += 1
                continue
            self.rows += 1
            if len(row) != self.width:
                self._remember(number, row)
            yield [number, *row[: self.width], *[""] * (self.width - len(row))]

    def notes(self) -> list[Note]:
        found = []
        if self.empty:
            found.append(Note("empty_rows_skipped", None, self.empty))
        if self.repeated:
            found.append(Note("repeated_headers_skipped", None, self.repeated))
        if self.ragged:
            found.append(Note("ragged_rows", None, self.ragged, self.examples))
        return found

    def _remember(self, number: int, row: list[str]) -> None:
        extra = [cell for cell in row[self.width :] if cell.strip()]
        if not extra and (self.padded or len(row) > self.width):
            return
        self.ragged += 1
        if len(self.examples) < 3:
            cells = ", ".join(extra)[:60]
            # Figures and the cells themselves, no words: clients in any language quote the examples.
            text = f"+ {cells}" if extra else f"{len(row)}/{self.width}"
            self.examples.append(f"row {number}: {text}")
