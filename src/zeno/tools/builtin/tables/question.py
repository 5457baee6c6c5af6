"""What can be asked of a table, in the words of `query_table`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta, Struct

Every = Literal["day", "week", "month", "quarter", "year"]
FilterValue = str | float | bool | list[str | float] | None


class Filter(Struct, frozen=True, forbid_unknown_fields=True):
    """A condition that rows must meet."""

    column: Annotated[str, Meta(description="Column the condition is on.")]
    op: Annotated[
        Literal["=", "!=", "<", "<=", ">", ">=", "in", "contains", "between", "is_empty", "not_empty"],
        Meta(description="'contains' ignores case; 'between' includes both ends; '!=' keeps rows without a value."),
    ]
    value: Annotated[
        FilterValue,
        Meta(
            description="What to compare with: a list for 'in', a list of two for 'between', nothing for 'is_empty' and "
            "'not_empty'. Dates as 2026-11-30; 2026-11 and 2026 mean the whole month and year."
        ),
    ] = None


class Period(Struct, frozen=True, forbid_unknown_fields=True):
    """Groups rows by the calendar."""

    column: Annotated[str, Meta(description="Date column.")]
    every: Annotated[Every, Meta(description="Length of a period; weeks begin on Monday.")]


class Measure(Struct, frozen=True, forbid_unknown_fields=True):
    """A figure computed for every group."""

    function: Annotated[
        Literal["sum", "mean", "median", "min", "max", "count", "count_distinct"],
        Meta(description="'count' without a column counts rows, with one it counts the rows that have a value."),
    ]
    column: Annotated[str | None, Meta(description="Column to compute from; may be left out for 'count' only.")] = None
    name: Annotated[str | None, Meta(description="Name of the result column; default is like 'sum_amount' or 'count'.")] = None
    share: Annotated[
        bool,
        Meta(
            description="Add 'share_<name>': percent of the total of all result rows, or of the same period. For sum and count."
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Question:
    """All that was asked in one call."""

    columns: list[str]
    where: list[Filter]
    group_by: list[str]
    period: Period | None
    measures: list[Measure]
    pivot: str | None
    change: bool
    order_by: str | None
    descending: bool
    limit: int

    @property
    def groups(self) -> bool:
        """Whether figures are asked for, not rows."""
        return bool(self.group_by or self.period or self.measures)
