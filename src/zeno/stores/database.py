"""The database: one engine, opened and migrated once, and the two kinds of transaction that stores use."""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError

from zeno.core.errors import ConfigError
from zeno.stores.migrations import HEAD

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="Stored")

READERS = 4
"""Threads that read at the same time."""


class Database:
    """An open database. Make one with `opened`.

    A transaction is a plain function that is given a connection and runs in a thread: whoever waits for it may be cancelled,
    the transaction is not; it takes place as a whole or not at all.
    """

    def __init__(self, engine: Engine, *, readers: int, writers: int) -> None:
        self._engine = engine
        self._readers = ThreadPoolExecutor(readers, "zeno-reads")
        self._writers = ThreadPoolExecutor(writers, "zeno-writes")

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Do `work` in a transaction that reads one consistent state."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._reading, work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Do `work` in a transaction that holds the write lock from its beginning, so what it reads stays true to its end."""
        return await asyncio.get_running_loop().run_in_executor(self._writers, self._writing, work)

    def close(self) -> None:
        """Wait for what is under way, then let go of everything."""
        self._readers.shutdown()
        self._writers.shutdown()
        self._engine.dispose()

    def _reading(self, work: Callable[[Connection], T]) -> T:
        with self._engine.connect() as connection:
            return work(connection)

    def _writing(self, work: Callable[[Connection], T]) -> T:
        with self._engine.connect().execution_options(zeno_writes=True) as connection, connection.begin():
            return work(connection)


class Stored(Protocol):
    """A store: something with a database."""

    @property
    def database(self) -> Database: ...


def reading(method: Callable[Concatenate[S, Connection, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Make a store's method, which is given a connection, one that awaits a transaction of its own, for reading."""

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
    if location.get_backend_name() != "sqlite":
        raise ConfigError("database_unsupported", backend=location.get_backend_name())
    if location.database and location.database != ":memory:":
        Path(location.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(location.set(drivername="sqlite+pysqlite"), pool_reset_on_return=None, pool_size=READERS + 1)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    # SQLite has one writer at a time: one thread queues them without waiting for locks of its own process.
    database = Database(engine, readers=READERS, writers=1)
    try:
        await _migrate(database, location.render_as_string())
        yield database
    finally:
        await asyncio.to_thread(database.close)


async def _migrate(database: Database, shown: str) -> None:
    try:
        if await database.read(_version) != HEAD:
            await database.write(_upgrade)
    except (OperationalError, DatabaseError) as error:
        raise ConfigError("database_unusable", database=shown, reason=str(error.orig)) from None


def _version(connection: Connection) -> str | None:
    if not connection.dialect.has_table(connection, "alembic_version"):
        return None
    return connection.execute(text("select version_num from alembic_version")).scalar()


def _upgrade(connection: Connection) -> None:
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
