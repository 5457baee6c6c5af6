"""Where the SQL tools end: queries that would change something, time, lost connections, secrets."""

import asyncio
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.shop_databases import CONTEXT, KINDS, Db, certain, db, each, failure
from tests.stubs.cut_connection import cut_connection
from zeno.core.errors import ConfigError, EffectUnknown, ToolFailed
from zeno.tools.builtin.sql.tools import sql_query_tool

pytestmark = pytest.mark.slow

__all__ = ["db"]

REFUSED = [
    "delete from customers",
    "insert into customers values (9, 'x')",
    "update customers set name = 'x'",
    "create table other (id integer)",
    "drop table customers",
    "commit",
    "begin",
    "rollback",
    "select 1; delete from customers",
    "commit; delete from customers",
    "rollback; delete from customers",
    "/* select */ delete from customers",
    "-- select\ndelete from customers",
    "with doomed as (select id from customers) delete from customers where id in (select id from doomed)",
    "explain analyze delete from customers",
    "",
    "-- nothing",
    "select",
    "selekt 1",
    "select 1\x00; delete from customers",
    "select '\ud800'",
]


@each()
@pytest.mark.parametrize("statement", REFUSED)
def test_no_query_changes_anything(db: Db, statement: str) -> None:
    before = db.state
    try:
        text = db.query(statement)
    except ToolFailed as error:
        assert not isinstance(error, EffectUnknown)  # noqa: PT017
    else:
        assert "explain" in statement or "no rows" in text.lower(), text
    assert db.state == before


ESCAPES = {
    "sqlite": [
        "attach database '{other}' as other",
        "pragma query_only = off",
        "pragma writable_schema = on",
        "pragma user_version = 7",
        "vacuum into '{other}'",
        "select load_extension('x')",
        "create temp table t (id integer)",
    ],
    "postgresql": [
        "set transaction read write",
        "set session characteristics as transaction read write",
        "select set_config('transaction_read_only', 'off', true)",
        "with x as (select set_config('transaction_read_only', 'off', true)) select * from x",
        "with gone as (delete from customers returning *) select * from gone",
        "do $$ begin delete from customers; end $$",
        "do $$ begin set transaction read write; delete from customers; end $$",
        "do $$ begin commit; delete from customers; end $$",
        "select * from customers for update",
        "select nextval('counter')",
        "select pg_terminate_backend(1)",
        'select "pg_terminate_backend"(1)',
        'select u&"\\0070g_terminate_backend"(1)',
        "select pg_advisory_lock(1)",
        "select pg_read_file('/etc/passwd')",
        "select query_to_xml('select pg_terminate_backend(1)', true, true, '')",
        "select lo_import('/etc/passwd')",
        "copy customers to '/tmp/zeno-escaped-copy'",
        "copy (select 1) to program 'touch /tmp/zeno-escaped-copy'",
        "select * into other from customers",
        "prepare transaction 'x'",
        "listen x",
        "lock table customers",
        "vacuum",
    ],
    "mariadb": [
        "start transaction read write",
        "set session transaction read write",
        "set transaction read write",
        "begin not atomic commit; delete from customers; end",
        "begin not atomic set session transaction read write; commit; delete from customers; end",
        "execute immediate 'delete from customers'",
        "select 1 into outfile '/tmp/zeno-escaped-outfile'",
        "select 1 INTO/**/OUTFILE '/tmp/zeno-escaped-outfile'",
        "select 1 /*!50000 into dumpfile '/tmp/zeno-escaped-outfile' */",
        "/*!50000 delete from customers */",
        "/*M! delete from customers */",
        "select load_file('/etc/passwd')",
        "set statement max_statement_time = 1 for delete from customers",
        "handler customers open",
        "kill 1",
        "flush tables",
        "lock tables customers write",
        "truncate table customers",
        "call nothing()",
        "do sleep(0)",
    ],
}


@pytest.mark.parametrize(("db", "statement"), [(kind, one) for kind in KINDS for one in ESCAPES[kind]], indirect=["db"])
def test_what_leads_out_of_reading_is_refused_by_each_database_in_its_own_way(db: Db, statement: str, tmp_path: Path) -> None:
    before = db.state
    if db.kind == "postgresql":
        db.execute("create sequence counter")
    certain(db.query, statement.replace("{other}", str(tmp_path / "other.db")))
    assert db.state == before
    assert not (tmp_path / "other.db").exists()
    assert not list(Path("/tmp").glob("zeno-escaped-*"))


SLOW = {
    "sqlite": "with recursive n as (select 1 as i union all select i + 1 from n) select count(*) from n",
    "postgresql": "select pg_sleep(60)",
    "mariadb": "select sleep(60)",
}


def running(db: Db) -> str:
    """How many statements of this test are at work in the server, apart from the one that asks."""
    return db.value(
        {
            "postgresql": "select count(*) from pg_stat_activity where state = 'active' and pid <> pg_backend_pid()"
            " and application_name = current_setting('application_name')",
            "mariadb": "select count(*) from information_schema.processlist where command = 'Query' and db = database()"
            " and id <> connection_id()",
        }[db.kind]
    )


@each()
def test_a_statement_whose_time_is_up_is_stopped_in_the_server_too(db: Db) -> None:
    error = certain(db.query, SLOW[db.kind], seconds=1)
    assert error.code in {"sql_timeout", "sql_error"}  # the server may notice first
    if db.kind != "sqlite":
        assert running(db) == "0"


@each("postgresql", "mariadb")
def test_a_cancelled_statement_is_stopped_in_the_server_too(db: Db) -> None:
    async def cancelled() -> None:
        tool = sql_query_tool({"shop": db.url}, seconds=50)
        task = asyncio.create_task(tool.call({"database": "shop", "query": SLOW[db.kind]}, CONTEXT))
        async with asyncio.timeout(20):
            while await asyncio.to_thread(running, db) != "1":
                assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert running(db) == "0"


@each()
def test_a_change_whose_time_is_up_is_undone(db: Db) -> None:
    slow = {
        "sqlite": f"insert into customers select 9, 'x' where ({SLOW['sqlite']}) > 0",
        "postgresql": "insert into customers select 9, 'x' from (select pg_sleep(60)) s",
        "mariadb": "insert into customers select 9, 'x' from (select sleep(60) as s) s",
    }[db.kind]
    before = db.state
    error = certain(db.execute, slow, seconds=1)
    assert "Nothing was changed" in error.message
    assert db.state == before


@each("postgresql", "mariadb")
def test_a_commit_without_an_answer_is_of_unknown_effect(db: Db) -> None:
    from sqlalchemy.engine import make_url

    url = make_url(db.url)
    port = url.port or {"postgresql": 5432, "mariadb": 3306}[db.kind]
    with cut_connection(url.host or "127.0.0.1", port, b"COMMIT") as proxy:
        through = url.set(host="127.0.0.1", port=proxy)
        if db.kind == "postgresql":
            through = through.update_query_dict({"sslmode": "disable"})
        cut = Db(db.kind, through.render_as_string(hide_password=False))
        error = failure(cut.execute, "update customers set name = 'changed'")
    assert isinstance(error, EffectUnknown)
    assert "Whether it took effect is unknown" in error.message


@each("postgresql")
def test_a_connection_lost_before_the_commit_is_certain(db: Db) -> None:
    from sqlalchemy.engine import make_url

    url, before = make_url(db.url), db.state
    with cut_connection(url.host or "127.0.0.1", url.port or 5432, b"update customers") as proxy:
        through = url.set(host="127.0.0.1", port=proxy).update_query_dict({"sslmode": "disable"})
        certain(Db(db.kind, through.render_as_string(hide_password=False)).execute, "update customers set name = 'x'")
    assert db.state == before


@each("postgresql")
def test_a_constraint_that_only_the_commit_checks_is_a_clear_no(db: Db) -> None:
    db.execute("alter table customers add constraint one unique (name) deferrable initially deferred")
    before = db.state
    assert "Nothing was changed" in certain(db.execute, "update customers set name = 'same'").message
    assert db.state == before


@each("mariadb")
def test_a_table_without_transactions_is_not_said_to_be_unchanged(db: Db) -> None:
    db.execute("create table loose (id integer primary key) engine = MyISAM")
    assert isinstance(failure(db.execute, "insert into loose values (1), (2), (1)"), EffectUnknown)
    assert db.value("select count(*) from loose") == "2"


@each("sqlite")
def test_a_file_that_another_process_writes_is_refused_for_now(db: Db) -> None:
    other = sqlite3.connect(db.url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("begin exclusive")
    try:
        assert "locked" in certain(db.execute, "delete from customers", seconds=0.5).message
    finally:
        other.execute("rollback")
        other.close()
    assert db.execute("delete from orders").endswith("2 rows affected.")


@each("sqlite")
def test_a_value_made_out_of_nothing_has_a_limit(db: Db) -> None:
    assert "too big" in certain(db.query, "select zeroblob(2000000000)").message


@each("sqlite")
def test_a_change_reaches_no_other_file(db: Db, tmp_path: Path) -> None:
    for statement in (f"vacuum into '{tmp_path / 'copy.db'}'", "insert into customers select 9, load_extension('x')"):
        certain(db.execute, statement)
    assert [path.name for path in tmp_path.glob("*.db")] == ["shop.db"]


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    password = "hunter2 ü/x"
    quoted = "hunter2%20%C3%BC%2Fx"
    with _hanging_up() as port:
        for kind in ("postgresql", "mariadb"):
            url = f"{kind}://ann:{quoted}@127.0.0.1:{port}/test?connect_timeout=5"
            error = certain(Db(kind, url).query, "select 1", seconds=5)
            assert password not in error.message
            assert quoted not in error.message
            assert "hunter2" not in repr(sql_query_tool({"shop": url}))
    with pytest.raises(ConfigError) as caught:
        sql_query_tool({"shop": "mssql://ann:hunter2@host/db"})
    assert "hunter2" not in str(caught.value)


@contextmanager
def _hanging_up() -> Iterator[int]:
    """A server that takes connections and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            with suppress(OSError):
                while True:
                    listener.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        yield listener.getsockname()[1]
