"""The plan of a table job: which measures, by which groups, over which periods, limited to what, shown how."""

from dataclasses import dataclass, field
from datetime import date
from typing import Any

from zeno.models.offline.tables.periods import Every
from zeno.models.offline.tables.profile import Column, Profile
from zeno.models.offline.tables.wording import ChartKind, Function

Condition = dict[str, Any]
Assumed = list[tuple[str, dict[str, str]]]
"""What the sentence does not say and was decided, as catalogue keys with their parameters."""


@dataclass(frozen=True)
class Measure:
    """A figure to compute: a function of a column, or the number of rows when there is no column."""

    function: Function
    column: Column | None = None

    @property
    def name(self) -> str:
        """The name of its column in a query's result."""
        return f"{self.function}_{self.column.name}" if self.column else self.function

    @property
    def adds_up(self) -> bool:
        """Whether the figures of parts add up to that of the whole."""
        return self.function in ("sum", "count")

    @property
    def unit(self) -> str | None:
        """The unit of the figure."""
        return self.column.unit if self.column and self.function not in ("count", "count_distinct") else None

    @property
    def asked(self) -> dict[str, Any]:
        """The measure as an argument of a query."""
        named = {"function": self.function, "name": self.name}
        return named | {"column": self.column.name} if self.column else named


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to find out. `assumed` are the things the sentence did not say, as catalogue keys with their parameters."""

    profile: Profile
    measures: tuple[Measure, ...]
    groups: tuple[Column, ...] = ()
    time: Column | None = None
    every: Every | None = None
    where: tuple[Condition, ...] = ()
    limited_to: tuple[str, ...] = ()
    report: bool = False
    overview: bool = False
    chart: ChartKind | None = None
    ranking: str | None = None
    top: int | None = None
    assumed: tuple[tuple[str, dict[str, str]], ...] = field(default_factory=tuple)

    @property
    def measure(self) -> Measure:
        """The measure that the headline is about."""
        return self.measures[0]

    @property
    def days(self) -> tuple[date, date] | None:
        """The first and last day of the file's dates, `None` without a time column."""
        return days_of(self.time) if self.time else None


def days_of(column: Column) -> tuple[date, date] | None:
    """The first and last day in a date column; months, quarters and years count from their first day."""
    ends = [_day(str(value)) for value in (column.minimum, column.maximum) if value is not None]
    return (ends[0], ends[1]) if len(ends) == 2 and ends[0] and ends[1] else None


def _day(value: str) -> date | None:
    for text in (value[:10], f"{value[:7]}-01", f"{value[:4]}-01-01"):
        try:
            return date.fromisoformat(text)
        except ValueError:
            continue
    return None
