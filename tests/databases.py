"""A database of a test's own on every server there is: tests marked `databases` run on each."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import create_engine, make_url, text

from tests.services import mariadb_url, postgres_url

current: list[str] = []
"""The URL of the database that the test at work is to use; none for a SQLite file in its home."""

instances: list[int] = []
"""How many instances over it answer the test at work; none for one."""

THREE = "three instances"
"""PostgreSQL, and Redis where there is one, with three instances of which any may get a request."""


@contextmanager
def database(kind: str) -> Iterator[str | None]:
    """A fresh database for the length of the block."""
    if kind == "sqlite":
        yield None
        return
    mysql = kind == "mariadb"
    server = make_url(mariadb_url() if mysql else postgres_url())
    driver = "mysql+pymysql" if mysql else "postgresql+psycopg"
    admin = create_engine(server.set(drivername=driver), isolation_level="AUTOCOMMIT")
    name = f"zeno_{secrets.token_hex(6)}"
    letters, force = (" character set utf8mb4", "") if mysql else ("", " with (force)")
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
