"""Tables of a report as markup: the cards of the key figures, and data tables that stay readable across pages."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from zeno.tools.builtin.word.content import KeyFigure, Table, Trend
from zeno.tools.builtin.word.figure import decimals, read, shown
from zeno.tools.builtin.word.markup import paragraph, rich, run, width
from zeno.tools.builtin.word.palette import ACCENT, PAPER, RULE, TINT
from zeno.tools.builtin.word.style import TEXT_WIDTH, style_id

_CARDS_ABREAST = 4
_SIZE, _SMALL_SIZE = 9.0, 7.5  # points: the size of the table styles, and that of a table which is too wide for it
_LETTER, _PADDING = 10.5, 200  # twentieths of a point: a letter per point of its size, and the margins of a cell
_NARROWEST, _WIDEST = 6, 36  # letters that a column is measured with
_READABLE = 14  # letters that a column of text keeps when the page is too narrow
_CODE = re.compile(r"(?:fiscal )?years?|年份?|年度|ids?|编号", re.IGNORECASE)
"""Headings of columns whose numbers are names and take no thousands separators."""
_MARKS: dict[Trend, str] = {"up": "▲", "down": "▼", "flat": "→"}


class _Column(NamedTuple):
    heading: str
    cells: list[str]
    is_number: bool
    letters: int


def cards(figures: Sequence[KeyFigure]) -> str:
    """The key figures side by side, at most four in a row."""
    abreast = math.ceil(len(figures) / math.ceil(len(figures) / _CARDS_ABREAST))
    widths = [TEXT_WIDTH // abreast] * abreast
    rows = []
    for start in range(0, len(figures), abreast):
        row = figures[start : start + abreast]
        filled = [_cell(widths[0], _card(figure), fill=TINT, top=(18, ACCENT)) for figure in row]
        blank = [_cell(widths[0], paragraph(style_id("Card Label"), ""))] * (abreast - len(row))
        rows.append(_row(filled + blank))
    borders = "".join(f'<w:{side} w:val="single" w:sz="48" w:space="0" w:color="{PAPER}"/>' for side in ("insideH", "insideV"))
    return _table(widths, borders, rows)


def data_table(table: Table) -> str:
    """The table: its heading row again on every page, rows never cut by a page's end, numbers to the right."""
    columns = [_column(heading, [row[i] for row in table.rows]) for i, heading in enumerate(table.columns)]
    size = _SIZE if sum(_wanted(column, _SIZE) for column in columns) <= TEXT_WIDTH else _SMALL_SIZE
    widths = _widths(columns, size)
    shown_size = size if size != _SIZE else None
    headings = (rich(column.heading, size=shown_size) for column in columns)
    rows = [_row(_cells(columns, widths, "Table Heading", headings, fill=ACCENT), repeated=True)]
    for number, texts in enumerate(zip(*(column.cells for column in columns), strict=True), 1):
        total = table.total_row and number == len(table.rows)
        contents = (rich(text, bold=total, size=shown_size) for text in texts)
        fill, top = (None if number % 2 else TINT), ((12, ACCENT) if total else None)
        rows.append(_row(_cells(columns, widths, "Table Text", contents, fill, top)))
    borders = f'<w:bottom w:val="single" w:sz="8" w:space="0" w:color="{ACCENT}"/>'
    borders += f'<w:insideH w:val="single" w:sz="4" w:space="0" w:color="{RULE}"/>'
    return _table(widths, borders, rows, caption=table.caption)


def _cells(
    columns: Sequence[_Column],
    widths: Sequence[int],
    style: str,
    contents: Iterable[str],
    fill: str | None = None,
    top: tuple[int, str] | None = None,
) -> list[str]:
    return [
        _cell(each, paragraph(style_id(f"{style} Number" if column.is_number else style), content), fill, top)
        for column, each, content in zip(columns, widths, contents, strict=True)
    ]


def _card(figure: KeyFigure) -> str:
    trend = figure.trend or _trend(figure.change)
    change = run(f"{_MARKS[trend]} {figure.change.strip()}") if figure.change else ""
    return (
        paragraph(style_id("Card Label"), rich(figure.label))
        + paragraph(style_id("Card Value"), run(figure.value))
        + paragraph(style_id(f"Card {trend.title()}"), change)
    )


def _trend(change: str | None) -> Trend:
    first = (change or "").strip()[:1]
    return "up" if first in ("+", "＋") else "down" if first in ("-", "−", "－") else "flat"


def _column(heading: str, cells: list[str | float | None]) -> _Column:
    numbers = [cell for cell in cells if isinstance(cell, float)]
    places = decimals(numbers)
    code = _CODE.fullmatch(heading.strip()) is not None and not places
    texts = [_text(cell, places, code) for cell in cells]
    kinds = {_is_number(cell) for cell in cells} - {None}
    return _Column(heading, texts, kinds == {True}, max(map(width, [heading, *texts])))


def _text(cell: str | float | None, places: int, code: bool) -> str:
    if cell is None or cell == "":
        return "—"
    if isinstance(cell, str):
        return cell
    return f"{cell:.0f}" if code else shown(cell, places)


def _is_number(cell: str | float | None) -> bool | None:
    """Whether the cell holds a number; `None` when it is empty and says nothing about its column."""
    try:
        return None if read(cell).value is None else True
    except ValueError:
        return False


def _widths(columns: Sequence[_Column], size: float) -> list[int]:
    """Widths that fill the page. When it is too narrow, text gives way first: it can be broken, a number cannot."""
    wanted = [_wanted(column, size) for column in columns]
    excess = sum(wanted) - TEXT_WIDTH
    if excess > 0:
        least = _PADDING + round(_READABLE * _LETTER * size)
        spare = [0 if column.is_number else max(each - least, 0) for column, each in zip(columns, wanted, strict=True)]
        part = min(excess / (sum(spare) or 1), 1)
        wanted = [each - round(extra * part) for each, extra in zip(wanted, spare, strict=True)]
    return [TEXT_WIDTH * each // sum(wanted) for each in wanted]


def _wanted(column: _Column, size: float) -> int:
    letters = max(column.letters, _NARROWEST) if column.is_number else min(max(column.letters, _NARROWEST), _WIDEST)
    return round(letters * _LETTER * size) + _PADDING


def _cell(cell_width: int, content: str, fill: str | None = None, top: tuple[int, str] | None = None) -> str:
    border = f'<w:tcBorders><w:top w:val="single" w:sz="{top[0]}" w:space="0" w:color="{top[1]}"/></w:tcBorders>' if top else ""
    ground = f'<w:shd w:val="clear" w:color="auto" w:fill="{fill}"/>' if fill else ""
    size = f'<w:tcW w:w="{cell_width}" w:type="dxa"/>'
    return f"<w:tc><w:tcPr>{size}{border}{ground}</w:tcPr>{content}</w:tc>"


def _row(cells: Sequence[str], repeated: bool = False) -> str:
    return f"<w:tr><w:trPr><w:cantSplit/>{'<w:tblHeader/>' * repeated}</w:trPr>{''.join(cells)}</w:tr>"


def _table(widths: Sequence[int], borders: str, rows: Sequence[str], caption: str | None = None) -> str:
    properties = (
        f'<w:tblW w:w="{sum(widths)}" w:type="dxa"/><w:tblBorders>{borders}</w:tblBorders><w:tblLayout w:type="fixed"/>'
        '<w:tblCellMar><w:left w:w="90" w:type="dxa"/><w:right w:w="90" w:type="dxa"/></w:tblCellMar>'
    )
    properties += f"<w:tblCaption w:val={quoteattr(caption)}/>" if caption else ""
    grid = "".join(f'<w:gridCol w:w="{w}"/>' for w in widths)
    # Two tables in a row would grow together; the narrow paragraph after each keeps them apart.
    gap = paragraph(style_id("Gap"), "")
    return f"<w:tbl><w:tblPr>{properties}</w:tblPr><w:tblGrid>{grid}</w:tblGrid>{''.join(rows)}</w:tbl>{gap}"
