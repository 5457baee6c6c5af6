"""XLSX workbooks: the cells of one sheet as the texts that a person sees there."""

import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from zeno.core.errors import ToolFailed
from zeno.tools.builtin.tables.table import Note

_MOST_UNZIPPED = 1024**3
_MOST_SHARED_TEXT = 256 * 1024**2
"""The texts of a workbook are held in memory while it is read."""
_MOST_RATIO = 200

_FORMAT_CURRENCY = re.compile(r"\[\$([^-\]]*)(?:-[^\]]*)?\]")
_FORMAT_NOISE = re.compile(r'\\.|_.|\*.|"|\[[^\]]*\]')
_CURRENCIES = re.compile(r"[¥￥$€£]")


@dataclass(kw_only=True)
class Worksheet:
    """One sheet. `uncalculated` names, while it is read, the formula cells whose value was never stored."""

    file: Path
    values: Any
    formulas: Any
    sheets: list[str]
    uncalculated: list[str] = field(default_factory=list)

    @property
    def sheet(self) -> str | None:
        """Its name."""
        name: str = self.values.title
        return name

    @property
    def layout(self) -> str:
        """The sheet."""
        return f"XLSX, sheet {self.sheet!r}"

    def rows(self) -> Iterator[list[str]]:
        """The rows down to the last one that holds something; a formula stands for its stored value."""
        empty = 0
        with _readable(self.file):
            for row in self._texts():
                if not any(row):
                    empty += 1
                    continue
                yield from ([] for _ in range(empty))
                empty = 0
                yield row

    def notes(self) -> list[Note]:
        """Formulas without a value."""
        cells = self.uncalculated
        return [Note("formulas_without_value", None, len(cells), cells[:3])] if cells else []

    def _texts(self) -> Iterator[list[str]]:
        if self.formulas is None:
            yield from (_trimmed([_text(cell) for cell in row]) for row in self.values.iter_rows())
            return
        for row, formulas in zip(self.values.iter_rows(), self.formulas.iter_rows(), strict=True):
            for cell, formula in zip(row, formulas, strict=True):
                if cell.value is None and formula.data_type == "f":
                    self.uncalculated.append(formula.coordinate)
            yield _trimmed([_text(cell) for cell in row])


@contextmanager
def open_worksheet(file: Path, sheet: str | None) -> Iterator[Worksheet]:
    """The sheet of that name, or the first visible one with data. Raises `ToolFailed` when there is none."""
    with_formulas = _inspect(file)
    with _loaded(file, data_only=True) as book:
        sheets = [worksheet.title for worksheet in book.worksheets]
        values = _chosen(file, book, sheet)
        if not with_formulas:
            yield Worksheet(file=file, values=values, formulas=None, sheets=sheets)
            return
        with _loaded(file, data_only=False) as formula_book:
            formulas = formula_book[values.title]
            formulas.reset_dimensions()
            yield Worksheet(file=file, values=values, formulas=formulas, sheets=sheets)


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """A damaged workbook surfaces as whatever its reader stumbles over."""
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        yield
    except (
        *(zipfile.BadZipFile, zlib.error, ParseError, SyntaxError, InvalidFileException, EOFError, OSError),
        *(KeyError, ValueError, TypeError, IndexError, AttributeError),
    ) as error:
        raise ToolFailed(f"{file.name} is damaged and cannot be read as a workbook.", code="table_damaged") from error


def _inspect(file: Path) -> bool:
    """Whether any sheet has formulas. Refuses a file that would unpack to more than can be read."""
    with _readable(file), zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        unzipped = sum(member.file_size for member in members)
        shared = sum(member.file_size for member in members if member.filename.endswith("sharedStrings.xml"))
        if unzipped > _MOST_UNZIPPED or shared > _MOST_SHARED_TEXT or unzipped > file.stat().st_size * _MOST_RATIO:
            raise ToolFailed(
                f"{file.name} unpacks to {unzipped / 1024**2:,.0f} MB, which is too much. Ask for the table as a CSV file.",
                code="table_too_large",
            )
        return any(_has_formulas(archive, name) for name in archive.namelist() if name.startswith("xl/worksheets/sheet"))


def _has_formulas(archive: zipfile.ZipFile, name: str) -> bool:
    tail = b""
    with archive.open(name) as stream:
        while block := stream.read(1024 * 1024):
            if re.search(rb"<(?:\w+:)?f[ >/]", tail + block):
                return True
            tail = block[-16:]
    return False


@contextmanager
def _loaded(file: Path, *, data_only: bool) -> Iterator[Any]:
    from openpyxl import load_workbook

    with file.open("rb") as stream:  # a stream, as a path with another ending than .xlsx is refused
        with _readable(file), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of styles that it does not draw
            book = load_workbook(stream, read_only=True, data_only=data_only, keep_links=False)
        with closing(book):
            yield book


def _chosen(file: Path, book: Any, sheet: str | None) -> Any:
    names = ", ".join(repr(worksheet.title) for worksheet in book.worksheets)
    for worksheet in book.worksheets:
        worksheet.reset_dimensions()  # the stored size is often wrong
    if sheet is not None:
        for worksheet in book.worksheets:
            if worksheet.title.strip().casefold() == sheet.strip().casefold():
                return worksheet
        raise ToolFailed(f"{file.name} has no sheet {sheet!r}. Its sheets are: {names}.", code="unknown_sheet")
    with _readable(file):
        for worksheet in sorted(book.worksheets, key=lambda one: one.sheet_state != "visible"):
            if any(value is not None for row in worksheet.iter_rows(values_only=True) for value in row):
                return worksheet
    raise ToolFailed(f"{file.name} has no sheet with data (sheets: {names}).", code="table_empty")


def _text(cell: Any) -> str:
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return _number(value, cell.number_format or "")
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds") if value.time() != value.min.time() else value.date().isoformat()
    return value.isoformat() if isinstance(value, date) else str(value).strip()


def _number(value: float, number_format: str) -> str:
    """The number with the unit it is shown with: 0.12 shown as a percentage is 12%. Excel keeps 15 digits."""
    digits = f"{value:.15g}"
    if number_format == "General":
        return digits
    shown = _FORMAT_NOISE.sub("", _FORMAT_CURRENCY.sub(r"\1", number_format.split(";", maxsplit=1)[0]))
    if "%" in shown:
        return f"{(Decimal(digits) * 100).normalize():f}%"
    currency = _CURRENCIES.search(shown)
    return currency[0] + digits if currency else digits


def _trimmed(row: list[str]) -> list[str]:
    while row and not row[-1]:
        row.pop()
    return row
