"""Calendar periods by the labels of the table tools: a day, a week by its Monday, a month, a quarter, a year.

Labels are "2026-11-30", "2026-11-23" (week), "2026-11", "2026-Q4" and "2026"; weeks are those of ISO 8601.
"""

from datetime import date, timedelta
from typing import Literal

from zeno.i18n import text

Every = Literal["day", "week", "month", "quarter", "year"]
GRAINS: tuple[Every, ...] = ("day", "week", "month", "quarter", "year")

_LONGEST_SPAN = {"day": 31, "week": 230, "month": 1200, "quarter": 3000}
"""In days: a longer span is drawn with the next grain when the user names none."""
_SPACING = {"week": 5.5, "month": 25.0, "quarter": 80.0, "year": 300.0}
"""In days between neighbouring dates: data this sparse has nothing finer to show."""


def bounds(label: str, every: Every) -> tuple[date, date]:
    """The first and the last day of a period. Raises `ValueError` for a label of another shape."""
    first = _first_day(label, every)
    return first, _first_day(step(label, every, 1), every) - timedelta(days=1)


def label_of(day: date, every: Every) -> str:
    """The label of the period that a day lies in."""
    if every == "day":
        return day.isoformat()
    if every == "week":
        return (day - timedelta(days=day.weekday())).isoformat()
    if every == "month":
        return f"{day.year:04d}-{day.month:02d}"
    return f"{day.year:04d}-Q{(day.month + 2) // 3}" if every == "quarter" else f"{day.year:04d}"


def step(label: str, every: Every, count: int) -> str:
    """The label `count` periods later, earlier when negative."""
    first = _first_day(label, every)
    if every in ("day", "week"):
        return (first + timedelta(days=count * (7 if every == "week" else 1))).isoformat()
    months = first.year * 12 + first.month - 1 + count * {"month": 1, "quarter": 3, "year": 12}[every]
    return label_of(date(months // 12, months % 12 + 1, 1), every)


def suited(first: date, last: date, distinct: int) -> Every:
    """The grain that shows a span well: by its length, and no finer than the dates stand apart."""
    span = (last - first).days + 1
    by_span: Every = next((every for every in GRAINS[:-1] if span <= _LONGEST_SPAN[every]), "year")
    return max(by_span, finest(first, last, distinct), key=GRAINS.index)


def finest(first: date, last: date, distinct: int) -> Every:
    """The finest grain that the spacing of the dates supports."""
    spacing = (last - first).days / max(distinct - 1, 1)
    coarse: Every = "day"
    for every in GRAINS[1:]:
        if spacing >= _SPACING[every]:
            coarse = every
    return coarse


def spoken_period(label: str, every: Every, language: str) -> str:
    """A period as people say it: "the week of Nov 23, 2026"."""
    from babel.dates import format_date

    locale = language.replace("-", "_")
    first = _first_day(label, every)
    if every in ("day", "week"):
        return text(language, f"offline.period.{every}", day=format_date(first, "medium", locale=locale))
    params = {
        "year": first.year,
        "month": format_date(first, "LLLL", locale=locale),
        "number": first.month,
        "quarter": (first.month + 2) // 3,
    }
    return text(language, f"offline.period.{every}", **params)


def _first_day(label: str, every: Every) -> date:
    if every in ("day", "week"):
        return date.fromisoformat(label)
    if every == "month":
        return date.fromisoformat(f"{label}-01")
    if every == "quarter":
        year, quarter = label.split("-Q")
        return date(int(year), int(quarter) * 3 - 2, 1)
    return date(int(label), 1, 1)
