"""From a file to a table in a database that sees nothing else, read once and kept while the file stays as it is.

A file is read as a stream: its rows are written down in one plain form, loaded as texts, understood column by column and stored
with types. The result is kept in the workspace's hidden folder; it is only a copy, and one that is broken is made again.
"""

# ruff: noqa: S608 (fields are c0, c1, ..., and paths, which cannot be parameters, are quoted)

import hashlib
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from zeno.core.errors import ToolFailed
from zeno.tools.builtin.tables.cells import MACROS, value_sql
from zeno.tools.builtin.tables.header import Header
from zeno.tools.builtin.tables.kinds import read_column
from zeno.tools.builtin.tables.plain import write_plain
from zeno.tools.builtin.tables.source import open_source
from zeno.tools.builtin.tables.table import About, Column, Note
from zeno.tools.workspace import confined, existing

_FORMAT = "1"
"""Changes with the layout of the kept copies, so that older ones are not read."""
_LONGEST_LINE = 64 * 1024**2

_TOTALS = r"(grand|sub)?totals?[:：]?|sum[:：]?|(合计|总计|小计|总和|共计)[:：]?"


@dataclass(frozen=True, kw_only=True)
class Table:
    """An open table. `connection` has it as `cells`: `row` (of the file) and typed fields, NULL where there is no value.

    Its `unread` has the cells that do not fit their column: `position`, `row`, `text`.
    """

    connection: Any
    about: About
    name: str


@contextmanager
def open_table(workspace: Path, path: str, sheet: str | None) -> Iterator[Table]:
    """The table in the file `path` of the workspace. Raises `ToolFailed` saying why there is none."""
    import duckdb

    file = existing(workspace, path)
    folder = confined(workspace, ".zeno/tables")
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / _kept_name(path, file, sheet)
    try:
        with _locked_down(folder) as connection:
            about = _attach(connection, kept)
            if about is None:
                _read(connection, file, sheet, folder, kept)
                about = _attach(connection, kept)
            if about is None:
                raise ToolFailed(f"{path} changed while it was read. Call again.", code="table_changed")
            yield Table(connection=connection, about=about, name=path)
    except duckdb.Error as error:
        raise ToolFailed(f"{path} could not be worked on as a table ({type(error).__name__}).", code="table_damaged") from error


def _kept_name(path: str, file: Path, sheet: str | None) -> str:
    """Begins alike for the same sheet of the same file, and ends with the state of the file."""
    which = hashlib.sha256(repr((_FORMAT, path, sheet)).encode()).hexdigest()[:24]
    status = file.stat()
    return f"{which}-{status.st_mtime_ns}-{status.st_size}.duckdb"


@contextmanager
def _locked_down(folder: Path) -> Iterator[Any]:
    """A database in memory that reaches no network, no extension and no file outside `folder`, for good."""
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": 2,
        "memory_limit": "512MB",
        "temp_directory": str(folder / f"spill-{secrets.token_hex(4)}"),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
    }
    with duckdb.connect(":memory:", config=settings) as connection:
        connection.execute("SET enable_progress_bar = false")  # it would be drawn on the terminal
        connection.execute("SET allowed_directories = ?", [[str(folder)]])
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        for macro in MACROS:
            connection.execute(f"CREATE TEMP MACRO {macro}")
        yield connection


def _attach(connection: Any, kept: Path) -> About | None:
    """Attach a kept table, if there is one that is whole; a broken one is removed."""
    import duckdb

    if not kept.is_file():
        return None
    try:
        connection.execute(f"ATTACH {_quoted(kept)} AS kept (READ_ONLY)")
        connection.execute("USE kept")
        return msgspec.json.decode(connection.execute("SELECT text FROM about").fetchall()[0][0], type=About)
    except (duckdb.Error, msgspec.DecodeError, TypeError):
        connection.execute("USE memory")
        connection.execute("DETACH DATABASE IF EXISTS kept")
        kept.unlink(missing_ok=True)
        return None


def _read(connection: Any, file: Path, sheet: str | None, folder: Path, kept: Path) -> None:
    """Read the file and keep what came out under the name `kept`, in place of what an older state of the file gave."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        plain, raw, made = (Path(scratch, name) for name in ("rows.csv", "raw.duckdb", "made.duckdb"))
        with open_source(file, sheet) as source:
            header, notes = write_plain(source, file.name, plain)
            layout = source.layout, source.sheet, source.sheets
        connection.execute(f"ATTACH {_quoted(raw)} AS raw")
        _load_texts(connection, plain, len(header.names))
        plain.unlink()
        connection.execute(f"ATTACH {_quoted(made)} AS made")
        columns, column_notes = _understand(connection, header)
        rows = connection.execute("SELECT count(*) FROM made.cells").fetchall()[0][0]
        about = About(*layout, rows=rows, columns=columns, notes=notes + _total_rows(connection) + column_notes)
        connection.execute("CREATE TABLE made.about AS SELECT ? AS text", [msgspec.json.encode(about).decode()])
        connection.execute("DETACH made")
        connection.execute("DETACH raw")
        for older in folder.glob(f"{kept.name.split('-')[0]}-*.duckdb"):
            if older != kept:
                older.unlink(missing_ok=True)
        made.replace(kept)


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _load_texts(connection: Any, plain: Path, width: int) -> None:
    types = {"row": "BIGINT"} | {f"c{position}": "VARCHAR" for position in range(width)}
    connection.execute(
        "CREATE TABLE raw.cells AS SELECT * FROM read_csv(?, header = false, auto_detect = false, delim = ',', quote = '\"', "
        f"escape = '\"', new_line = '\\r\\n', max_line_size = {_LONGEST_LINE}, buffer_size = {_LONGEST_LINE}, "
        f"columns = {types})",
        [str(plain)],
    )


def _understand(connection: Any, header: Header) -> tuple[list[Column], list[Note]]:
    """Give every column its type; store the values, and apart from them the texts that fit it not."""
    connection.execute("CREATE TABLE made.unread (position INTEGER, row BIGINT, text VARCHAR)")
    columns, notes = [], []
    for position, name in enumerate(header.names):
        column, found = read_column(connection, "raw.cells", name, position)
        columns.append(column)
        notes += found
        if column.type in {"number", "date"}:
            notes += _set_apart(connection, column)
    values = ", ".join(f"{value_sql(column.reading, column.field)} AS {column.field}" for column in columns)
    connection.execute(f"CREATE TABLE made.cells AS SELECT row, {values} FROM raw.cells")
    return columns, notes


def _set_apart(connection: Any, column: Column) -> list[Note]:
    count = connection.execute("SELECT coalesce(sum(n), 0)::BIGINT FROM unreadable").fetchall()[0][0]
    if not count:
        return []
    connection.execute(
        f"INSERT INTO made.unread SELECT {column.position}, row, {column.field} FROM raw.cells "
        f"WHERE {column.field} IN (SELECT text FROM unreadable) ORDER BY row"
    )
    code = "not_a_number" if column.type == "number" else "not_a_date"
    first = "SELECT row, text FROM made.unread WHERE position = ? ORDER BY row LIMIT 3"
    examples = [f"row {row}: {text[:60]}" for row, text in connection.execute(first, [column.position]).fetchall()]
    return [Note(code, column.name, count, examples)]


def _total_rows(connection: Any) -> list[Note]:
    """Rows that add up others would be counted twice in a sum."""
    found = connection.execute(
        "SELECT min(row), trim(c0) AS text, (sum(count(*)) OVER ())::BIGINT FROM raw.cells "
        "WHERE regexp_full_match(replace(c0, ' ', ''), ?, 'i') GROUP BY text ORDER BY 1 LIMIT 3",
        [_TOTALS],
    ).fetchall()
    return [Note("total_rows", None, found[0][2], [f"row {row}: {text[:60]}" for row, text, _ in found])] if found else []
