"""Facts computed from the results of queries: changes, shares, extremes, trend. Only arithmetic, no words.

Every figure here is in the data or computed from it. A period that is not in the data has no figure; it is not zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import linear_regression

from zeno.models.offline.tables.periods import Every, bounds, step
from zeno.models.offline.tables.profile import Cell, Rows

Series = tuple[float | None, ...]

_NOTICEABLE = 0.05
"""A fitted line that moves by less than this share of the mean over the whole span is called level, and so is
one that runs against the change from the first to the last period."""
_MOST_GAPS = 400


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """A figure over calendar periods without gaps in the calendar; `values` are `None` where there is no data.

    `first` and `last` are the positions of the first and the last complete period; when no period is complete, `partial` is set
    and all of them count.
    """

    every: Every
    labels: tuple[str, ...]
    values: Series
    first: int
    last: int
    partial: bool = False

    @property
    def incomplete_start(self) -> bool:
        """Whether the data begin in the middle of the first period."""
        return self.first > 0

    @property
    def incomplete_end(self) -> bool:
        """Whether the data end in the middle of the last period."""
        return self.last < len(self.labels) - 1

    @property
    def complete(self) -> list[tuple[str, float]]:
        """The complete periods that have a figure."""
        pairs = zip(self.labels[self.first : self.last + 1], self.values[self.first : self.last + 1], strict=True)
        return [(label, value) for label, value in pairs if value is not None]

    @property
    def latest(self) -> float | None:
        """The figure of the last complete period."""
        return self.values[self.last]

    @property
    def previous(self) -> float | None:
        """The figure of the period before it, `None` when the data have none."""
        return self.values[self.last - 1] if self.last > self.first else None


@dataclass(frozen=True, kw_only=True)
class GroupFigure:
    """One group: its figure over everything and, with a timeline, in the last two complete periods."""

    name: str
    total: float | None
    share: float | None
    latest: float | None = None
    previous: float | None = None

    @property
    def change(self) -> float | None:
        """The change between the last two periods, `None` unless both have a figure."""
        return difference(self.latest, self.previous)


@dataclass(frozen=True, kw_only=True)
class Trend:
    """The fitted line: its change per period, and the direction when it is worth a word."""

    slope: float
    direction: str


@dataclass(frozen=True, kw_only=True)
class Move:
    """The change of one group from one period to the next."""

    group: str
    label: str
    change: float
    percent: float | None


def timeline(rows: Rows, every: Every, name: str, days: str, ends: tuple[date, date]) -> Timeline | None:
    """The timeline in a result by period, `None` when it has no periods. `ends` are the first and last day of the data."""
    found = by_label(rows, every, name)
    if not found:
        return None
    with_data = by_label(rows, every, days)
    labels = _calendar(sorted(found), every)
    counts = [with_data.get(label) or 0 for label in labels]
    first = 1 if _cut_short(counts, 0, bounds(labels[0], every)[0] < ends[0]) else 0
    last = len(labels) - (2 if _cut_short(counts, -1, bounds(labels[-1], every)[1] > ends[1]) else 1)
    partial = first > last
    if partial:
        first, last = 0, len(labels) - 1
    return Timeline(
        every=every, labels=labels, values=tuple(found.get(label) for label in labels), first=first, last=last, partial=partial
    )


def by_label(rows: Rows, every: Every, name: str) -> dict[str, float | None]:
    """One column of a result by period, by the label of the period; rows without a period are left out."""
    at, figure = _position(rows, every), _position(rows, name)
    if at is None or figure is None:
        return {}
    return {str(row[at])[:10]: number(row[figure]) for row in rows.rows if row[at] is not None}


def lines(rows: Rows, every: Every, labels: Sequence[str], groups: Sequence[str]) -> dict[str, Series]:
    """The figures of each group along the labels, in the order of `groups`."""
    found = {group: by_label(rows, every, group) for group in groups if group in rows.columns}
    return {group: tuple(figures.get(label) for label in labels) for group, figures in found.items()}


def rest(total: Series, drawn: Mapping[str, Series]) -> Series:
    """What is left of the total in each period when the drawn groups are taken away."""
    columns = zip(total, *drawn.values(), strict=True)
    return tuple(None if whole is None else round(whole - sum(part or 0 for part in parts), 6) for whole, *parts in columns)


def single(rows: Rows) -> float | None:
    """The one figure of a result of one row."""
    return number(rows.rows[0][-1]) if rows.rows else None


def totals(rows: Rows, group: str, name: str) -> dict[str | None, float | None]:
    """The figure of each group in a result by group; rows without a group are under `None`."""
    at, figure = _position(rows, group), _position(rows, name)
    if at is None or figure is None:
        return {}
    return {None if row[at] is None else str(row[at]): number(row[figure]) for row in rows.rows}


def trend(line: Timeline) -> Trend | None:
    """The least-squares line through the complete periods, `None` for fewer than four of them."""
    points = [(line.labels.index(label), value) for label, value in line.complete]
    if len(points) < 4:
        return None
    slope = linear_regression(*zip(*points, strict=True)).slope
    mean = sum(value for _, value in points) / len(points)
    moved = slope * (points[-1][0] - points[0][0]) / abs(mean) if mean else 0.0
    agrees = moved * (points[-1][1] - points[0][1]) > 0
    direction = "level" if abs(moved) < _NOTICEABLE or not agrees else "up" if moved > 0 else "down"
    return Trend(slope=slope, direction=direction)


def moves(drawn: Mapping[str, Series], line: Timeline) -> list[Move]:
    """All changes of groups between neighbouring complete periods."""
    found = []
    for group, values in drawn.items():
        for at in range(line.first + 1, line.last + 1):
            change = difference(values[at], values[at - 1])
            if change is not None:
                found.append(
                    Move(group=group, label=line.labels[at], change=change, percent=percent(values[at], values[at - 1]))
                )
    return found


def difference(now: float | None, before: float | None) -> float | None:
    """The change from `before` to `now`, `None` unless both are known."""
    return None if now is None or before is None else now - before


def percent(now: float | None, before: float | None) -> float | None:
    """The change in percent; `None` when it is unknown or the base is not positive, where a percentage misleads."""
    return None if now is None or before is None or before <= 0 else (now - before) / before * 100


def share(part: float | None, whole: float | None) -> float | None:
    """The part in percent of the whole, `None` when that says nothing."""
    return None if part is None or not whole or whole < 0 or part < 0 else part / whole * 100


def number(cell: Cell) -> float | None:
    """A cell as a number; tools may write big or exact ones as text."""
    if isinstance(cell, bool) or cell is None:
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _position(rows: Rows, name: str) -> int | None:
    lowered = [column.lower() for column in rows.columns]
    if name in rows.columns:
        return rows.columns.index(name)
    return lowered.index(name.lower()) if name.lower() in lowered else None


def _calendar(labels: Sequence[str], every: Every) -> tuple[str, ...]:
    """All periods from the first to the last, also those without data."""
    found = [labels[0]]
    while found[-1] < labels[-1] and len(found) < _MOST_GAPS:
        found.append(step(found[-1], every, 1))
    return tuple(found) if found[-1] == labels[-1] else tuple(labels)


def _cut_short(days: Sequence[float], at: int, calendar_goes_on: bool) -> bool:
    """Whether a period at an end of the data is incomplete.

    The calendar alone cannot tell: shops close on Sundays and monthly data have one date. A period is cut short when the
    calendar goes on beyond the data and it has fewer days with data than any period that lies inside.
    """
    inside = [count for count in days[1:-1] if count]
    if not inside:
        return calendar_goes_on and days[at] > 1
    return calendar_goes_on and days[at] < min(inside)


def data_ends(days: tuple[date, date], where: Sequence[Mapping[str, object]], time: str) -> tuple[date, date]:
    """The days of the data after the limits in time that were asked for."""
    first, last = days
    for condition in where:
        if condition["column"] == time and condition["op"] == ">=":
            first = max(first, date.fromisoformat(str(condition["value"])))
        if condition["column"] == time and condition["op"] == "<":
            last = min(last, date.fromordinal(date.fromisoformat(str(condition["value"])).toordinal() - 1))
    return first, last
