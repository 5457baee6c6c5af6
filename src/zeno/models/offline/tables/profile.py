"""What the table tools report, as values. Fields that are not known here are ignored, so the tools may say more."""

from typing import Any, Literal

from msgspec import Struct, ValidationError, convert, field

Cell = str | float | bool | None


class Column(Struct, frozen=True):
    """One column of a table: what it holds and how much of it."""

    name: str
    type: Literal["number", "date", "text", "boolean", "empty"] = "text"
    unit: str | None = None
    missing: int = 0
    distinct: int = 0
    minimum: Any = None
    maximum: Any = None
    sum: float | None = None
    examples: list[Any] = field(default_factory=list)


class Note(Struct, frozen=True):
    """Something a table tool cleaned, assumed or could not read."""

    code: str
    column: str | None = None
    count: int = 0
    examples: list[Any] = field(default_factory=list)


class Profile(Struct, frozen=True):
    """A table: its size, its columns and what reading it brought up."""

    path: str
    rows: int = 0
    columns: list[Column] = field(default_factory=list)
    sheet: str | None = None
    sheets: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def column(self, name: str) -> Column:
        """The column of that name. Raises `StopIteration` when there is none."""
        return next(column for column in self.columns if column.name == name)

    def of_type(self, *types: str) -> list[Column]:
        """The columns of these types, in the file's order."""
        return [column for column in self.columns if column.type in types]


class Rows(Struct, frozen=True):
    """The answer to one query."""

    columns: list[str] = field(default_factory=list)
    rows: list[list[Cell]] = field(default_factory=list)
    row_count: int = 0
    shown: int = 0
    notes: list[Note] = field(default_factory=list)


def profile_of(data: Any) -> Profile | None:
    """The profile in a result's supplement, `None` when it holds none."""
    try:
        return convert(data, Profile)
    except ValidationError:
        return None


def rows_of(data: Any) -> Rows | None:
    """The rows in a result's supplement, `None` when it holds none."""
    try:
        return convert(data, Rows) if isinstance(data, dict) and "rows" in data and "columns" in data else None
    except ValidationError:
        return None
