"""CSV and its kin: a text with one record per line, its cells kept apart by a comma, semicolon, tab or bar."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from zeno.core.errors import ToolFailed
from zeno.tools.builtin.tables.table import Note
from zeno.tools.text_encoding import detect_encoding

_DELIMITERS = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma"}
"""In the order in which equal chances are decided: a comma also stands inside numbers."""

_SAMPLE_CHARACTERS = 64 * 1024
_SAMPLE_RECORDS = 100
_DECLARED = re.compile(r"sep=(.)\s*")
"""Excel's own first line, which names the delimiter."""

_SUSPICIOUS_LINES = 20
"""A record over so many lines is rather a stray quote that swallows rows than a long text."""


@dataclass(kw_only=True)
class DelimitedText:
    """A delimited text. `undecodable` and `long_records` fill while it is read."""

    file: Path
    encoding: str
    delimiter: str
    declared: bool = False
    sheet: str | None = None
    sheets: list[str] = field(default_factory=list)
    undecodable: int = 0
    long_records: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, file: Path) -> "DelimitedText":
        """The text in `file`, its encoding and delimiter found out from its beginning."""
        encoding = detect_encoding(file)
        with file.open(encoding=encoding, errors="replace", newline="") as stream:
            sample = stream.read(_SAMPLE_CHARACTERS)
            complete = not stream.read(1)
        if declared := _DECLARED.fullmatch(sample.split("\n", 1)[0]):
            return cls(file=file, encoding=encoding, delimiter=declared[1], declared=True)
        return cls(
            file=file, encoding=encoding, delimiter=_delimiter(sample if complete else sample.rpartition("\n")[0] or sample)
        )

    @property
    def layout(self) -> str:
        """Encoding and delimiter."""
        encoding = {"utf-8-sig": "UTF-8 with BOM"}.get(self.encoding, self.encoding.upper())
        return f"{encoding}, {_DELIMITERS.get(self.delimiter, repr(self.delimiter))}"

    def rows(self) -> Iterator[list[str]]:
        """The records. Raises `ToolFailed` for a quoted cell without end: all that follows would be one cell."""
        with self.file.open(encoding=self.encoding, errors="replace", newline="") as stream:
            lines: list[str] = []
            reader = csv.reader(self._remembered(stream, lines), delimiter=self.delimiter)
            number, last = 1, lines
            try:
                for number, record in enumerate(reader, 1):
                    last = lines.copy()
                    lines.clear()
                    if len(last) > _SUSPICIOUS_LINES:
                        self.long_records.append(f"row {number} spans {len(last)} lines")
                    yield [] if self.declared and number == 1 else record
                if len(last) > 1:
                    list(csv.reader(last, delimiter=self.delimiter, strict=True))
            except csv.Error as error:
                raise ToolFailed(
                    f"{self.file.name} cannot be read after row {number - 1}: a quoted cell seems to have no end ({error}). "
                    'Close it there, or write a quote inside a cell twice ("").',
                    code="table_damaged",
                ) from error

    def notes(self) -> list[Note]:
        """What could not be decoded, and records that look as if a quote had swallowed rows."""
        found = []
        if self.undecodable:
            found.append(Note("undecodable_characters", None, self.undecodable))
        if self.long_records:
            found.append(Note("long_quoted_cells", None, len(self.long_records), self.long_records[:3]))
        return found

    def _remembered(self, stream: Iterable[str], lines: list[str]) -> Iterator[str]:
        for line in stream:
            self.undecodable += line.count("\ufffd")
            text = line.replace("\x00", "")
            lines.append(text)
            yield text


def _delimiter(sample: str) -> str:
    """The character that cuts the most records into the same number of cells, above one."""

    def score(delimiter: str) -> tuple[float, int]:
        records = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        try:
            widths = [len(record) for record in islice(records, _SAMPLE_RECORDS) if record]
        except csv.Error:
            return 0.0, 0
        cut = Counter(width for width in widths if width > 1)
        if not cut:
            return 0.0, 0
        width, count = max(cut.items(), key=lambda item: (item[1], item[0]))
        return count / len(widths), width

    best = max(_DELIMITERS, key=score)  # the first of equals
    return best if score(best)[0] else ","
