"""What a report must be before anything is drawn: neither empty nor endless, and every list as long as its neighbour."""

from zeno.core.errors import ToolFailed
from zeno.tools.builtin.word.content import Chart, Plot, Report, Section, Table

MOST_CHARTS = 20
MOST_ROWS = 5_000
MOST_COLUMNS = 12
MOST_POINTS = 50_000
MOST_SERIES = 24
MOST_SLICES = 24
MOST_KEY_FIGURES = 12
LONGEST_LABEL = 200


def check_report(report: Report) -> None:
    """Raises `ToolFailed` naming the place and what to do: for emptiness, for unequal lengths, and above the limits."""
    _filled("the title", report.title)
    if not report.sections:
        raise ToolFailed("The report has no sections. Give at least one with text, a chart or a table.", code="report_empty")
    charts = [section.chart for section in report.sections if section.chart]
    _at_most("key figures", len(report.key_figures), MOST_KEY_FIGURES)
    _at_most("charts", len(charts), MOST_CHARTS)
    _at_most("data points", sum(len(series.values) for chart in charts for series in chart.series), MOST_POINTS)
    _at_most("table rows", sum(len(section.table.rows) for section in report.sections if section.table), MOST_ROWS)
    for number, section in enumerate(report.sections, 1):
        _check_section(f"section {number} ({section.heading!r})", section)


def check_plot(plot: Plot) -> None:
    """Raises `ToolFailed` for a chart that would show nothing, and for a pie whose slices cannot be shares of a whole."""
    if plot.points == 0:
        raise ToolFailed(f"There are no values in chart {plot.title!r}. Give numbers, or leave it out.", code="chart_empty")
    if plot.kind != "pie":
        return
    if len(plot.series) != 1:
        raise ToolFailed(
            f"The pie {plot.title!r} has {len(plot.series)} series; a pie shows one. Use kind 'bar', or one pie per series.",
            code="pie_series",
        )
    _at_most(f"slices in the pie {plot.title!r}", len(plot.categories), MOST_SLICES)
    values = [value for value in plot.series[0].values if value is not None]
    if min(values) < 0 or not any(values):
        raise ToolFailed(f"The pie {plot.title!r} has negative values or only zeros. Use kind 'bar'.", code="pie_values")


def _check_section(place: str, section: Section) -> None:
    _filled(f"the heading of {place}", section.heading)
    written = any(text.strip() for text in (*section.paragraphs, *section.bullets))
    if not (written or section.chart or section.table):
        raise ToolFailed(
            f"There is nothing in {place}. Give it text, a chart or a table, or leave it out.", code="section_empty"
        )
    if section.chart:
        _check_chart(section.chart)
    if section.table:
        _check_table(f"the table of {place}", section.table)


def _check_chart(chart: Chart) -> None:
    _filled("the title of a chart", chart.title)
    place = f"chart {chart.title!r}"
    if not chart.categories or not chart.series:
        raise ToolFailed(f"There are no categories or no series in {place}. Give both, or leave it out.", code="chart_empty")
    _at_most(f"series in {place}", len(chart.series), MOST_SERIES)
    for label in (*chart.categories, *(series.name for series in chart.series)):
        _at_most(f"characters in label {label[:20]!r} of {place}", len(label), LONGEST_LABEL)
    for series in chart.series:
        if len(series.values) != len(chart.categories):
            raise ToolFailed(
                f"In {place}, series {series.name!r} has {len(series.values)} values for {len(chart.categories)} categories. "
                "Give one value per category, null where there is none.",
                code="length_mismatch",
            )


def _check_table(place: str, table: Table) -> None:
    if not table.columns or not table.rows:
        raise ToolFailed(f"There are no columns or no rows in {place}. Give both, or leave it out.", code="table_empty")
    _at_most(f"columns in {place}", len(table.columns), MOST_COLUMNS)
    for number, row in enumerate(table.rows, 1):
        if len(row) != len(table.columns):
            raise ToolFailed(
                f"In {place}, row {number} has {len(row)} cells for {len(table.columns)} columns. "
                "Give one cell per column, null where there is none.",
                code="length_mismatch",
            )


def _filled(what: str, text: str) -> None:
    if not text.strip():
        raise ToolFailed(f"A text is missing: {what} is empty.", code="text_missing")
    _at_most(f"characters in {what}", len(text), LONGEST_LABEL)


def _at_most(what: str, count: int, limit: int) -> None:
    if count > limit:
        raise ToolFailed(f"Too many {what}: {count:,}, the limit is {limit:,}. Summarise or split.", code="report_too_large")
