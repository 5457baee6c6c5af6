"""Every figure that may honestly be said about a table, computed from its rows in plain Python."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

Rows = list[list[str]]
Period = Callable[[str], str]

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_PERIOD_NAMES = re.compile(
    r"[A-Z][a-z]{2} \d{1,2}, \d{4}|\d{4}年\d{1,2}月(?:\d{1,2}日)?|"
    r"(?:January|February|March|April|May|June|July|August|September|"
    r"October|November|December) \d{4}|Q\d \d{4}|\d{4}年第\d季度|\d{4}-\d\d(?:-\d\d)?|\d{4}-Q\d"
)


def amount(cell: str) -> Decimal | None:
    """A cell as a number; `None` when it holds none."""
    plain = re.sub(r"[,￥¥$%\s]", "", cell)
    return Decimal(plain) if re.fullmatch(r"-?\d+(\.\d+)?", plain) else None


def day(cell: str) -> date | None:
    """A cell of the test files as a day; months count from their first."""
    for pattern in (r"(\d{4})-(\d\d)-(\d\d)$", r"(\d{4})/(\d\d?)/(\d\d?)$", r"(\d{4})-(\d\d)$"):
        match = re.match(pattern, cell.strip())
        if match:
            year, month, number = (*map(int, match.groups()), 1)[:3]
            return date(year, month, number)
    spoken = re.match(r"(\d\d?) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (\d{4})$", cell.strip())
    if spoken:
        months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        return date(int(spoken[3]), months.index(spoken[2]) + 1, int(spoken[1]))
    return None


def week(cell: str) -> str:
    """The Monday of a cell's day."""
    found = day(cell)
    return "" if found is None else (found - timedelta(days=found.weekday())).isoformat()


def month(cell: str) -> str:
    """The month of a cell's day."""
    found = day(cell)
    return "" if found is None else found.strftime("%Y-%m")


def sums(rows: Rows, measure: str, *keys: tuple[str, Period | None]) -> dict[tuple[str, ...], Decimal]:
    """The sum of a column by the given columns, each passed through its period."""
    head = rows[0]
    found: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    for row in rows[1:]:
        value = amount(row[head.index(measure)]) if len(row) >= len(head) else None
        cells = tuple(read(row[head.index(name)].strip()) if read else row[head.index(name)].strip() for name, read in keys)
        if value is not None:
            found[cells] += value
    return dict(found)


def figures(rows: Rows, measure: str, group: str | None = None, time: tuple[str, Period] | None = None) -> set[str]:
    """All figures that may be said, as they are written: totals, changes, percentages, shares, fitted slopes."""
    groupings = [key for key in ((), *([((group, None),)] if group else [])) if key is not None]
    values, percents = set[Decimal](), set[Decimal]()
    for keys in groupings:
        totals = sums(rows, measure, *keys)
        values |= set(totals.values())
        percents |= _shares(totals.values())
        if time:
            lines: dict[tuple[str, ...], dict[str, Decimal]] = defaultdict(dict)
            for cells, value in sums(rows, measure, time, *keys).items():
                if cells[0]:
                    lines[cells[1:]][cells[0]] = value
            for line in lines.values():
                _follow([line[label] for label in sorted(line)], values, percents)
    return {shown for value in values for shown in _written(value)} | {f"{abs(value):.1f}" for value in percents}


def said(text: str, *names: Iterable[str]) -> list[str]:
    """The numbers in a text, without those that name a period, a file or a column."""
    plain = _PERIOD_NAMES.sub(" ", text)
    for name in sorted({name for listed in names for name in listed}, key=len, reverse=True):
        plain = plain.replace(name, " ")
    return _NUMBER.findall(plain)


def _shares(totals: Iterable[Decimal]) -> set[Decimal]:
    ordered = sorted(totals, reverse=True)
    whole = sum(ordered)
    added = [sum(ordered[: count + 1], Decimal()) for count in range(len(ordered))]
    return {part / whole * 100 for part in (*ordered, *added)} if whole else set()


def _follow(line: Sequence[Decimal], values: set[Decimal], percents: set[Decimal]) -> None:
    values |= set(line)
    for before, after in pairwise(line):
        values.add(after - before)
        if before > 0:
            percents.add((after - before) / before * 100)
    for start in (0, 1):
        for end in (len(line), len(line) - 1):
            if end - start >= 4:
                values.add(_slope(line[start:end]))


def _slope(line: Sequence[Decimal]) -> Decimal:
    """Least squares by the textbook."""
    middle, mean = Decimal(len(line) - 1) / 2, sum(line) / len(line)
    above = sum((Decimal(at) - middle) * (value - mean) for at, value in enumerate(line))
    return above / sum(((Decimal(at) - middle) ** 2 for at in range(len(line))), Decimal())


def _written(value: Decimal) -> set[str]:
    size = abs(value)
    whole = {f"{size:,.0f}"} if size >= 1000 or size == size.to_integral_value() else set()
    return whole | ({f"{size:,.2f}"} if size < 1000 else set())
