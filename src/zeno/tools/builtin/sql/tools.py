"""The tools on SQL databases: what there is, what it holds, and changing it. Databases are known by the operator's names."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, NoReturn

import msgspec
from msgspec import Meta

from zeno.core.errors import EffectUnknown, ToolFailed
from zeno.tools.builtin.sql.databases import Database, configured
from zeno.tools.builtin.sql.errand import GRACE, Errand
from zeno.tools.builtin.sql.statement import Parameters, Value, checked_names, refuse_control
from zeno.tools.builtin.sql.wording import change_text, rows_text, tables_text
from zeno.tools.function import FunctionTool, tool

SECONDS = 30.0
_MOST_STATEMENT = 100_000
_MOST_COLUMNS = 1500
"""Columns of all tables that one listing tells."""
_MOST_RETURNED = 200


def sql_query_tool(databases: Mapping[str, str], *, seconds: float = SECONDS) -> FunctionTool:
    """The tool `sql_query` over databases by name, given as SQLAlchemy URLs. Raises `ConfigError`, as all three do."""
    known = configured(databases)

    @tool(source="sql", timeout=seconds + 2 * GRACE, untrusted=True)
    async def sql_query(
        database: str,
        query: str,
        parameters: dict[str, Value] = {},  # noqa: B006 (the tool copies its defaults)
        max_rows: Annotated[int, Meta(ge=1, le=1000)] = 200,
    ) -> str:
        """Ask a SQL database with one reading statement, such as SELECT. The database itself refuses every change.

        Use it for figures and records out of a database; let the database count, sum and filter. Call list_tables first to
        learn the tables and columns.

        Args:
            database: Name of the database.
            query: One statement that reads, in the database's own SQL.
            parameters: Values for :name in the query, by name; safer than writing them into it.
            max_rows: Most rows to return, up to 1000; the text says whether there are more.
        """
        chosen = _chosen(known, database)
        _check(query, parameters)
        found = await Errand(chosen, seconds).run(lambda session: session.read(query, parameters, max_rows))
        return rows_text(found, database)

    return _with_names(sql_query, known)


def sql_execute_tool(databases: Mapping[str, str], *, seconds: float = SECONDS) -> FunctionTool:
    """The tool `sql_execute`."""
    known = configured(databases)

    @tool(effect="danger", source="sql", timeout=seconds + 2 * GRACE)
    async def sql_execute(
        database: str,
        statement: str,
        parameters: dict[str, Value] = {},  # noqa: B006
    ) -> str:
        """Change a SQL database with one statement, such as INSERT, UPDATE, DELETE or CREATE, in a transaction of its own.

        Use it only when someone asks for data to be changed. It is committed when it succeeds and undone when it fails. The
        result tells how many rows were affected. For reading use sql_query.

        Args:
            database: Name of the database.
            statement: One statement, in the database's own SQL; no BEGIN or COMMIT.
            parameters: Values for :name in the statement, by name; safer than writing them into it.
        """
        chosen = _chosen(known, database)
        _check(statement, parameters)
        refuse_control(statement)
        errand = Errand(chosen, seconds, writes=True)
        found = await errand.run(lambda session: session.change(statement, parameters, _MOST_RETURNED))
        return change_text(found, database)

    return _with_names(sql_execute, known)


def list_tables_tool(databases: Mapping[str, str], *, seconds: float = SECONDS) -> FunctionTool:
    """The tool `list_tables`."""
    known = configured(databases)

    @tool(source="sql", timeout=len(known) * seconds + 2 * GRACE)
    async def list_tables(database: str = "", containing: str = "") -> str:
        """List the tables of the SQL databases with their columns, types, keys and references.

        Use it before sql_query and sql_execute, to learn what there is and what it is called.

        Args:
            database: Name of the database; empty for all.
            containing: Only tables whose name contains this.
        """
        chosen = [_chosen(known, database)] if database else list(known.values())
        told = []
        for one in chosen:
            try:
                told.append(await _listed(one, containing, seconds))
            except EffectUnknown:
                raise
            except ToolFailed as failure:
                if database:
                    raise
                told.append(failure.message)
        return "\n\n".join(told)

    return _with_names(list_tables, known)


async def _listed(database: Database, containing: str, seconds: float) -> str:
    pattern = {"name": f"%{containing}%"}
    found = await Errand(database, seconds).run(lambda session: session.read(session.listing, pattern, _MOST_COLUMNS))
    return tables_text(found.rows, database.name, database.kind, more=found.more)


def _chosen(known: Mapping[str, Database], name: str) -> Database:
    if name not in known:
        raise ToolFailed(f"There is no database {name!r}. There are: {', '.join(known)}.", code="unknown_database")
    return known[name]


def _check(statement: str, parameters: Parameters) -> None:
    """Raises `ToolFailed` for what no database could read."""
    texts = [statement, *(value for value in parameters.values() if isinstance(value, str))]
    if not statement.strip():
        _refuse("The statement is empty. Give one.")
    if len(statement) > _MOST_STATEMENT:
        _refuse(f"The statement has {len(statement)} characters, the limit is {_MOST_STATEMENT}. Shorten it.")
    try:
        if any(b"\x00" in text.encode() for text in texts):
            _refuse("The statement or a parameter holds a NUL character. Leave it out.")
    except UnicodeEncodeError:
        _refuse("The statement or a parameter holds half a character (a lone surrogate). Correct it.")
    checked_names(statement, parameters)


def _refuse(why: str) -> NoReturn:
    raise ToolFailed(f"{why} It was not carried out.", code="bad_statement")


def _with_names(made: FunctionTool, known: Mapping[str, Database]) -> FunctionTool:
    """The tool, its description telling the model which databases there are."""
    there = ", ".join(f"{one.name} ({one.kind})" for one in known.values())
    return replace(made, spec=msgspec.structs.replace(made.spec, description=f"{made.spec.description}\nDatabases: {there}."))
