"""Figures as people write them, per language: thousands separators, units, signs, percentages."""

import re

from zeno.i18n import text
from zeno.models.offline.tables.plan import Measure

_SYMBOLS = frozenset("¥￥$€£₹₩")
_MIXED = re.compile(r"(?<=[\u3400-\u9fff])(?=[A-Za-z])|(?<=[A-Za-z])(?=[\u3400-\u9fff])")


def figure(value: float | None, unit: str | None, language: str) -> str:
    """A figure with its unit; big ones without decimals. A dash for none."""
    if value is None:
        return "—"
    shown = _decimal(abs(value), language, _decimals(value))
    sign = "-" if value < 0 and any(character in "123456789" for character in shown) else ""
    return sign + _with_unit(shown, unit)


def signed(value: float | None, unit: str | None, language: str) -> str:
    """A change with its sign."""
    shown = figure(value, unit, language)
    return shown if value is None or value <= 0 or not any(character in "123456789" for character in shown) else f"+{shown}"


def points(value: float | None, language: str) -> str:
    """A percentage with one decimal."""
    return "—" if value is None else f"{_decimal(value, language, 1)}%"


def signed_points(value: float | None, language: str) -> str:
    """A change in percent with its sign."""
    return points(value, language) if value is None or value <= 0 else f"+{points(value, language)}"


def rounded(value: float | None, scale: float | None = None) -> float | None:
    """A figure for a chart or a table cell, with the decimals that `figure` shows for it, or for `scale` in a whole column."""
    if value is None:
        return None
    result = round(value, _decimals(value if scale is None else scale))
    return int(result) if float(result).is_integer() else result


def sentence(words: str, language: str) -> str:
    """Words as a sentence: a capital in English, a blank between Chinese and Latin letters in Chinese."""
    return _spaced(words) if language.startswith("zh") else _capital(words)


def _spaced(words: str) -> str:
    return _MIXED.sub(" ", words)


def _capital(words: str) -> str:
    """Upper case for the first letter, unless the second shows that the spelling is deliberate, as in "iOS"."""
    return words if words[1:2].isupper() else words[:1].upper() + words[1:]


def label(measure: Measure, language: str) -> str:
    """What a measure is called in a sentence."""
    name = measure.column.name if measure.column else ""
    return _spaced(text(language, f"offline.measure.{measure.function}", column=name))


def _decimals(value: float) -> int:
    return 0 if abs(value) >= 1000 or float(value).is_integer() else 2


def _decimal(value: float, language: str, decimals: int) -> str:
    from babel.numbers import format_decimal

    pattern = "#,##0." + "0" * decimals if decimals else "#,##0"
    return str(format_decimal(round(value, decimals), format=pattern, locale=language.replace("-", "_")))


def _with_unit(shown: str, unit: str | None) -> str:
    if not unit:
        return shown
    return f"{unit}{shown}" if unit in _SYMBOLS else f"{shown}{unit}" if unit == "%" else f"{shown} {unit}"
