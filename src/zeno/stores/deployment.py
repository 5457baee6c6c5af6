"""What a database says of itself: its kind and version, its clock, its extensions, and where its runs have been.

Knows how each kind is asked, and nothing of what is well or bad.
"""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, select, text

from zeno.stores.migrations import HEAD
from zeno.stores.tables import runs

_VERSION = {
    "sqlite": "select sqlite_version()",
    "postgresql": "show server_version",
    "mysql": "select version()",
    "mariadb": "select version()",
}

_CLOCK = {
    "postgresql": "select cast(extract(epoch from clock_timestamp()) * 1000 as bigint)",
    "mysql": "select cast(unix_timestamp(sysdate(3)) * 1000 as signed)",
    "mariadb": "select cast(unix_timestamp(sysdate(3)) * 1000 as signed)",
}

_EXTENSION = """
select coalesce(extension.extversion, ''), coalesce(available.default_version, '')
from (select 1) as one
left join pg_extension as extension on extension.extname = 'vector'
left join pg_available_extensions as available on available.name = 'vector'
"""

NEWEST = 50
"""Runs that are looked at."""


class Server(msgspec.Struct, frozen=True):
    """A database's server. `connections` is how many it takes at most, `None` where it does not say."""

    kind: str
    version: str
    schema: str
    head: str
    connections: int | None


def server(connection: Connection) -> Server:
    """Its kind, version and schema."""
    kind = connection.dialect.name
    version = str(connection.scalar(text(_VERSION[kind])))
    schema = str(connection.scalar(text("select version_num from alembic_version")))
    most = {"postgresql": "show max_connections", "mysql": "select @@max_connections", "mariadb": "select @@max_connections"}
    connections = int(connection.scalar(text(most[kind])) or 0) if kind in most else None
    return Server(kind, version, schema, HEAD, connections)


def clock(connection: Connection) -> int | None:
    """Its time in milliseconds since 1970-01-01 UTC; `None` where it has no clock of its own."""
    question = _CLOCK.get(connection.dialect.name)
    return int(connection.scalar(text(question)) or 0) if question else None


def vector_versions(connection: Connection) -> tuple[str, str]:
    """The version of pgvector in use, and the one that could be; empty where there is none."""
    if connection.dialect.name != "postgresql":
        return "", ""
    used, available = connection.execute(text(_EXTENSION)).one()
    return used, available


def newest_driven(connection: Connection) -> Sequence[str]:
    """The conversations of the newest runs that somebody has driven: each has a directory for its files."""
    query = select(runs.c.session_id).where(runs.c.epoch > 0).order_by(runs.c.created_at.desc()).limit(NEWEST)
    return sorted(set(connection.scalars(query)))
