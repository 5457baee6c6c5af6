"""A database of an earlier version is brought to this one's tables with everything that was in it."""

import asyncio
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, make_url, text

from tests.architecture.source import SOURCE
from tests.databases import LATIN
from zeno.core.scope import LOCAL
from zeno.stores.database import opened
from zeno.stores.runs import Runs
from zeno.stores.sessions import Sessions

AGENT = '{"name":"default","model":"offline"}'

LETTERS = text(
    "select distinct collation_name from information_schema.columns"
    " where table_schema = database() and collation_name is not null and table_name <> 'alembic_version'"
)


@pytest.mark.parametrize("own_database", ["sqlite", pytest.param(LATIN, marks=pytest.mark.slow)], indirect=True)
def test_rows_of_the_first_version_are_kept_and_belong_to_the_local_user(tmp_path: Path, own_database: str | None) -> None:
    url = own_database or f"sqlite:///{tmp_path / 'z.db'}"
    engine = create_engine(make_url(url).set(drivername="mysql+pymysql") if own_database else url)
    with engine.begin() as connection:
        if not own_database:
            connection.exec_driver_sql("PRAGMA foreign_keys=ON")
        _upgrade(connection, "0001")
        connection.execute(text("insert into sessions values ('s1', 'a title, très long', 5)"))
        connection.execute(
            text("insert into runs (id, session_id, task, agent, created_at, epoch) values ('r1', 's1', 'go', :agent, 5, 1)"),
            {"agent": AGENT},
        )

    async def kept() -> tuple[list[str], list[tuple[str, int]]]:
        async with opened(url) as database:
            runs = await Runs(database=database).newest(LOCAL, 10)
            sessions = await Sessions(database=database).newest(LOCAL, 10)
            return [run.id for run in runs], [(session.title, session.used_at) for session in sessions]

    assert asyncio.run(kept()) == (["r1"], [("a title, très long", 5)])
    if own_database:
        with engine.connect() as connection:
            assert list(connection.scalars(LETTERS)) == ["utf8mb4_bin"]
    engine.dispose()


def _upgrade(connection: Connection, revision: str) -> None:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(SOURCE / "stores" / "migrations"))
    command.upgrade(config, revision)
