"""A database of an earlier version is brought to this one's tables with everything that was in it."""

import asyncio
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, text

from tests.architecture.source import SOURCE
from zeno.core.scope import LOCAL
from zeno.stores.database import opened
from zeno.stores.runs import Runs
from zeno.stores.sessions import Sessions

AGENT = '{"name":"default","model":"offline"}'


def test_rows_of_the_first_version_are_kept_and_belong_to_the_local_user(tmp_path: Path) -> None:
    path = tmp_path / "z.db"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA foreign_keys=ON")
        _upgrade(connection, "0001")
        connection.execute(text("insert into sessions values ('s1', 'a title', 5)"))
        connection.execute(
            text("insert into runs (id, session_id, task, agent, created_at, epoch) values ('r1', 's1', 'go', :agent, 5, 1)"),
            {"agent": AGENT},
        )
    engine.dispose()

    async def kept() -> tuple[list[str], list[tuple[str, int]]]:
        async with opened(f"sqlite:///{path}") as database:
            runs = await Runs(database=database).newest(LOCAL, 10)
            sessions = await Sessions(database=database).newest(LOCAL, 10)
            return [run.id for run in runs], [(session.title, session.used_at) for session in sessions]

    assert asyncio.run(kept()) == (["r1"], [("a title", 5)])


def _upgrade(connection: Connection, revision: str) -> None:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(SOURCE / "stores" / "migrations"))
    command.upgrade(config, revision)
