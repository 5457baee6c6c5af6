"""What a report says: the shapes a model fills in, and what the rest of this package draws.

Nothing here knows how a document looks.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Trend = Literal["up", "down", "flat"]
Kind = Literal["line", "bar", "pie"]
Language = Literal["zh-CN", "en-US"]


class KeyFigure(Struct, frozen=True, forbid_unknown_fields=True):
    """One card in the row under the headline."""

    label: Annotated[str, Meta(description="What is measured, such as 'Sales, last week'.")]
    value: Annotated[str, Meta(description="The figure ready to print, with its unit, such as '¥1,234,500'.")]
    change: Annotated[str | None, Meta(description="The change ready to print, such as '+12.3% vs the week before'.")] = None
    trend: Annotated[Trend | None, Meta(description="Colour and arrow of the change; without it the sign decides.")] = None


class Series(Struct, frozen=True, forbid_unknown_fields=True):
    """One line, one colour of bars, or the slices of a pie."""

    name: Annotated[str, Meta(description="The name in the legend.")]
    values: Annotated[tuple[float | str | None, ...], Meta(description="One value per category, null where there is none.")]


class Chart(Struct, frozen=True, forbid_unknown_fields=True):
    """A chart that the reader can edit in Word."""

    kind: Annotated[Kind, Meta(description="line for a course over time, bar to compare, pie for shares of one whole.")]
    title: Annotated[str, Meta(description="What the chart shows.")]
    categories: Annotated[tuple[str, ...], Meta(description="Labels along the axis, or of the slices.")]
    series: Annotated[tuple[Series, ...], Meta(description="The values; a pie has exactly one series.")]
    unit: Annotated[str | None, Meta(description="Unit of the values, such as '¥' or '%'.")] = None


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table; columns of numbers are aligned and get thousands separators."""

    columns: Annotated[tuple[str, ...], Meta(description="The headings.")]
    rows: Annotated[
        tuple[tuple[str | float | None, ...], ...], Meta(description="The cells, row by row; null prints as a dash.")
    ]
    caption: Annotated[str | None, Meta(description="What the table shows.")] = None
    total_row: Annotated[bool, Meta(description="Whether the last of the rows is a total, to be set in bold.")] = False


class Section(Struct, frozen=True, forbid_unknown_fields=True):
    """A heading and what stands under it, in this order: paragraphs, chart, table, bullets."""

    heading: Annotated[str, Meta(description="The heading.")]
    paragraphs: Annotated[tuple[str, ...], Meta(description="Running text; **double asterisks** set bold.")] = ()
    bullets: Annotated[tuple[str, ...], Meta(description="Short points, such as what stands out.")] = ()
    chart: Annotated[Chart | None, Meta(description="A chart.")] = None
    table: Annotated[Table | None, Meta(description="A table.")] = None


class Report(Struct, frozen=True):
    """A whole report, in the language it is written in."""

    title: str
    sections: tuple[Section, ...]
    language: Language
    subtitle: str | None = None
    headline: str | None = None
    key_figures: tuple[KeyFigure, ...] = ()
    notes: tuple[str, ...] = ()


class Line(Struct, frozen=True):
    """A series whose values are numbers, `None` where there is a gap."""

    name: str
    values: tuple[float | None, ...]


class Plot(Struct, frozen=True):
    """A chart ready to be drawn: every series has as many values as there are categories."""

    kind: Kind
    title: str
    categories: tuple[str, ...]
    series: tuple[Line, ...]
    unit: str | None = None

    @property
    def points(self) -> int:
        """How many values the chart shows."""
        return sum(value is not None for line in self.series for value in line.values)


class Note(Struct, frozen=True):
    """Something that was changed on the way into the document; `code` is the key of its sentence in `report.note`."""

    code: str
    params: dict[str, str | int]
