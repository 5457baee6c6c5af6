"""Readiness: whether the database can be read and written and has this version's schema. It knows nothing of what is kept."""

import contextlib
from collections.abc import Awaitable, Callable, Mapping

from sqlalchemy import Connection, insert, select

from zeno.stores.database import Database, fits
from zeno.stores.tables import audit, runs


class _RolledBack(Exception):
    """The trial is over; nothing of it is to stay."""


class SchemaBehind(Exception):
    """The database has a schema that this version does not work with."""


def database_checks(database: Database) -> Mapping[str, Callable[[], Awaitable[None]]]:
    """Trials by name. Each raises whatever is wrong, `SchemaBehind` for another version's schema."""
    return {"read": lambda: database.read(_read), "write": lambda: _write(database), "schema": lambda: database.read(_schema)}


def _read(connection: Connection) -> None:
    connection.execute(select(runs.c.id).limit(1))


async def _write(database: Database) -> None:
    with contextlib.suppress(_RolledBack):
        await database.write(_written_and_taken_back)


def _written_and_taken_back(connection: Connection) -> None:
    """Really write a line; what is raised then takes it back."""
    names = [column.name for column in audit.columns if column.name not in ("id", "at")]
    connection.execute(insert(audit).values(dict.fromkeys(names, "") | {"at": 0}))
    raise _RolledBack


def _schema(connection: Connection) -> None:
    if not fits(connection):
        raise SchemaBehind
