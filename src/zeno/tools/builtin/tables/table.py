"""What is known of a table once it has been read. Knows no file format and no database."""

import difflib
import unicodedata
from typing import Literal

from msgspec import Struct

from zeno.core.errors import ToolFailed

ColumnType = Literal["number", "date", "text", "boolean", "empty"]


class Note(Struct, frozen=True):
    """Something that the reader of a table must know: what was cleaned, or what could not be read.

    `column` is None for the whole table. `count` is in cells or rows, `examples` are at most three.
    """

    code: str
    column: str | None
    count: int
    examples: list[str] = []


class Reading(Struct, frozen=True):
    """How the texts of a column are understood, decided once for all its rows.

    `decimal_comma`: 1.234,5 is meant. `day_first`: 05/11/2026 is in November. `compact`: dates like 20261130.
    `timed`: dates with a time of day.
    """

    type: ColumnType
    decimal_comma: bool = False
    day_first: bool = False
    compact: bool = False
    timed: bool = False


class Column(Struct, frozen=True):
    """A column. `unit` is a currency or "%"; `decimals` is the most places a number of it has, None when there are many."""

    name: str
    position: int
    reading: Reading
    unit: str | None = None
    decimals: int | None = None

    @property
    def type(self) -> ColumnType:
        """What its values are."""
        return self.reading.type

    @property
    def field(self) -> str:
        """Its name in the database: names from the file never get into a statement."""
        return f"c{self.position}"


class About(Struct, frozen=True):
    """A table as it was read. `layout` says how it was stored, `rows` counts the rows below the header."""

    layout: str
    sheet: str | None
    sheets: list[str]
    rows: int
    columns: list[Column]
    notes: list[Note]

    def column(self, name: str) -> Column:
        """The column called `name`: exactly, else regardless of case, width and surrounding blanks.

        Raises `ToolFailed` naming the closest column and all there are.
        """
        for same in (str, _folded):
            for column in self.columns:
                if same(column.name) == same(name):
                    return column
        names = {_folded(column.name): column.name for column in self.columns}
        close = difflib.get_close_matches(_folded(name), names, n=1, cutoff=0.4)
        guess = f"Did you mean {names[close[0]]!r}? " if close else ""
        known = ", ".join(repr(column.name) for column in self.columns)
        raise ToolFailed(f"There is no column {name!r}. {guess}The columns are: {known}.", code="unknown_column")


def unique(names: list[str]) -> list[str]:
    """The names, each later duplicate made different by a number: amount, amount_2."""
    taken = set(names)
    seen: set[str] = set()
    result = []
    for name in names:
        chosen, number = name, 2
        while chosen in seen or (chosen != name and chosen in taken):
            chosen, number = f"{name}_{number}", number + 1
        seen.add(chosen)
        result.append(chosen)
    return result


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip().casefold()
