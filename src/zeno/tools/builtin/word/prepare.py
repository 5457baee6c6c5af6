"""From what a model wrote to what can be drawn: characters, numbers and the order of periods, each change noted.

Nothing is changed in silence: whatever differs from the arguments becomes a `Note`.
"""

import re
import unicodedata
from itertools import chain
from typing import Any

import msgspec

from zeno.core.errors import ToolFailed
from zeno.tools.builtin.word.content import Chart, Line, Note, Plot, Report, Series
from zeno.tools.builtin.word.figure import Figure, read
from zeno.tools.builtin.word.period import calendar_order

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 (section 2.2, production Char) has no place for: control characters, U+FFFE, U+FFFF and lone surrogates."""


def cleaned(report: Report) -> tuple[Report, list[Note]]:
    """`report` without the characters that no document can hold."""
    removed = 0

    def clean(node: Any) -> Any:
        nonlocal removed
        if isinstance(node, str):
            text, count = _FORBIDDEN.subn("", node)
            removed += count
            return text
        if isinstance(node, dict):
            return {key: clean(value) for key, value in node.items()}
        return [clean(item) for item in node] if isinstance(node, list | tuple) else node

    result = msgspec.convert(clean(msgspec.to_builtins(report)), Report)
    return result, [Note("characters_removed", {"count": removed})] if removed else []


def plotted(chart: Chart) -> tuple[Plot, list[Note]]:
    """`chart` with numbers for values and its periods in calendar order.

    Raises `ToolFailed` naming chart, series and category of a value that is not a number, and for a mix of units.
    """
    figures = [_figures(chart, series) for series in chart.series]
    notes = _value_notes(chart, figures)
    order = calendar_order(chart.categories)
    if order is None:
        order = list(range(len(chart.categories)))
    else:
        notes.append(Note("periods_sorted", {"chart": chart.title}))
    lines = (
        Line(name=series.name, values=tuple(row[i].value for i in order))
        for series, row in zip(chart.series, figures, strict=True)
    )
    return Plot(
        kind=chart.kind,
        title=chart.title,
        categories=tuple(chart.categories[i] for i in order),
        series=tuple(lines),
        unit=_unit(chart, figures),
    ), notes


def _figures(chart: Chart, series: Series) -> list[Figure]:
    figures = []
    for category, written in zip(chart.categories, series.values, strict=True):
        try:
            figures.append(read(written))
        except ValueError:
            raise ToolFailed(
                f"Chart {chart.title!r}, series {series.name!r}, category {category!r}: {written!r} is not a number. "
                "Give a number, or null where there is no value.",
                code="not_a_number",
            ) from None
    return figures


def _value_notes(chart: Chart, figures: list[list[Figure]]) -> list[Note]:
    written = (value for series in chart.series for value in series.values)
    pairs = list(zip(written, chain.from_iterable(figures), strict=True))
    from_text = [value for value, figure in pairs if isinstance(value, str) and figure.value is not None]
    missing = sum(figure.value is None for _, figure in pairs)
    notes = []
    if from_text:
        notes.append(Note("numbers_read", {"chart": chart.title, "count": len(from_text), "example": from_text[0]}))
    if missing:
        notes.append(Note("values_missing", {"chart": chart.title, "count": missing}))
    return notes


def _unit(chart: Chart, figures: list[list[Figure]]) -> str | None:
    """The unit of the chart: the one given, else the one that every value was written with."""
    units = {figure.unit for figure in chain.from_iterable(figures) if figure.value is not None}
    written = sorted(unit for unit in units if unit)
    if len(written) > 1:
        raise ToolFailed(
            f"The values of chart {chart.title!r} mix the units {', '.join(written)}. Convert them, or use one chart each.",
            code="mixed_units",
        )
    given = unicodedata.normalize("NFKC", chart.unit or "").strip()
    return given or (written[0] if len(units) == 1 and written else None)
