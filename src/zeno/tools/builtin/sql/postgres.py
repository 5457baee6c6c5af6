"""PostgreSQL over psycopg. Reading is a read-only transaction that is rolled back, in a session that has no other kind.

Statements go over the extended protocol, which takes exactly one at a time: a COMMIT hidden behind the first is an error. What
read-only does not stop in PostgreSQL are functions that reach beyond their transaction. The known ones are refused by name;
against others only the rights of the role help, so a database that is only read is best given a role that can only read.
"""

import contextlib
import re
from typing import TYPE_CHECKING, Any

from zeno.tools.builtin.sql.session import CONNECT_SECONDS, STOP_SECONDS, NotReached, Row, Rows, StatementFailed
from zeno.tools.builtin.sql.statement import READING, Parameters, first_word, in_percent_style

if TYPE_CHECKING:
    from psycopg import Connection, Cursor, ServerCursor
    from psycopg import Error as PostgresError

_BEYOND = re.compile(
    r"""\b(?:pg_(?:terminate|cancel)_backend|pg_reload_conf|pg_rotate_logfile|pg_switch_wal|pg_create_restore_point|pg_promote
    |pg_(?:backup|wal_replay)_\w+|pg_(?:start|stop)_backup|pg_\w*replication\w*|pg_logical_\w+|pg_stat_reset\w*
    |pg_(?:try_)?advisory\w*|pg_notify|pg_file_\w+|pg_read_\w*file|pg_ls_\w+|pg_stat_file|pg_sleep_until
    |lo_(?:import|export)|dblink\w*|set_config|query_to_xml\w*|cursor_to_xml\w*|ts_stat|ts_rewrite)\b|u&["']""",
    re.I | re.X,
)
"""Functions that act outside the transaction or run a text as SQL, and the notation that could hide their names."""
_CERTAIN = ("23", "40")
"""Classes of errors by which a commit is refused: constraints, serialization."""


class PostgresSession:
    """A connection. `seconds` is how long a statement may take."""

    listing = """
        select case when pg_table_is_visible(c.oid) then c.relname else n.nspname || '.' || c.relname end,
          case c.relkind when 'v' then 'view' when 'm' then 'materialized view' else 'table' end,
          a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
          exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey)),
          (select f.confrelid::regclass || '(' || r.attname || ')' from pg_constraint f
           join pg_attribute r on r.attrelid = f.confrelid and r.attnum = f.confkey[array_position(f.conkey, a.attnum)]
           where f.conrelid = c.oid and f.contype = 'f' and a.attnum = any (f.conkey) limit 1)
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition and c.relname like :name
          and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
        order by n.nspname, c.relname, a.attnum
    """

    def __init__(self, arguments: dict[str, Any], *, writes: bool, seconds: float) -> None:
        import psycopg

        self._milliseconds = str(round(seconds * 1000))
        try:
            self._connection: Connection = psycopg.connect(**{"connect_timeout": CONNECT_SECONDS} | arguments, autocommit=True)
            try:
                if not writes:
                    self._connection.execute("set session characteristics as transaction read only")
                self._connection.autocommit = False
                self._connection.read_only = not writes
            except psycopg.Error:
                self.close()
                raise
        except psycopg.Error as error:
            raise NotReached(_told(error)) from None

    def read(self, statement: str, parameters: Parameters, most: int) -> Rows:
        import psycopg

        if first_word(statement) not in READING:
            raise StatementFailed("only statements that read are carried out here: SELECT, WITH, VALUES, TABLE, SHOW, EXPLAIN")
        if statement is not self.listing and (beyond := _BEYOND.search(statement)):
            raise StatementFailed(f"{beyond[0]} may reach beyond the transaction, so it is not carried out here")
        try:
            self._begin()
            if first_word(statement) in ("show", "explain"):
                return self._carried_out(statement, parameters, most)
            # A cursor at the server: of an enormous result only the beginning is sent.
            with self._connection.cursor("zeno") as cursor:
                cursor.execute(_query(statement, parameters), dict(parameters) or None)
                return _rows(cursor, most)
        except psycopg.Error as error:
            raise StatementFailed(_told(error)) from None

    def change(self, statement: str, parameters: Parameters, most: int) -> Rows:
        import psycopg

        try:
            self._begin()
            return self._carried_out(statement, parameters, most)
        except psycopg.Error as error:
            # Nothing lasts without a commit, which was not sent.
            raise StatementFailed(_told(error)) from None

    def commit(self) -> None:
        import psycopg

        try:
            self._connection.commit()
        except psycopg.Error as error:
            raise StatementFailed(_told(error), undone=(error.sqlstate or "").startswith(_CERTAIN)) from None

    def stop(self) -> None:
        import psycopg

        with contextlib.suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=STOP_SECONDS)

    def close(self) -> None:
        import psycopg

        with contextlib.suppress(psycopg.Error):
            self._connection.close()

    def _carried_out(self, statement: str, parameters: Parameters, most: int) -> Rows:
        # Prepared: that is what keeps a statement without parameters to the extended protocol.
        cursor = self._connection.execute(_query(statement, parameters), dict(parameters) or None, prepare=True)
        return _rows(cursor, most)._replace(affected=cursor.rowcount)

    def _begin(self) -> None:
        """Begin, and take the snapshot, after which the transaction cannot be made a writing one."""
        self._connection.execute("select set_config('statement_timeout', %s, true)", [self._milliseconds])


def _rows(cursor: "Cursor | ServerCursor", most: int) -> Rows:
    columns = tuple(column.name for column in cursor.description or ())
    found: list[Row] = cursor.fetchmany(most + 1) if columns else []
    return Rows(columns, found[:most], len(found) > most)


def _query(statement: str, parameters: Parameters) -> bytes:
    """The statement in psycopg's notation. As bytes, because psycopg wants a text to be a programmer's own."""
    return in_percent_style(statement, parameters).encode()


def _told(error: "PostgresError") -> str:
    return " ".join((str(error) or type(error).__name__).split())
