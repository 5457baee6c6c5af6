"""The tables in the code and the tables that the migrations make are the same."""

import asyncio
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from tests.architecture.source import SOURCE
from zeno.stores.database import opened
from zeno.stores.migrations import HEAD
from zeno.stores.tables import metadata


def test_migrations_lead_to_the_tables_of_the_code(tmp_path: Path) -> None:
    async def differences() -> list[object]:
        async with opened(f"sqlite:///{tmp_path / 'z.db'}") as database:
            return await database.read(_compared)

    assert asyncio.run(differences()) == []


def test_the_newest_migration_is_the_one_that_is_named() -> None:
    config = Config()
    config.set_main_option("script_location", str(SOURCE / "stores" / "migrations"))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def _compared(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return list(compare_metadata(context, metadata))
