"""Labels that name a day, a week, a month or a quarter, put in calendar order. Knows labels only, no values."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_CHINESE = ("一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二")
_NAME = rf"(?P<month>{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in _MONTHS)}|sept)\.?"
_MONTH = r"(?P<month>\d{1,2}|十[一二]?|[一二三四五六七八九])"
_YEAR = r"(?P<year>\d{4})"
_PATTERNS = {
    "day": (rf"{_YEAR}[-/.年]{_MONTH}[-/.月](?P<part>\d{{1,2}})日?",),
    "week": (rf"(?:{_YEAR}[- ]?)?w(?P<part>\d{{1,2}})", rf"(?:{_YEAR}年)?第?(?P<part>\d{{1,2}})周"),
    "month": (rf"{_YEAR}[-/.]{_MONTH}", rf"(?:{_YEAR}年)?{_MONTH}月份?", rf"{_NAME}[ ,-]*{_YEAR}?", rf"{_YEAR}[ -]*{_NAME}"),
    "quarter": (
        rf"(?:{_YEAR}[- ]?)?q(?P<part>[1-4])",
        rf"q(?P<part>[1-4])[ -]*{_YEAR}",
        rf"(?:{_YEAR}年)?第?(?P<part>[1-4一二三四])季度",
    ),
}
_LAST = {"day": (31,), "week": (52, 53), "month": (12,), "quarter": (4,)}
"""The last number of each kind before it begins anew."""


class Period(NamedTuple):
    """A period; `year` is `None` when the label leaves it out, `within` is its place in the year."""

    kind: str
    year: int | None
    within: tuple[int, int]


def calendar_order(labels: Sequence[str]) -> list[int] | None:
    """The positions of `labels` in calendar order, `None` when there is none or they are in order already.

    Labels without a year belong to the only year that the others name. An unbroken run over the turn of the year ("11月",
    "12月", "1月") is in order as it stands.
    """
    periods = [period for period in map(_period, labels) if period is not None]
    if len(periods) < len(labels) or len({period.kind for period in periods}) != 1:
        return None
    years = {period.year for period in periods if period.year is not None}
    if any(period.year is None for period in periods) and (len(years) > 1 or _is_run(periods)):
        return None
    year = max(years, default=0)
    order = sorted(range(len(labels)), key=lambda i: (periods[i].year or year, periods[i].within))
    return None if order == list(range(len(labels))) else order


def _period(label: str) -> Period | None:
    text = label.strip().lower()
    for kind, patterns in _PATTERNS.items():
        for pattern in patterns:
            if match := re.fullmatch(pattern, text):
                return _checked(kind, match.groupdict())
    return None


def _checked(kind: str, found: dict[str, str | None]) -> Period | None:
    year, month, part = found.get("year"), _number(found.get("month")), _number(found.get("part"))
    last = month if kind == "month" else part
    if month > 12 or (kind == "day" and month == 0) or not 1 <= last <= max(_LAST[kind]):
        return None
    return Period(kind, int(year) if year else None, (month, part))


def _number(text: str | None) -> int:
    if text is None:
        return 0
    if text in _CHINESE:
        return _CHINESE.index(text) + 1
    named = [number for number, name in enumerate(_MONTHS, 1) if name[:3] == text[:3]]
    return named[0] if named else int(text)


def _is_run(periods: list[Period]) -> bool:
    """Whether each period follows the one before it, over the turn of the year too."""
    kind = periods[0].kind
    places = [max(period.within) for period in periods]
    return all(after == before + 1 or (after == 1 and before in _LAST[kind]) for before, after in pairwise(places))
