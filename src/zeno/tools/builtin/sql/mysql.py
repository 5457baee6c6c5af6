"""MySQL and MariaDB over PyMySQL. Reading is a read-only transaction in a session that has no other kind.

One call takes one statement: several at once are not agreed on with the server, and the first word is checked, because MariaDB
has statements with statements in them. Read-only does not stop files being written by INTO OUTFILE, so that is refused here.
"""

import contextlib
import re
from typing import TYPE_CHECKING, Any

from zeno.tools.builtin.sql.session import CONNECT_SECONDS, STOP_SECONDS, NotReached, Row, Rows, StatementFailed
from zeno.tools.builtin.sql.statement import READING, Parameters, first_word, in_percent_style

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import Cursor

_FILES = re.compile(r"outfile|dumpfile|load_file", re.I)
_ROLLED_BACK = {"insert", "update", "delete", "replace", "with", "select"}
"""First words of statements that a rollback undoes; others commit by themselves."""
_UNDERSTOOD_WRONG = {1044, 1045, 1049, 1050, 1054, 1064, 1142, 1146}
"""Errors by which a statement that commits by itself is refused before it does anything."""
_NOT_ROLLED_BACK = 1196
_FROM_SERVER = range(1000, 2000)


class MySqlSession:
    """A connection. `seconds` is how long a statement may take."""

    listing = """
        select c.table_name, case t.table_type when 'VIEW' then 'view' else 'table' end, c.column_name, c.column_type,
          c.is_nullable = 'NO', c.column_key = 'PRI',
          (select concat(k.referenced_table_name, '(', k.referenced_column_name, ')') from information_schema.key_column_usage k
           where k.table_schema = c.table_schema and k.table_name = c.table_name and k.column_name = c.column_name
             and k.referenced_table_name is not null limit 1)
        from information_schema.columns c
        join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
        where c.table_schema = database() and c.table_name like :name
        order by c.table_name, c.ordinal_position
    """

    def __init__(self, arguments: dict[str, Any], *, writes: bool, seconds: float) -> None:
        import pymysql
        from pymysql.constants import CLIENT

        flags = arguments.get("client_flag", 0) & ~CLIENT.MULTI_STATEMENTS
        self._arguments: Any = arguments | {"client_flag": flags, "local_infile": False, "autocommit": True}
        try:
            self._connection = self._connected(seconds + 5)
            try:
                ((thread, version),) = self._run("select connection_id(), version()")
                self._thread = int(str(thread))
                self._limit(seconds, str(version))
                if not writes:
                    self._run("set session transaction read only")
            except pymysql.Error:
                self.close()
                raise
        except pymysql.Error as error:
            raise NotReached(_told(error)) from None

    def read(self, statement: str, parameters: Parameters, most: int) -> Rows:
        import pymysql
        from pymysql.cursors import SSCursor

        if first_word(statement) not in READING:
            raise StatementFailed("only statements that read are carried out here: SELECT, WITH, VALUES, SHOW, EXPLAIN")
        if found := _FILES.search(statement):
            raise StatementFailed(
                f"{found[0]} reaches files of the server, so it is not carried out here; use a parameter for text"
            )
        try:
            self._run("start transaction read only")
            cursor = self._connection.cursor(SSCursor)
            try:
                cursor.execute(in_percent_style(statement, parameters), dict(parameters) or None)
                columns = tuple(column[0] for column in cursor.description or ())
                rows: list[Row] = list(cursor.fetchmany(most + 1)) if columns else []
                if len(rows) > most:
                    self.stop()  # else the server sends the rest before the connection is free
            finally:
                with contextlib.suppress(pymysql.Error):
                    cursor.close()
            return Rows(columns, rows[:most], len(rows) > most)
        except (pymysql.Error, ValueError) as error:
            raise StatementFailed(_told(error)) from None

    def change(self, statement: str, parameters: Parameters, most: int) -> Rows:
        import pymysql

        try:
            self._run("start transaction")
        except pymysql.Error as error:
            raise StatementFailed(_told(error)) from None
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(in_percent_style(statement, parameters), dict(parameters) or None)
                columns = tuple(column[0] for column in cursor.description or ())
                found: list[Row] = list(cursor.fetchmany(most + 1)) if columns else []
                return Rows(columns, found[:most], len(found) > most, cursor.rowcount)
        except (pymysql.Error, ValueError) as error:
            raise StatementFailed(_told(error), undone=self._undone(statement, error)) from None

    def commit(self) -> None:
        import pymysql

        try:
            self._connection.commit()
        except pymysql.Error as error:
            raise StatementFailed(_told(error), undone=False) from None

    def stop(self) -> None:
        import pymysql

        with contextlib.suppress(pymysql.Error), self._connected(STOP_SECONDS) as other, other.cursor() as cursor:
            cursor.execute(f"kill query {self._thread:d}")

    def close(self) -> None:
        import pymysql

        with contextlib.suppress(pymysql.Error):
            self._connection.close()

    def _connected(self, seconds: float) -> "Connection[Cursor]":
        import pymysql

        waits = {"connect_timeout": min(seconds, CONNECT_SECONDS), "read_timeout": seconds, "write_timeout": seconds}
        return pymysql.connect(**(self._arguments | waits))

    def _undone(self, statement: str, error: Exception) -> bool:
        """Whether a failed statement left nothing: it is rolled back, and the server is asked whether all of it was."""
        import pymysql

        code = error.args[0] if error.args else None
        if not isinstance(error, pymysql.Error):
            return True  # not even sent
        if code not in _FROM_SERVER:
            return False
        if first_word(statement) not in _ROLLED_BACK:
            return code in _UNDERSTOOD_WRONG and first_word(statement) in ("create", "alter", "drop", "truncate", "rename")
        try:
            self._run("rollback")
            return _NOT_ROLLED_BACK not in [row[1] for row in self._run("show warnings")]
        except pymysql.Error:
            return False

    def _limit(self, seconds: float, version: str) -> None:
        if "mariadb" in version.lower():
            self._run(f"set session max_statement_time = {seconds:f}")
        else:
            self._run(f"set session max_execution_time = {round(seconds * 1000):d}")

    def _run(self, statement: str) -> list[Row]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())


def _told(error: Exception) -> str:
    return " ".join(f"{error.args[1]} ({error.args[0]})".split()) if len(error.args) > 1 else str(error) or type(error).__name__
