"""Native charts: the chart itself and the workbook behind it, so that a reader can change the numbers in Word.

The XML comes from python-pptx, whose slides hold the very same DrawingML charts; this module gives them the looks of a report
and hangs them into a Word package. Nothing here knows about sections.
"""

import io
import math
from datetime import UTC, datetime
from typing import Any

from zeno.tools.builtin.word.content import Plot
from zeno.tools.builtin.word.figure import decimals
from zeno.tools.builtin.word.markup import ASIAN_FONT, LATIN_FONT, width
from zeno.tools.builtin.word.palette import ACCENT, INK, MUTED, PAPER, RULE, SERIES

EXTENT = (6_084_000, 2_736_000)
"""Width and height in EMU: 16.9 cm, the width of the text, by 7.6 cm."""

_BOOK = "rId1"
_AXIS_LETTERS = 84  # letters that fit side by side along the category axis
_MOST_LABELS = 30  # slanted labels that fit along it
_MOST_LABELLED_BARS = 14
_MOST_WRAPPED = 6  # so few labels have room for several lines each
_MOST_MARKERS = 40
_PREFIXES = ("¥", "$", "€", "£")
_NO_DATE = datetime(1980, 1, 1, tzinfo=UTC)  # workbooks must carry a date; a fixed one makes equal reports equal files


def attach(document: Any, plot: Plot, number: int, language: str) -> str:
    """Add `plot` and its workbook to the document as parts number `number`; gives the id of the relation to the chart."""
    from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
    from docx.opc.packuri import PackURI
    from docx.opc.part import Part

    package = document.part.package
    book = Part(
        PackURI(f"/word/embeddings/Microsoft_Excel_Sheet{number}.xlsx"), CONTENT_TYPE.SML_SHEET, workbook(plot), package
    )
    chart = Part(PackURI(f"/word/charts/chart{number}.xml"), CONTENT_TYPE.DML_CHART, chart_xml(plot, language), package)
    chart.load_rel(RELATIONSHIP_TYPE.PACKAGE, book, _BOOK)
    relation: str = document.part.relate_to(chart, RELATIONSHIP_TYPE.CHART)
    return relation


def workbook(plot: Plot) -> bytes:
    """The workbook that Word opens on "Edit data": categories in the first column, one column per series."""
    from xlsxwriter import Workbook

    file = io.BytesIO()
    # Labels are what they say: one that begins with "=" must not become a formula in the reader's Excel.
    book = Workbook(file, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    book.set_properties({"author": "Zeno", "created": _NO_DATE})
    sheet = book.add_worksheet("Sheet1")
    sheet.set_column(0, len(plot.series), 16)
    sheet.write_column(1, 0, plot.categories)
    looks = book.add_format({"num_format": number_format(plot)})
    for column, line in enumerate(plot.series, 1):
        sheet.write_string(0, column, line.name)
        sheet.write_column(1, column, line.values, looks)
    book.close()
    return file.getvalue()


def number_format(plot: Plot, most: int = 4) -> str:
    """The Excel format of the values: thousands separators, the unit if it is a sign, the decimals needed, up to `most`."""
    places = min(decimals(_values(plot)), most)
    digits = "#,##0" + "." * bool(places) + "0" * places
    if plot.unit in _PREFIXES:
        return f'"{plot.unit}"{digits}'
    return f'{digits}"%"' if plot.unit == "%" else digits


def chart_xml(plot: Plot, language: str) -> bytes:
    """The chart part (ECMA-376 part 1, section 21.2), its data linked to the workbook behind the relation `rId1`."""
    from lxml import etree

    chart = _drawn(plot)
    _set_title(chart, plot)
    _set_legend(chart, plot)
    if plot.kind == "pie":
        _paint_slices(chart, plot)
    else:
        _paint_series(chart, plot)
        _set_axes(chart, plot)
    space = chart.element
    _finish(space)
    _set_fonts(space, language)
    return bytes(etree.tostring(space, xml_declaration=True, encoding="UTF-8", standalone=True))


def _drawn(plot: Plot) -> Any:
    from pptx.chart.chart import Chart
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.oxml import parse_xml
    from pptx.util import Pt

    # python-pptx is typed in part only.
    data: Any = CategoryChartData(number_format(plot))
    data.categories = plot.categories
    for line in plot.series:
        data.add_series(line.name, line.values)
    kinds = {"line": XL_CHART_TYPE.LINE_MARKERS, "bar": XL_CHART_TYPE.COLUMN_CLUSTERED, "pie": XL_CHART_TYPE.PIE}
    chart: Any = Chart(parse_xml(data.xml_bytes(kinds[plot.kind])), None)
    chart.font.size, chart.font.color.rgb = Pt(9), _rgb(INK)
    return chart


def _set_title(chart: Any, plot: Plot) -> None:
    from pptx.util import Pt

    signed = plot.unit is None or plot.unit == "%" or plot.unit in _PREFIXES
    chart.has_title = True
    frame = chart.chart_title.text_frame
    frame.text = plot.title if signed else f"{plot.title} ({plot.unit})"
    for paragraph in frame.paragraphs:
        for run in paragraph.runs:
            run.font.size, run.font.bold, run.font.color.rgb = Pt(11), True, _rgb(ACCENT)


def _set_legend(chart: Any, plot: Plot) -> None:
    from pptx.enum.chart import XL_LEGEND_POSITION

    chart.has_legend = plot.kind == "pie" or len(plot.series) > 1
    if chart.has_legend:
        chart.legend.position = XL_LEGEND_POSITION.BOTTOM
        chart.legend.include_in_layout = False


def _paint_slices(chart: Any, plot: Plot) -> None:
    from pptx.enum.chart import XL_LABEL_POSITION

    drawn = chart.plots[0]
    for index in range(len(plot.categories)):
        look = drawn.series[0].points[index].format
        look.fill.solid()
        look.fill.fore_color.rgb = _rgb(SERIES[index % len(SERIES)])
        look.line.color.rgb = _rgb(PAPER)
    drawn.has_data_labels = True
    labels = drawn.data_labels
    labels.show_percentage, labels.show_value = True, False
    labels.number_format, labels.number_format_is_linked = "0.0%", False
    labels.position = XL_LABEL_POSITION.OUTSIDE_END


def _paint_series(chart: Any, plot: Plot) -> None:
    from pptx.enum.chart import XL_MARKER_STYLE
    from pptx.util import Pt

    marks = (XL_MARKER_STYLE.CIRCLE, XL_MARKER_STYLE.SQUARE, XL_MARKER_STYLE.DIAMOND, XL_MARKER_STYLE.TRIANGLE)
    drawn = chart.plots[0]
    for index, series in enumerate(drawn.series):
        color = _rgb(SERIES[index % len(SERIES)])
        look = series.format
        if plot.kind == "line":
            look.line.width, look.line.color.rgb = Pt(2.25), color
            crowded = len(plot.categories) > _MOST_MARKERS
            series.marker.style, series.marker.size = XL_MARKER_STYLE.NONE if crowded else marks[index % len(marks)], 6
            look = series.marker.format
            look.line.color.rgb = color
        look.fill.solid()
        look.fill.fore_color.rgb = color
    if plot.kind == "bar":
        drawn.gap_width, drawn.overlap = 60, 0
        _label_bars(drawn, plot)


def _label_bars(drawn: Any, plot: Plot) -> None:
    """Print the values on the bars where there is room for them."""
    from pptx.enum.chart import XL_LABEL_POSITION

    if len(plot.series) == 1 and len(plot.categories) <= _MOST_LABELLED_BARS:
        drawn.has_data_labels = True
        labels = drawn.data_labels
        labels.show_value, labels.position = True, XL_LABEL_POSITION.OUTSIDE_END
        most = 0 if max(map(abs, _values(plot))) >= 100 else 4
        labels.number_format, labels.number_format_is_linked = number_format(plot, most), False


def _axis_format(plot: Plot) -> str:
    """No more decimals than the distance between two marks of the axis needs."""
    values = _values(plot)
    span = max(values) - min(values)
    return number_format(plot, 0 if span >= 10 else 1 if span >= 1 else 4)


def _values(plot: Plot) -> list[float]:
    return [value for line in plot.series for value in line.values if value is not None]


def _set_axes(chart: Any, plot: Plot) -> None:
    from pptx.enum.chart import XL_TICK_LABEL_POSITION, XL_TICK_MARK

    names, values = chart.category_axis, chart.value_axis
    names.tick_label_position = XL_TICK_LABEL_POSITION.LOW  # below the plot even where values are negative
    names.format.line.color.rgb = _rgb(MUTED)
    names.major_tick_mark = values.major_tick_mark = XL_TICK_MARK.NONE
    _space_labels(names, plot)
    values.format.line.fill.background()
    values.major_gridlines.format.line.color.rgb = _rgb(RULE)
    values.tick_labels.number_format, values.tick_labels.number_format_is_linked = _axis_format(plot), False
    if plot.kind == "bar" and min(_values(plot)) >= 0:
        values.minimum_scale = 0  # the length of a bar is its value


def _space_labels(axis: Any, plot: Plot) -> None:
    """Slant labels that would run into each other, and leave some out when there are too many even so."""
    from pptx.util import Pt

    axis.tick_labels.font.size = Pt(9)  # gives the axis text properties of its own
    count = len(plot.categories)
    if count <= _MOST_WRAPPED or count * (max(map(width, plot.categories)) + 2) <= _AXIS_LETTERS:
        return
    (body,) = axis.tick_labels.font._element.xpath("ancestor::c:txPr/a:bodyPr")
    body.set("rot", "-2700000")  # 45 degrees, in 60,000ths of a degree
    body.set("vert", "horz")
    (after,) = axis._element.xpath("c:noMultiLvlLbl")
    after.addprevious(_element("c:tickLblSkip", val=str(math.ceil(count / _MOST_LABELS))))


def _finish(space: Any) -> None:
    """Square corners, no frame, bars between the tick marks, valid axis ids, and the link to the workbook."""
    from pptx.oxml import parse_xml
    from pptx.oxml.ns import nsdecls

    space.chart.addprevious(_element("c:roundedCorners", val="0"))
    blank = f'<a:solidFill><a:srgbClr val="{PAPER}"/></a:solidFill><a:ln><a:noFill/></a:ln>'
    space.chart.addnext(parse_xml(f"<c:spPr {nsdecls('c', 'a')}>{blank}</c:spPr>"))
    for axis in space.xpath("//c:valAx"):
        axis.append(_element("c:crossBetween", val="between"))
    for identifier in space.xpath("//c:axId | //c:crossAx"):
        identifier.set("val", identifier.get("val").lstrip("-"))  # the schema wants them unsigned
    space._add_externalData().rId = _BOOK


def _set_fonts(space: Any, language: str) -> None:
    from pptx.oxml.ns import qn

    for properties in space.xpath("//a:defRPr | //a:rPr"):
        properties.set("lang", language)
        for latin in properties.findall(qn("a:latin")):
            properties.remove(latin)
        properties.append(_element("a:latin", typeface=LATIN_FONT))
        properties.append(_element("a:ea", typeface=ASIAN_FONT))


def _element(tag: str, **attributes: str) -> Any:
    from pptx.oxml.xmlchemy import OxmlElement

    element: Any = OxmlElement(tag)
    for name, value in attributes.items():
        element.set(name, value)
    return element


def _rgb(color: str) -> Any:
    from pptx.dml.color import RGBColor

    return RGBColor.from_string(color)
