"""A database of a test's own on every server there is: tests marked `databases` run on each."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL, Engine, create_engine, make_url, text

from tests.services import mariadb_url, postgres_url

current: list[str] = []
"""The URL of the database that the test at work is to use; none for a SQLite file in its home."""

instances: list[int] = []
"""How many instances over it answer the test at work; none for one."""

_OUTSIDE = {"postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql"}
"""A database that is always there."""

THREE = "three instances"
"""PostgreSQL, and Redis where there is one, with three instances of which any may get a request."""


LATIN = "mariadb in latin1"
"""MariaDB, and a database whose own character set holds few characters."""


@contextmanager
def database(kind: str) -> Iterator[str | None]:
    """A fresh database for the length of the block."""
    if kind == "sqlite":
        yield None
        return
    mysql = kind in ("mariadb", LATIN)
    server = make_url(mariadb_url() if mysql else postgres_url())
    admin = _admin(server)
    name = f"zeno_{secrets.token_hex(6)}"
    letters, force = (f" character set {'latin1' if kind == LATIN else 'utf8mb4'}", "") if mysql else ("", " with (force)")
    try:
        with admin.connect() as connection:
            connection.execute(text(f"create database {name}{letters}"))
        current.append(server.set(database=name).render_as_string(hide_password=False))
        instances.append(3 if kind == THREE else 1)
        try:
            yield current[-1]
        finally:
            current.pop()
            instances.pop()
            with admin.connect() as connection:
                connection.execute(text(f"drop database {name}{force}"))
    finally:
        admin.dispose()


def cut_off() -> None:
    """End all connections to the database of the test at work, as a restart of its server does. SQLite has none."""
    if not current:
        return
    own = make_url(current[-1])
    # From outside, so that it does not end itself.
    admin = _admin(own.set(database=_OUTSIDE[own.get_backend_name()]))
    if admin.dialect.name == "postgresql":
        others, end = "select pid from pg_stat_activity where datname = :name", "select pg_terminate_backend(:id)"
    else:
        others, end = "select id from information_schema.processlist where db = :name", "kill :id"
    with admin.connect() as connection:
        found = set(connection.scalars(text(others), {"name": own.database}))
        for each in found:
            connection.execute(text(end), {"id": each})
        while found & set(connection.scalars(text(others), {"name": own.database})):
            pass
    admin.dispose()


def _admin(server: URL) -> Engine:
    driver = "postgresql+psycopg" if server.get_backend_name() == "postgresql" else "mysql+pymysql"
    return create_engine(server.set(drivername=driver), isolation_level="AUTOCOMMIT")
