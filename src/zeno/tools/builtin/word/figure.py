"""Numbers as people write them, read back. Knows one value at a time and nothing of charts."""

import math
import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

_MISSING = frozenset({"", "-", "--", "—", "——", "–", "n/a", "na", "null", "none", "nan", "无", "暂无", "缺失"})
_CURRENCIES = {
    "¥": "¥",
    "元": "¥",
    "rmb": "¥",
    "cny": "¥",
    "$": "$",
    "us$": "$",
    "usd": "$",
    "€": "€",
    "eur": "€",
    "£": "£",
    "gbp": "£",
}
_SCALES = {"k": 1_000, "万": 10_000, "亿": 100_000_000}
_FIGURE = re.compile(
    r"(?P<sign>[-+]?)(?P<before>us\$|[¥$€£]|rmb|cny|usd|eur|gbp)?(?P<inner>[-+]?)"
    r"(?P<digits>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?P<power>e[-+]?\d{1,3})?"
    r"(?P<scale>[k万亿])?(?P<after>%|元|rmb|cny|usd|eur|gbp)?"
)


class Figure(NamedTuple):
    """A number, `None` when the value says that there is none, and the unit that was written with it."""

    value: float | None
    unit: str | None = None


def read(written: float | str | None) -> Figure:
    """The number meant by `written`; a percentage keeps its scale, so "12%" is 12 with the unit "%".

    Raises `ValueError` for text that is not a number, and for an infinite one.
    """
    if written is None:
        return Figure(None)
    if isinstance(written, str):
        return _read_text(written)
    if math.isinf(written):
        raise ValueError(written)
    return Figure(None if math.isnan(written) else written)


def _read_text(written: str) -> Figure:
    text = "".join(unicodedata.normalize("NFKC", written).lower().replace("\u2212", "-").split())
    if text in _MISSING:
        return Figure(None)
    in_brackets = text.startswith("(") and text.endswith(")")
    match = _FIGURE.fullmatch(text[1:-1] if in_brackets else text)
    if match is None or (match["sign"] and match["inner"]) or (match["before"] and match["after"]):
        raise ValueError(written)
    number = Decimal(match["digits"].replace(",", "") + (match["power"] or "")) * _SCALES.get(match["scale"], 1)
    value = float(-number if in_brackets or "-" in (match["sign"], match["inner"]) else number)
    if math.isinf(value):
        raise ValueError(written)
    unit = match["before"] or match["after"]
    return Figure(value, _CURRENCIES.get(unit, unit))


def shown(value: float, decimals: int) -> str:
    """`value` with thousands separators, the same in both languages; beyond a thousand billions as a power of ten."""
    if not abs(value) < 1e15:
        return f"{value:.6g}"
    return f"{value:,.{decimals}f}"


def decimals(values: Sequence[float]) -> int:
    """How many decimals a column of numbers is shown with: as many as it needs, up to two, or four if all are below one.

    Large numbers get two or none, as amounts of money do.
    """
    largest = max(map(abs, values), default=0)
    steps = (0, 2) if largest >= 1_000 else (0, 1, 2) if largest >= 1 else (0, 1, 2, 3, 4)
    return next((n for n in steps if all(math.isclose(round(v, n), v, rel_tol=0, abs_tol=1e-9) for v in values)), steps[-1])
