"""The database: one engine, opened and migrated once, and the two kinds of transaction that stores use."""

import asyncio
import contextlib
import functools
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import msgspec
from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.engine import ExceptionContext, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from zeno.core.errors import ConfigError, StoreUnavailable, WrittenByNewer
from zeno.private import keep_private
from zeno.stores.migrations import HEAD, OLDEST

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="Stored")

READERS = WRITERS = 4
"""Threads that read, and that write where a database has more than one writer, at the same time."""

CONNECT = 5
LOCK = 10
"""Seconds that connecting, and waiting for somebody else's lock, may take."""

GONE: dict[str, int] = {
    "connect_timeout": CONNECT,
    "tcp_user_timeout": CONNECT * 1000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
"""How PostgreSQL's own library notices that a server, or the way there, is gone without a word; the system takes 15 minutes."""

MOST_ATTEMPTS = 6
"""How often a transaction is begun that has to give way to others."""

OTHERS_AT_IT = 300
"""Seconds that one waits for another process that brings the schema to this version."""

MIGRATION_LOCK = 0x7A656E6F
"""The number of PostgreSQL's advisory lock for migrations: "zeno"."""


class Database:
    """An open database. Make one with `opened`.

    A transaction is a plain function that is given a connection and runs in a thread: whoever waits for it may be cancelled,
    the transaction is not; it takes place as a whole or not at all.
    """

    def __init__(self, engine: Engine, *, readers: int, writers: int, reading: Engine | None = None) -> None:
        self._engine, self._reading_engine = engine, reading or engine
        for each in {self._engine, self._reading_engine}:
            event.listen(each, "handle_error", _keep_values_out)
        self._readers = ThreadPoolExecutor(readers, "zeno-reads")
        self._writers = ThreadPoolExecutor(writers, "zeno-writes")

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Do `work`, which only reads. Each statement sees what is committed by then; where all must see the same: `steady`."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._reading, work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Do `work` in a transaction that holds the write lock from its beginning, so what it reads stays true to its end."""
        return await asyncio.get_running_loop().run_in_executor(self._writers, self._writing, work)

    def announce_jobs(self) -> None:
        """From now on, write a job with each command that is written: workers wait for them (PostgreSQL)."""
        self._engine.update_execution_options(zeno_jobs=True)

    def close(self) -> None:
        """Wait for what is under way, then let go of everything."""
        self._readers.shutdown()
        self._writers.shutdown()
        self._engine.dispose()
        self._reading_engine.dispose()

    def _reading(self, work: Callable[[Connection], T]) -> T:
        with _answering():
            try:
                with self._reading_engine.connect() as connection:
                    return work(connection)
            except (OperationalError, InterfaceError) as error:
                if not error.connection_invalidated:
                    raise
            # A restart of the server, say, has cut what lay idle. To ask each connection first would cost a journey each time.
            with self._reading_engine.connect() as connection:
                return work(connection)

    def _writing(self, work: Callable[[Connection], T]) -> T:
        with _answering():
            for attempt in range(1, MOST_ATTEMPTS + 1):
                committing = False
                try:
                    with self._engine.connect().execution_options(zeno_writes=True) as connection, connection.begin():
                        result = work(connection)
                        committing = True
                    return result
                except (OperationalError, InterfaceError) as error:
                    # Chosen to give way to another transaction, or cut before its commit was sent: it was taken back as a
                    # whole, and may simply be done again.
                    cut = error.connection_invalidated and not committing and attempt == 1
                    if attempt == MOST_ATTEMPTS or not (cut or _gave_way(error)):
                        raise
        raise AssertionError("unreachable")


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeout) as error:
        raise _unavailable(error) from error
    except msgspec.ValidationError as error:
        raise _newer(error) from error


def _unavailable(error: Exception) -> StoreUnavailable:
    # The driver's words may hold an address, and never a password; the first line says what is wrong.
    reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
    return StoreUnavailable("database_unavailable", reason=reason[:200])


def _newer(error: msgspec.ValidationError) -> WrittenByNewer:
    """What is valid JSON and none of our words: whoever wrote it knows more of them. The reason names a field or a tag."""
    return WrittenByNewer("written_by_newer", reason=str(error)[:200])


def _gave_way(error: OperationalError | InterfaceError) -> bool:
    """Whether a transaction was the victim of a deadlock, or could not be put in order with others."""
    cause = error.orig
    state, number = getattr(cause, "sqlstate", None), cause.args[0] if cause is not None and cause.args else None
    return state in ("40001", "40P01") or number in (1213, 1205)


class Stored(Protocol):
    """A store: something with a database."""

    @property
    def database(self) -> Database: ...


def reading(method: Callable[Concatenate[S, Connection, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Make a store's method, which is given a connection, one that awaits `Database.read`."""

    @functools.wraps(method)
    async def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.database.read(lambda connection: method(self, connection, *args, **kwargs))

    return called


def writing(method: Callable[Concatenate[S, Connection, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Make a store's method, which is given a connection, one that awaits a transaction of its own, for writing."""

    @functools.wraps(method)
    async def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.database.write(lambda connection: method(self, connection, *args, **kwargs))

    return called


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """The database at `url`, migrated to this version's schema, closed at the end.

    Raises `ConfigError` when it cannot be opened or was written by a newer version.
    """
    try:
        location = make_url(url)
    except ArgumentError:
        raise ConfigError("database_url_invalid") from None
    make = _MAKERS.get(location.get_backend_name())
    if make is None:
        raise ConfigError("database_unsupported", backend=location.get_backend_name())
    database = make(location)
    try:
        await _migrate(database, location.render_as_string(hide_password=True))
        yield database
    finally:
        await asyncio.to_thread(database.close)


def _sqlite(location: URL) -> Database:
    if location.database and not location.database.startswith((":memory:", "file:")):
        _make_private(Path(location.database))
    engine = create_engine(
        location.set(drivername="sqlite+pysqlite"), hide_parameters=True, pool_reset_on_return=None, pool_size=READERS + 1
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    # SQLite has one writer at a time: one thread queues them without waiting for locks of its own process.
    return Database(engine, readers=READERS, writers=1)


def _make_private(file: Path) -> None:
    """See to it that there is a file for SQLite, which gives those that it puts beside it the same rights."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        file.touch()
    for each in (file, *(file.with_name(file.name + ending) for ending in ("-wal", "-shm"))):
        keep_private(each)


def _postgresql(location: URL) -> Database:
    waits = f"-c lock_timeout={LOCK * 1000} -c idle_in_transaction_session_timeout={LOCK * 1000}"
    make = functools.partial(
        create_engine,
        location.set(drivername="postgresql+psycopg"),
        connect_args=GONE | {"application_name": "zeno", "options": waits},
        hide_parameters=True,
        max_overflow=0,
        # The one used last has most statements prepared.
        pool_use_lifo=True,
    )
    # A transaction around one statement would make three journeys of one.
    reading = make(pool_size=READERS, isolation_level="AUTOCOMMIT")
    return Database(make(pool_size=WRITERS), readers=READERS, writers=WRITERS, reading=reading)


def _mysql(location: URL) -> Database:
    engine = create_engine(
        location.set(drivername="mysql+pymysql").update_query_dict({"charset": "utf8mb4"}),
        connect_args={"connect_timeout": CONNECT, "init_command": f"set session innodb_lock_wait_timeout={LOCK}"},
        hide_parameters=True,
        # Its own default reads what the transaction saw first, also after waiting for a lock.
        isolation_level="READ COMMITTED",
        pool_size=READERS + WRITERS,
        max_overflow=0,
        pool_recycle=3600,
    )
    return Database(engine, readers=READERS, writers=WRITERS)


_MAKERS: dict[str, Callable[[URL], Database]] = {
    "sqlite": _sqlite,
    "postgresql": _postgresql,
    "mysql": _mysql,
    "mariadb": _mysql,
}


def steady(connection: Connection) -> None:
    """Have all that a read does from here on see one state of the database, in one transaction."""
    if connection.dialect.name != "sqlite":
        connection.execution_options(isolation_level="REPEATABLE READ")


async def _migrate(database: Database, shown: str) -> None:
    try:
        if not await database.read(fits):
            await database.write(_upgrade)
    except StoreUnavailable as error:
        raise ConfigError("database_unusable", database=shown, reason=error.params["reason"]) from None
    except DatabaseError as error:
        raise ConfigError("database_unusable", database=shown, reason=str(error.orig)) from None


def fits(connection: Connection) -> bool:
    """Whether this release works with the schema as it is: with its own, and with a newer one that was made for it as well."""
    version = _version(connection)
    if version is None or version <= HEAD or connection.dialect.name != "postgresql":
        return version == HEAD
    # Only several instances can be of two releases at once. What nobody has said of this very schema does not count.
    said = str(connection.scalar(text("select obj_description('alembic_version'::regclass)")) or "")
    newer, _, oldest = said.partition(" ")
    return newer == version and "" < oldest <= HEAD


def _version(connection: Connection) -> str | None:
    if not connection.dialect.has_table(connection, "alembic_version"):
        return None
    return connection.execute(text("select version_num from alembic_version")).scalar()


def _upgrade(connection: Connection) -> None:
    """Bring the schema to this version. Of several processes that begin at once, one does it and the others wait."""
    if connection.dialect.name == "postgresql":
        wait_for_turn(connection, MIGRATION_LOCK)
    elif connection.dialect.name in ("mysql", "mariadb") and not connection.scalar(
        text(f"select get_lock('zeno-migration', {OTHERS_AT_IT})")
    ):
        raise ConfigError("database_unusable", database="-", reason="another process has been migrating it for long")
    if fits(connection):
        return
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    version = _version(connection)
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if version is not None and version not in known:
        raise ConfigError("database_newer", version=version, known=HEAD)
    command.upgrade(config, "head")
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"comment on table alembic_version is '{HEAD} {OLDEST}'"))


def wait_for_turn(connection: Connection, lock: int) -> None:
    """Wait for others who change the schema of a PostgreSQL database; the statements that follow wait no longer than usual."""
    connection.execute(text(f"set local lock_timeout = '{OTHERS_AT_IT}s'"))
    connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": lock})
    connection.execute(text(f"set local lock_timeout = '{LOCK}s'"))


def _keep_values_out(context: ExceptionContext) -> None:
    """Cut off what a driver's message tells of rows: errors are logged, and the statement itself says enough.

    What follows the first line may be a whole row. In the first one a quotation mark may begin a value, unless it is about the
    server and the way there.
    """
    cause, error = context.original_exception, context.sqlalchemy_exception
    if not isinstance(error, DBAPIError):
        return
    ends = "\n" if isinstance(error, (OperationalError, InterfaceError)) else "\n\"'`"
    cause.args = tuple(re.split(f"[{ends}]", said)[0].strip() if isinstance(said, str) else said for said in cause.args)
    error.args = (f"({type(cause).__module__}.{type(cause).__name__}) {cause}",)


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    # FULL: what is written before a tool runs must survive a power cut, not only the end of the process.
    for pragma in ("busy_timeout=10000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("zeno_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
