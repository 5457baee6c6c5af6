"""A file as rows of texts: which format it has, and who reads it. Knows nothing of headers, types or the database."""

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from zeno.core.errors import ToolFailed
from zeno.tools.builtin.tables.delimited import DelimitedText
from zeno.tools.builtin.tables.table import Note
from zeno.tools.builtin.tables.workbook import open_worksheet
from zeno.tools.text_encoding import binary_kind

_OLE = b"\xd0\xcf\x11\xe0"
_OTHER_TEXTS = {".htm", ".html", ".json", ".jsonl", ".md", ".xml"}
_MARKUP = re.compile(rb"\s*<(?:!|\?|html|table)", re.IGNORECASE)


class Source(Protocol):
    """A table in a file."""

    @property
    def layout(self) -> str:
        """How the table is stored, in a few words."""
        ...

    @property
    def sheet(self) -> str | None: ...

    @property
    def sheets(self) -> list[str]: ...

    def rows(self) -> Iterator[list[str]]:
        """All rows from the top, empty ones included, so that the n-th is row n of the file."""
        ...

    def notes(self) -> list[Note]:
        """What came up; complete when all rows have been read."""
        ...


@contextmanager
def open_source(file: Path, sheet: str | None) -> Iterator[Source]:
    """The table in `file`. Raises `ToolFailed` when there is none, or none that can be read."""
    with file.open("rb") as stream:
        sample = stream.read(64 * 1024)
    if not sample.strip(b"\x00\t\n\r \xef\xbb\xbf\xff\xfe"):
        raise ToolFailed(f"{file.name} is empty: there is no table in it.", code="table_empty")
    if sample.startswith(_OLE):
        raise ToolFailed(
            f"{file.name} is an old .xls file or protected by a password. Ask for it as an .xlsx file without password.",
            code="table_format",
        )
    if _is_workbook(file):
        with open_worksheet(file, sheet) as worksheet:
            yield worksheet
        return
    _refuse_other_formats(file, sample)
    if sheet is not None:
        raise ToolFailed(f"{file.name} is a text file and has no sheets. Call again without a sheet.", code="unknown_sheet")
    yield DelimitedText.of(file)


def _is_workbook(file: Path) -> bool:
    """Whether it is a workbook, whatever its name says. One named .xlsx that is none must not be taken for text."""
    if zipfile.is_zipfile(file):
        try:
            with zipfile.ZipFile(file) as archive:
                return "xl/workbook.xml" in archive.namelist()
        except zipfile.BadZipFile:
            pass
    if file.suffix.lower() in {".xlsx", ".xlsm"}:
        raise ToolFailed(f"{file.name} is damaged or is no Excel workbook. Ask for the file again.", code="table_damaged")
    return False


def _refuse_other_formats(file: Path, sample: bytes) -> None:
    kind = binary_kind(sample)
    if kind is None and (file.suffix.lower() in _OTHER_TEXTS or _MARKUP.match(sample)):
        kind = "a document of another kind"
    if kind is not None:
        raise ToolFailed(
            f"{file.name} is {kind}, not a table. Tables are read from CSV, TSV and XLSX files.", code="table_format"
        )
