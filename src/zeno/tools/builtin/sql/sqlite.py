"""SQLite files. Reading is held three times: the file is opened read-only, its pragma says so, and an authorizer asks why."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from zeno.tools.builtin.sql.session import NotReached, Row, Rows, StatementFailed
from zeno.tools.builtin.sql.statement import Parameters

_MOST_CELL = 64 * 1024 * 1024
"""Bytes of a single value; functions make larger ones out of nothing."""
_BUSY_SECONDS = 5.0
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_PRAGMAS = {
    "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list", "user_version",
    "schema_version", "encoding", "compile_options", "function_list", "collation_list",
}  # fmt: skip
_FUNCTIONS_REFUSED = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}
_OUTSIDE = {
    sqlite3.SQLITE_ATTACH,
    sqlite3.SQLITE_DETACH,
    sqlite3.SQLITE_PRAGMA,
    sqlite3.SQLITE_TRANSACTION,
    sqlite3.SQLITE_SAVEPOINT,
}
"""What a changing statement may not do: other files, the connection, the transaction."""

_Judge = Callable[[int, str | None, str | None, str | None, str | None], int]


class SqliteSession:
    """A connection to a file, which must exist. It waits up to half of `seconds` for others that write."""

    listing = """
        select m.name, m.type, c.name, c.type, c."notnull", c.pk > 0,
          (select f."table" || coalesce('(' || f."to" || ')', '') from pragma_foreign_key_list(m.name) f
           where f."from" = c.name limit 1)
        from sqlite_master m join pragma_table_info(m.name) c
        where m.type in ('table', 'view') and m.name not like 'sqlite\\_%' escape '\\' and m.name like :name
        order by m.name, c.cid
    """

    def __init__(self, path: str, *, writes: bool, seconds: float) -> None:
        mode = "rw" if writes else "ro"
        try:
            self._connection = sqlite3.connect(
                f"file:{quote(str(Path(path).absolute()))}?mode={mode}",
                uri=True,
                timeout=min(seconds / 2, _BUSY_SECONDS),
                isolation_level=None,
                check_same_thread=False,
            )
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_CELL)
            # The file is touched here, so that one that is missing or none at all is found out about at once.
            self._connection.execute(f"pragma query_only = {'off' if writes else 'on'}")
            self._connection.execute("select count(*) from sqlite_master").fetchall()
        except sqlite3.Error as error:
            self.close()
            raise NotReached(f"{error} ({Path(path).name})") from None

    def read(self, statement: str, parameters: Parameters, most: int) -> Rows:
        # The listing is not the model's, and its functions look like changes to the authorizer.
        self._connection.set_authorizer(None if statement is self.listing else _judge_reading)
        return self._carried_out(statement, parameters, most)

    def change(self, statement: str, parameters: Parameters, most: int) -> Rows:
        try:
            self._connection.set_authorizer(None)
            self._connection.execute("begin immediate")
        except sqlite3.Error as error:
            raise StatementFailed(str(error)) from None
        self._connection.set_authorizer(_judge_changing)
        rows = self._carried_out(statement, parameters, most)
        self._connection.set_authorizer(None)
        return rows

    def commit(self) -> None:
        try:
            self._connection.execute("commit")
        except sqlite3.Error as error:
            # The commit of a file happens here or not at all.
            raise StatementFailed(str(error)) from None

    def stop(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._connection.interrupt()

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error, AttributeError):
            self._connection.close()

    def _carried_out(self, statement: str, parameters: Parameters, most: int) -> Rows:
        try:
            with contextlib.closing(self._connection.execute(statement, dict(parameters))) as cursor:
                columns = tuple(entry[0] for entry in cursor.description or ())
                found: list[Row] = cursor.fetchmany(most + 1)
                return Rows(columns, found[:most], len(found) > most, cursor.rowcount)
        except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError) as error:
            refused = "not authorized" in str(error) or "prohibited" in str(error)
            raise StatementFailed(f"{error}: this is not permitted here" if refused else str(error)) from None


def _judge_reading(action: int, first: str | None, second: str | None, _where: str | None, _inner: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION:
        permitted = (second or "").lower() not in _FUNCTIONS_REFUSED
    elif action == sqlite3.SQLITE_PRAGMA:
        permitted = (first or "").lower() in _PRAGMAS and (second is None or first not in ("user_version", "schema_version"))
    else:
        permitted = action in _READS
    return sqlite3.SQLITE_OK if permitted else sqlite3.SQLITE_DENY


def _judge_changing(action: int, _first: str | None, second: str | None, _where: str | None, _inner: str | None) -> int:
    function = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS_REFUSED
    return sqlite3.SQLITE_DENY if function or action in _OUTSIDE else sqlite3.SQLITE_OK
