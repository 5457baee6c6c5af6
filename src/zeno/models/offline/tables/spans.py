"""The stretch of time a sentence speaks of: "in November", "since 2026-10-01", "2026年10月", "last 4 weeks".

There is no clock: bare months and "last" count from the last day of the data.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from zeno.models.offline.tables.periods import GRAINS, Every, bounds, label_of, step

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_LEAD = r"\b(?:in|of|for|from|since|after|before|until|till|to|and|between|through|during|only)\s+"
_TOKENS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<year>(?:19|20)\d\d)\s*[-/.年]\s*(?P<number>\d{1,2})\s*[-/.月]\s*(?P<day>\d{1,2})(?:\s*[日号])?(?!\d)",
        r"(?<!\d)(?P<year>(?:19|20)\d\d)\s*[-年]\s*(?P<number>\d{1,2})\s*(?:月份?)?(?![-\d/.])",
        rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<year>(?:19|20)\d\d))?",
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+(?P<year>(?:19|20)\d\d))?",
        rf"\b{_MONTH},?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d)",
        r"(?<!\d)(?P<number>\d{1,2})\s*月\s*(?P<day>\d{1,2})\s*[日号]",
        r"(?<![\d年-])(?P<number>\d{1,2})\s*月(?:份)?(?![\d个])",
        r"\bq(?P<quarter>[1-4])\b(?:[\s,/-]*(?P<year>(?:19|20)\d\d))?",
        r"(?:(?P<year>(?:19|20)\d\d)\s*年?\s*(?:的)?)?\s*第?(?P<quarter>[一二三四1-4])\s*季度",
        r"(?P<year>(?:19|20)\d\d)[\s-]*q(?P<quarter>[1-4])\b",
        rf"{_LEAD}(?P<token>{_MONTH})(?!\s+(?:i|we|you|be|have)\b)",
        r"(?<![\d.,])(?P<year>(?:19|20)\d\d)\s*年",
        rf"{_LEAD}(?P<token>(?P<year>(?:19|20)\d\d))\b(?![-/.]\d)",
    )
)
_RELATIVE = re.compile(
    r"(?:last|past|recent|latest|previous)\s+(?P<n>\d+|two|three|four|five|six|eight|ten|twelve)\s+(?P<unit>day|"
    r"week|month|quarter|year)s?"
    r"|(?:最近|近|过去|前)\s*(?P<zn>\d+|[一两二三四五六七八九十])\s*个?\s*(?P<zunit>天|日|周|星期|月|季度|年)",
    re.IGNORECASE,
)
_CURRENT = re.compile(
    r"\b(?P<which>this|current|last|previous)\s+(?P<unit>week|month|quarter|year)\b"
    r"|(?P<zwhich>[本这上今去])个?(?P<zunit>周|星期|月|季度|年)(?!报|均|半)|(?P<half>[上下])半年|\b[hH](?P<number>[12])\b",
    re.IGNORECASE,
)
_COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "ten": 10, "twelve": 12} | {
    word: number for number, word in enumerate("一二三四五六七八九十", 1)
} | {"两": 2}  # fmt: skip
_UNITS: dict[str, Every] = {every: every for every in GRAINS} | {
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "月": "month",
    "季度": "quarter",
    "年": "year",
}
_SINCE = re.compile(r"(?:since|from|starting(?: from| on)?|as of|自从?|从)\s*$", re.IGNORECASE)
_AFTER = re.compile(r"(?:after)\s*$", re.IGNORECASE)
_BEFORE = re.compile(r"(?:before|prior to|earlier than)\s*$", re.IGNORECASE)
_UNTIL = re.compile(r"(?:until|till|through|up to|by|截至|截止到?|到)\s*$", re.IGNORECASE)
_SINCE_BEHIND = re.compile(r"\s*(?:以来|以后|起|开始|至今|onwards?|and later)", re.IGNORECASE)
_AFTER_BEHIND = re.compile(r"\s*(?:之后|后)")
_BEFORE_BEHIND = re.compile(r"\s*(?:之前|以前|前)")
_JOINED = re.compile(r"\s*(?:to|through|until|till|and|[-–—~]|到|至|和|与|、)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Span:
    """Days from `first` to `last`, either end open when `None`; `unit` is the grain the words imply."""

    first: date | None
    last: date | None
    unit: Every | None = None


@dataclass(frozen=True)
class _Token:
    start: int
    end: int
    first: date
    last: date


def span(said: str, latest: date, *, current: bool = True) -> Span | None:
    """The stretch of time that `said` limits the data to, `None` when it names none.

    `latest` is the last day of the data; `current` says whether "this week" and "last week" count.
    """
    relative = _RELATIVE.search(said)
    if relative:
        word = (relative["n"] or relative["zn"]).lower()
        unit = _UNITS[(relative["zunit"] or relative["unit"]).lower()]
        count = _COUNTS.get(word) or int(word)
        return Span(bounds(step(label_of(latest, unit), unit, 1 - max(count, 1)), unit)[0], None, unit)
    standing = _CURRENT.search(said) if current else None
    if standing:
        return _current(standing, latest)
    tokens = sorted(_tokens(said, latest), key=lambda token: token.start)
    if not tokens:
        return None
    if len(tokens) > 1 and _JOINED.fullmatch(said[tokens[0].end : tokens[1].start]):
        return Span(tokens[0].first, max(token.last for token in tokens))
    ranges = [_directed(said, token) for token in tokens]
    firsts, lasts = [r.first for r in ranges if r.first], [r.last for r in ranges if r.last]
    return Span(min(firsts) if firsts else None, max(lasts) if lasts else None)


def _current(match: re.Match[str], latest: date) -> Span:
    """Days of a period named by where it stands.

    "This month" is the one the data end in; "last month" is the last one they cover to its end.
    """
    if half := match["half"] or match["number"]:
        quarters = (1, 2) if half in ("上", "1") else (3, 4)
        halves = [bounds(f"{latest.year:04d}-Q{quarter}", "quarter") for quarter in quarters]
        return Span(halves[0][0], halves[1][1])
    unit = _UNITS[(match["unit"] or match["zunit"]).lower()]
    label = label_of(latest, unit)
    first, last = bounds(label, unit)
    is_this = (match["which"] or match["zwhich"]).lower() in ("this", "current", "本", "这", "今")
    if not is_this and (last > latest or match["zwhich"] == "去"):
        first, last = bounds(step(label, unit, -1), unit)
    return Span(first, last)


def without_spans(said: str) -> str:
    """The text with its dates and relative spans blanked out, every other character in its place."""
    for pattern in (_RELATIVE, _CURRENT, *_TOKENS):
        for match in pattern.finditer(said):
            start, end = _place(match)
            said = said[:start] + " " * (end - start) + said[end:]
    return said


def _directed(said: str, token: _Token) -> Span:
    before, behind = said[: token.start], said[token.end :]
    if _SINCE.search(before) or _SINCE_BEHIND.match(behind):
        return Span(token.first, None)
    if _AFTER.search(before) or _AFTER_BEHIND.match(behind):
        return Span(token.last + timedelta(days=1), None)
    if _BEFORE.search(before) or _BEFORE_BEHIND.match(behind):
        return Span(None, token.first - timedelta(days=1))
    return Span(None, token.last) if _UNTIL.search(before) else Span(token.first, token.last)


def _tokens(said: str, latest: date) -> Iterator[_Token]:
    taken: list[tuple[int, int]] = []
    for pattern in _TOKENS:
        for match in pattern.finditer(said):
            place = _place(match)
            if all(place[1] <= start or place[0] >= end for start, end in taken):
                days = _days(match.groupdict(), latest)
                if days:
                    taken.append(place)
                    yield _Token(*place, *days)


def _place(match: re.Match[str]) -> tuple[int, int]:
    """Where the date itself stands, without the word that shows it is one."""
    return match.span("token") if "token" in match.re.groupindex else match.span()


def _days(parts: dict[str, str | None], latest: date) -> tuple[date, date] | None:
    year = int(parts.get("year") or 0)
    try:
        if parts.get("quarter"):
            number = "一二三四".find(parts["quarter"] or "") + 1 or int(parts["quarter"] or 0)
            return bounds(f"{year or _year(latest, number * 3 - 2):04d}-Q{number}", "quarter")
        month = int(parts.get("number") or 0)
        if parts.get("month"):
            month = _MONTHS.index((parts["month"] or "")[:3].lower()) + 1
        if not month:
            return bounds(f"{year:04d}", "year")
        year = year or _year(latest, month)
        if parts.get("day"):
            day = date(year, month, int(parts["day"] or 0))
            return day, day
        return bounds(f"{year:04d}-{month:02d}", "month")
    except ValueError:
        return None


def _year(latest: date, month: int) -> int:
    """The latest year of the data in which that month has begun."""
    return latest.year if month <= latest.month else latest.year - 1
