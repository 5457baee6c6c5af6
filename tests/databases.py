"""A database of a test's own on every server there is: tests marked `databases` run on each."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import create_engine, make_url, text

from tests.services import mariadb_url, postgres_url

current: list[str] = []
"""The URL of the database that the test at work is to use; none for a SQLite file in its home."""


@contextmanager
def database(kind: str) -> Iterator[str | None]:
    """A fresh database for the length of the block."""
    if kind == "sqlite":
        yield None
        return
    server = make_url(postgres_url() if kind == "postgresql" else mariadb_url())
    driver = "postgresql+psycopg" if kind == "postgresql" else "mysql+pymysql"
    admin = create_engine(server.set(drivername=driver), isolation_level="AUTOCOMMIT")
    name = f"zeno_{secrets.token_hex(6)}"
    letters = "" if kind == "postgresql" else " character set utf8mb4"
    force = " with (force)" if kind == "postgresql" else ""
    try:
        with admin.connect() as connection:
            connection.execute(text(f"create database {name}{letters}"))
        current.append(server.set(database=name).render_as_string(hide_password=False))
        try:
            yield current[-1]
        finally:
            current.pop()
            with admin.connect() as connection:
                connection.execute(text(f"drop database {name}{force}"))
    finally:
        admin.dispose()
