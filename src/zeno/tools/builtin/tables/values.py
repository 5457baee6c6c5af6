"""Values of a table as they are shown: in JSON and in text. Knows nothing of the database."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

Value = str | int | float | bool | None

_LONGEST_TEXT = 300
_EXACT = 1e15
"""Below it a float that is a whole number is shown as one."""


def shown(value: Any) -> Value:
    """The value for JSON: dates as ISO texts, whole numbers without a fraction, a long text cut and marked with an ellipsis."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _EXACT else value
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == value.min.time() else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[:_LONGEST_TEXT] + "…"
    return value  # type: ignore[no-any-return]


def plain(value: Any) -> str:
    """The value as a name or an example: 1234.5, true."""
    return str(value).lower() if isinstance(value, bool) else str(shown(value))


def in_words(value: Any, unit: str | None = None) -> str:
    """The value for a sentence, on one line, with its unit: ¥1,234.5, 12%."""
    value = shown(value)
    if value is None:
        return "missing"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return " ".join(plain(value).split())
    return f"{value:,}%" if unit == "%" else f"{unit or ''}{value:,}"
