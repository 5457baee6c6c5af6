"""A small shop in SQLite, PostgreSQL or MariaDB, each test with its own, and the SQL tools on it."""

import asyncio
import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.services import mariadb_url, postgres_url
from zeno.core.errors import EffectUnknown, ToolFailed
from zeno.core.ports import ToolContext
from zeno.tools.builtin.sql.tools import sql_execute_tool, sql_query_tool

CONTEXT = ToolContext(run_id="run", call_id="call", workspace=Path())
KINDS = ["sqlite", "postgresql", "mariadb"]
TABLES = (
    "create table customers (id integer primary key, name varchar(50) not null)",
    "create table orders (id integer primary key, customer_id integer references customers(id), total numeric(10,2),"
    " paid date, note text, seal {bytes}, constraint owner foreign key (customer_id) references customers(id))",
    "create view big_orders as select id, total from orders where total > 100",
    "insert into customers values (1, '张三'), (2, 'Bob | Co')",
    "insert into orders values (1, 1, 12.50, '2026-09-07', 'first', null), (2, 2, 1200.00, '2026-09-08', 'a\nb', {value})",
)


class Db(NamedTuple):
    """A database of the test's own, with two customers and two orders."""

    kind: str
    url: str

    def query(self, query: str, seconds: float = 20, **arguments: Any) -> str:
        tool = sql_query_tool({"shop": self.url}, seconds=seconds)
        return asyncio.run(tool.call({"database": "shop", "query": query, **arguments}, CONTEXT)).text

    def execute(self, statement: str, seconds: float = 20, **arguments: Any) -> str:
        tool = sql_execute_tool({"shop": self.url}, seconds=seconds)
        return asyncio.run(tool.call({"database": "shop", "statement": statement, **arguments}, CONTEXT)).text

    def value(self, query: str) -> str:
        """The one value that a query gives, over a connection of its own."""
        return self.query(query).splitlines()[-1].strip("| ")

    @property
    def state(self) -> str:
        return self.query("select id, name from customers order by id")


@pytest.fixture
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Db]:
    """The shop in the kind of database that `each` asks for."""
    yield from {"sqlite": sqlite_shop, "postgresql": _postgres, "mariadb": _mariadb}[request.param](tmp_path)


def each(*kinds: str) -> pytest.MarkDecorator:
    """The test for each kind of database, or for those named."""
    return pytest.mark.parametrize("db", kinds or KINDS, indirect=True)


def sqlite_shop(tmp_path: Path) -> Iterator[Db]:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        for statement in TABLES:
            connection.execute(statement.format(bytes="blob", value="x'00ff10'"))
    connection.close()
    yield Db("sqlite", f"sqlite:///{tmp_path / 'shop.db'}")


def _postgres(tmp_path: Path) -> Iterator[Db]:
    import psycopg

    url, schema = postgres_url(), f"zeno_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create schema {schema}")
        try:
            connection.execute(f"set search_path to {schema}")
            for statement in TABLES:
                connection.execute(statement.format(bytes="bytea", value="'\\x00ff10'"))
            yield Db("postgresql", f"{url}?options=-csearch_path%3D{schema}&application_name={schema}")
        finally:
            connection.execute(f"drop schema {schema} cascade")


def _mariadb(tmp_path: Path) -> Iterator[Db]:
    import pymysql
    from sqlalchemy.engine import make_url

    url, name = make_url(mariadb_url()), f"zeno_{uuid.uuid4().hex[:12]}"
    connection = pymysql.connect(host=url.host, port=url.port or 3306, user=url.username, password=url.password or "")
    with connection, connection.cursor() as cursor:
        cursor.execute(f"create database {name} character set utf8mb4")
        try:
            cursor.execute(f"use {name}")
            for statement in TABLES:
                cursor.execute(statement.format(bytes="blob", value="x'00ff10'"))
            connection.commit()
            yield Db("mariadb", url.set(database=name).render_as_string(hide_password=False))
        finally:
            cursor.execute(f"drop database {name}")


def failure(work: Any, *arguments: Any, **named: Any) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        work(*arguments, **named)
    return caught.value


def certain(work: Any, *arguments: Any, **named: Any) -> ToolFailed:
    error = failure(work, *arguments, **named)
    assert not isinstance(error, EffectUnknown), error.message
    return error
