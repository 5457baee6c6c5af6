"""What the SQL tools do, over each kind of database."""

import asyncio
import importlib.util
from pathlib import Path

import pytest

from tests.door import Door, call, calls
from tests.shop_databases import CONTEXT, Db, certain, db, each, failure, sqlite_shop
from zeno.core.errors import ConfigError, EffectUnknown, ToolFailed
from zeno.tools.builtin.sql.statement import in_percent_style
from zeno.tools.builtin.sql.tools import list_tables_tool, sql_execute_tool, sql_query_tool
from zeno.tools.builtin.sql.wording import cell

__all__ = ["db"]


@each()
def test_rows_are_told_in_a_table_behind_the_conclusion_with_every_value_readable(db: Db) -> None:
    lines = db.query("select id, total, paid, note, seal from orders order by id").splitlines()
    assert lines[0] == "2 rows from shop, all there are."
    assert lines[2:4] == ["| id | total | paid | note | seal |", "|---|---|---|---|---|"]
    cents, whole = ("12.5", "1200") if db.kind == "sqlite" else ("12.50", "1200.00")
    assert lines[4:] == [
        f"| 1 | {cents} | 2026-09-07 | first | NULL |",
        f"| 2 | {whole} | 2026-09-08 | a\\nb | x'00ff10' (3 bytes) |",
    ]


@each()
def test_parameters_stand_for_values_and_never_for_sql(db: Db) -> None:
    found = db.query("select name from customers where name = :who and id < :most", parameters={"who": "张三", "most": 9})
    assert "| 张三 |" in found
    evil = "'; delete from customers; --"
    assert db.query("select name from customers where name = :who", parameters={"who": evil}).startswith("No rows")
    special = db.query("select ':no 50%' as literal, :who as given", parameters={"who": "%s 100% :x"})
    assert special.splitlines()[-1] == "| :no 50% | %s 100% :x |"
    assert db.query("select '50%' as plain").splitlines()[-1] == "| 50% |"
    assert "missing: most" in certain(db.query, "select :who, :most", parameters={"who": 1}).message
    assert "not in the statement: other" in certain(db.query, "select 1", parameters={"other": 1}).message


@each()
def test_more_rows_than_asked_for_are_cut_and_said_to_be(db: Db) -> None:
    many = "with recursive n as (select 1 as i union all select i + 1 from n where i < 1000) select i from n"
    text = db.query(many, max_rows=3)
    assert text.splitlines()[0].startswith("The first 3 rows from shop; there are MORE.")
    assert text.splitlines()[-1] == "| 3 |"
    assert db.query(many, max_rows=1000).startswith("1,000 rows from shop, all there are.")


@each()
def test_the_beginning_of_an_enormous_result_is_there_at_once(db: Db) -> None:
    endless = "select a.id, repeat('x', 1000) as much from orders a"
    if db.kind == "sqlite":
        endless = "select a.id, printf('%01000d', 0) as much from orders a"
    joined = endless + "".join(f" cross join orders j{number}" for number in range(22)) + " limit 4000000"
    text = db.query(joined, max_rows=5)
    assert text.startswith("The first 5 rows")
    assert "… (+700 characters)" in text


@each()
def test_a_change_is_committed_and_told_with_its_rows(db: Db) -> None:
    said = db.execute("update customers set name = :name where id > :low", parameters={"name": "李四", "low": 0})
    assert said == "Done and committed in shop: 2 rows affected."
    assert db.value("select count(*) from customers where name = '李四'") == "2"
    assert db.execute("insert into customers values (3, 'Cid')") == "Done and committed in shop: 1 row affected."
    assert db.execute("create table other (id integer)").startswith("Done and committed in shop")
    assert db.query("select * from other").startswith("No rows from shop. Columns: id.")


@each()
def test_a_change_may_return_rows(db: Db) -> None:
    said = db.execute("insert into customers values (3, 'Cid') returning id, name")
    assert said.splitlines()[-1] == "| 3 | Cid |"
    assert db.value("select count(*) from customers") == "3"


@each()
@pytest.mark.parametrize(
    "statement",
    [
        "insert into customers values (3, 'new'), (1, 'twice')",
        "update customers set nmae = 'x'",
        "insert into customers values (5, null)",
        "delete form customers",
        "delete from missing_table",
        "delete from orders; delete from customers",
        "create table customers (id integer)",
        "drop table missing_table",
    ],
)
def test_a_change_that_fails_leaves_nothing_behind_and_says_so(db: Db, statement: str) -> None:
    before = db.state
    error = failure(db.execute, statement)
    assert isinstance(error, EffectUnknown) == (db.kind == "mariadb" and statement.startswith("drop")), error.message
    if not isinstance(error, EffectUnknown):
        assert "Nothing was changed" in error.message
    assert db.state == before


@each()
@pytest.mark.parametrize(
    "statement",
    ["commit", "BEGIN", "/* x */ rollback", "savepoint a", "set autocommit = 1", "start transaction", "end", "pragma x", ""],
)
def test_the_transaction_is_not_the_models(db: Db, statement: str) -> None:
    assert certain(db.execute, statement).code in {"statement_refused", "bad_statement"}


@each()
def test_tables_are_listed_with_columns_types_keys_and_references(db: Db) -> None:
    tool = list_tables_tool({"shop": db.url})
    text = asyncio.run(tool.call({}, CONTEXT)).text
    # Other tests have schemas in the same PostgreSQL; what is not on the search path is told with its schema.
    lines = [line for line in text.splitlines() if "." not in line.split(":")[0]]
    assert lines[0].startswith(f"shop ({db.kind}) has ")
    assert [line.split(":")[0] for line in lines[1:]] == ["- big_orders (view)", "- customers", "- orders"]
    customers, orders = lines[2].lower(), lines[3].lower()
    assert " key" in customers.split(",")[0]
    assert "name" in customers
    assert "required" in customers
    assert "-> customers(id)" in orders.split(",")[1]
    narrowed = asyncio.run(tool.call({"database": "shop", "containing": "order"}, CONTEXT)).text
    assert "- orders: " in narrowed
    assert "- customers: " not in narrowed
    assert "no such tables" in asyncio.run(tool.call({"containing": "zzz"}, CONTEXT)).text


def test_a_database_that_cannot_be_reached_does_not_hide_the_others(tmp_path: Path) -> None:
    (here,) = sqlite_shop(tmp_path)
    tool = list_tables_tool({"gone": f"sqlite:///{tmp_path / 'missing.db'}", "shop": here.url})
    text = asyncio.run(tool.call({}, CONTEXT)).text
    assert text.startswith("gone cannot be reached: unable to open")
    assert "shop (sqlite) has 3 tables" in text
    assert not (tmp_path / "missing.db").exists()
    with pytest.raises(ToolFailed):
        asyncio.run(tool.call({"database": "gone"}, CONTEXT))


@each("postgresql")
def test_values_that_only_postgresql_has_are_readable(db: Db) -> None:
    text = db.query(
        "select array[1, 2] as list, '{\"a\": 1}'::jsonb as doc, true as yes, interval '1 hour' as span,"
        " '2026-09-07 10:00+00'::timestamptz at time zone 'utc' as at, null as nothing, '' as empty, 1.50::numeric as n,"
        " 'NaN'::float8 as nan, int4range(1, 5) as range, '00000000-0000-0000-0000-000000000001'::uuid as id"
    )
    assert text.splitlines()[-1] == (
        "| [1,2] | {\"a\":1} | true | 1:00:00 | 2026-09-07 10:00:00 | NULL | '' | 1.50 | nan | [1, 5) |"
        " 00000000-0000-0000-0000-000000000001 |"
    )
    assert "infinity" in certain(db.query, "select 'infinity'::timestamp").message


def test_addresses_that_cannot_be_used_are_the_operators_to_correct(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {
        "no address": "sql_url_invalid",
        "postgresql://host:port/db": "sql_url_invalid",
        "sqlite://": "sql_url_invalid",
        "sqlite:///:memory:": "sql_url_invalid",
        "oracle://host/db": "sql_unsupported",
    }
    for url, code in wanted.items():
        with pytest.raises(ConfigError) as caught:
            sql_query_tool({"shop": url})
        assert (caught.value.code, caught.value.params["database"]) == (code, "shop")
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "psycopg" else there(name))
    with pytest.raises(ConfigError) as caught:
        sql_query_tool({"shop": "postgresql://host/db"})
    assert (caught.value.code, caught.value.params["package"]) == ("sql_driver_missing", "psycopg[binary]")


def test_the_model_is_told_which_databases_there_are(tmp_path: Path) -> None:
    (here,) = sqlite_shop(tmp_path)
    for make in (sql_query_tool, sql_execute_tool, list_tables_tool):
        assert make({"shop": here.url}).spec.description.endswith("Databases: shop (sqlite).")
    tool = sql_query_tool({"shop": here.url})
    with pytest.raises(ToolFailed, match="There are: shop"):
        asyncio.run(tool.call({"database": "other", "query": "select 1"}, CONTEXT))


def test_parameters_are_found_outside_of_literals_and_comments_only() -> None:
    statement = "select ':a', \":a\", `:a`, E'\\':a', $$ :a $$, $t$ :a $t$, x::text -- :a\n/* :a */ , a[1:2], :a % 2"
    assert in_percent_style(statement, {"a": 1}) == statement.replace(":a % 2", "%(a)s %% 2")
    assert in_percent_style("select '5%'", {}) == "select '5%'"


def test_long_and_broken_texts_stay_in_their_cell() -> None:
    assert cell("a|b\\c\r\n\t") == "a\\|b\\\\c\\r\\n\\t"
    assert cell("x" * 301) == "x" * 300 + "… (+1 characters)"
    assert cell(memoryview(bytes(20))) == f"x'{'00' * 16}…' (20 bytes)"


def test_a_run_asks_without_permission_and_changes_with_it_only(door: Door, tmp_path: Path) -> None:
    (here,) = sqlite_shop(tmp_path)
    assert "sql_query" not in door.zeno("tools").out
    door.env["ZENO_TOOLS__DATABASES"] = f'{{"shop": "{here.url}"}}'
    ask = call("sql_query", database="shop", query="select name from customers where id = 1")
    change = call("sql_execute", database="shop", statement="delete from customers where id = 2")
    model = door.script(calls(ask), calls(change), calls(call("list_tables")), {"text": "done"})
    outcome = door.run("tidy up", "--model", model, "--yes")
    results = [event["result"] for event in outcome.of("tool_finished")]
    assert [result["outcome"] for result in results] == ["done", "done", "done"], outcome.err
    assert "张三" in results[0]["text"]
    assert here.value("select count(*) from customers") == "1"
