"""The database: one engine, opened and migrated once, and the two kinds of transaction that stores use."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from zeno.core.errors import ConfigError
from zeno.stores.migrations import HEAD


class Database:
    """An open database. Make one with `opened`."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that reads one consistent state."""
        async with self._engine.connect() as connection:
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that holds the write lock from its beginning, so what it reads stays true until it commits."""
        async with self._engine.connect() as connection:
            writer = await connection.execution_options(zeno_writes=True)
            async with writer.begin():
                yield writer


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
    engine = create_async_engine(location.set(drivername="sqlite+aiosqlite"), pool_reset_on_return=None)
    event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    event.listen(engine.sync_engine, "begin", _begin_sqlite)
    try:
        database = Database(engine)
        await _migrate(database, location.render_as_string())
        yield database
    finally:
        await engine.dispose()


async def _migrate(database: Database, shown: str) -> None:
    try:
        async with database.reading() as connection:
            version = await connection.run_sync(_version)
        if version == HEAD:
            return
        async with database.writing() as connection:
            await connection.run_sync(_upgrade)
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
