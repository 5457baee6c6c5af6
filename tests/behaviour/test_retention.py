"""Retention: what is old goes with everything that belongs to it, and nothing else does."""

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection, select, update

from tests.databases import current
from tests.door import Door
from tests.http import HOLD
from tests.scene import scene
from zeno.app import App, opened
from zeno.core.commands import Cancel
from zeno.core.errors import RunLost
from zeno.core.scope import LOCAL
from zeno.runs.clock import new_id, now
from zeno.runs.retention import DAY
from zeno.runs.start import workspace
from zeno.settings import Settings
from zeno.stores.retention import AT_ONCE
from zeno.stores.runs import Run
from zeno.stores.tables import audit, effects, events, inbox, runs, sessions

KEPT = {"runs_days": 30, "archived_days": 3, "audit_days": 30, "jobs_days": 7}

CALLS = '{"calls": [{"name": "send_mail", "arguments": {"to": "a", "text": "b"}}]}\n{"text": "Sent."}\n'


def settings(home: Path, **kept: int | None) -> Settings:
    """A house that keeps things for so long."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "own.py").write_text(f"from zeno.tools.function import tool\n{HOLD}")
    (home / "script.jsonl").write_text(CALLS)
    return Settings(
        home=home,
        database_url=current[-1] if current else None,
        model="offline",
        retention={**KEPT, **kept},
        tools={"modules": [str(home / "own.py")]},
    )


async def finished(app: App, text: str = "1+1", session: str | None = None, *, danger: bool = False) -> Run:
    """A run that is over, or that waits for a person when its model calls for one."""
    model = f"scripted:{app.settings.home}/script.jsonl" if text == "mail" else None
    agent = await app.agent(None, language="en-US", model=model, allow_danger=danger)
    run = await app.start(LOCAL, agent, text, session_id=session)
    await app.drive(run, lambda _: None)
    (workspace(app.workspaces, run.session_id) / "note.txt").write_text("x")
    return run


async def aged(app: App, days: int) -> None:
    """All that there is becomes older."""

    def work(connection: Connection) -> None:
        for table in (sessions, runs, audit, inbox):
            for column in table.columns:
                if column.name == "at" or column.name.endswith("_at"):
                    connection.execute(update(table).where(column.is_not(None)).values({column: column - days * DAY}))

    await app.runs.database.write(work)
    old = now() / 1000 - days * DAY / 1000
    for directory in app.workspaces.iterdir():
        os.utime(directory, (old, old))


async def all_of(app: App, column: object) -> set[str]:
    """What stands in a column."""
    return set(await app.runs.database.read(lambda connection: list(connection.scalars(select(column)))))  # type: ignore[call-overload]


@pytest.mark.databases
@scene
async def test_an_old_conversation_goes_with_its_runs_files_and_effects_and_a_young_one_stays(tmp_path: Path) -> None:
    async with opened(settings(tmp_path)) as app:
        old, other = await finished(app, "mail", danger=True), await finished(app)
        assert await all_of(app, effects.c.run_id) == {old.id}
        await aged(app, 31)
        again = await finished(app, session=other.session_id)
        young = await finished(app, "mail", danger=True)
        done = await app.pruning.prune()
        assert (done.sessions, done.runs) == (1, 1)
        assert await all_of(app, runs.c.id) == {other.id, again.id, young.id}
        assert await all_of(app, events.c.run_id) == {other.id, again.id, young.id}
        assert await all_of(app, effects.c.run_id) == {young.id}
        assert {path.name for path in app.workspaces.iterdir()} == {other.session_id, young.session_id}
        assert (done.audit, done.inbox) == (2, 1)
        assert await app.pruning.prune() == type(done)()


@pytest.mark.databases
@scene
async def test_a_conversation_that_is_deleted_goes_with_its_effects(tmp_path: Path) -> None:
    async with opened(settings(tmp_path)) as app:
        gone, kept = await finished(app, "mail", danger=True), await finished(app, "mail", danger=True)
        await app.delete_session(LOCAL, gone.session_id)
        assert await all_of(app, effects.c.run_id) == {kept.id}


@pytest.mark.databases
@scene
async def test_what_is_done_after_its_conversation_was_deleted_is_not_kept(tmp_path: Path) -> None:
    house = settings(tmp_path)
    held = HOLD.replace("@tool()\nasync def hold", '@tool(effect="write")\nasync def hold')
    (tmp_path / "own.py").write_text(f"from zeno.tools.function import tool\n{held}")
    (tmp_path / "script.jsonl").write_text('{"calls": [{"name": "hold", "arguments": {"word": "x"}}]}')
    async with opened(house) as app:
        run = await app.start(LOCAL, await app.agent(None, language="en-US", model=f"scripted:{tmp_path}/script.jsonl"), "go")
        driving = asyncio.create_task(app.drive(run, lambda _: None))
        gate = sys.modules[f"held by {tmp_path / 'own.py'}"]
        await gate.entered.wait()
        # As if its driver were cut off from the database.
        expired = update(runs).values(lease_until=0)
        await app.runs.database.write(lambda connection: connection.execute(expired))
        await app.delete_session(LOCAL, run.session_id)
        gate.release.set()
        with contextlib.suppress(RunLost):
            await driving
        assert await all_of(app, effects.c.key) == set()


@pytest.mark.databases
@scene
async def test_what_is_open_or_paused_never_goes_however_old_it_is(tmp_path: Path) -> None:
    async with opened(settings(tmp_path)) as app:
        paused = await finished(app, "mail")
        queued = await app.start(LOCAL, await app.agent(None, language="en-US"), "1+1")

        await app.sessions.archive(LOCAL, paused.session_id, now())
        await app.sessions.archive(LOCAL, queued.session_id, now())
        await aged(app, 400)
        done = await app.pruning.prune()
        assert (done.sessions, done.runs, done.orphans) == (0, 0, 0)
        assert await all_of(app, runs.c.id) == {paused.id, queued.id}
        assert {path.name for path in app.workspaces.iterdir()} == {paused.session_id, queued.session_id}
        assert len(await app.inbox.pending(queued.id)) == 1
        await app.send(LOCAL, queued.id, Cancel())
        await app.drive(queued, lambda _: None)
        # It is over only now, and kept for as long as one that was begun now.
        assert (await app.pruning.prune(dry_run=True)).sessions == 1, "put away long ago"
        await app.sessions.archive(LOCAL, queued.session_id, None)
        assert (await app.pruning.prune(dry_run=True)).sessions == 0


@pytest.mark.databases
@scene
async def test_a_conversation_that_was_put_away_goes_sooner(tmp_path: Path) -> None:
    async with opened(settings(tmp_path)) as app:
        away, kept = await finished(app), await finished(app)
        await app.sessions.archive(LOCAL, away.session_id, now())
        await aged(app, 4)
        assert (await app.pruning.prune()).sessions == 1
        assert await all_of(app, sessions.c.id) == {kept.session_id}


@scene
async def test_without_limits_only_what_is_of_no_use_goes(tmp_path: Path) -> None:
    async with opened(Settings(home=tmp_path, model="offline")) as app:
        run = await finished(app)
        await app.credentials.add_login(LOCAL, "expired", at=now(), expires_at=now() - 1)
        await app.credentials.add_login(LOCAL, "valid", at=now() - 2 * DAY, expires_at=now() + DAY)
        await aged(app, 4000)
        done = await app.pruning.prune()
        assert (done.sessions, done.runs, done.audit, done.logins, done.inbox) == (0, 0, 0, 1, 1)
        assert await all_of(app, runs.c.id) == {run.id}


@scene
async def test_more_than_one_batch_goes(tmp_path: Path) -> None:
    async with opened(settings(tmp_path)) as app:
        for _ in range(AT_ONCE + 3):
            await app.audit.write(LOCAL, "test", at=now() - 40 * DAY)
        await app.audit.write(LOCAL, "test", at=now())
        assert (await app.pruning.prune()).audit == AT_ONCE + 3
        assert len(await all_of(app, audit.c.id)) == 1


@scene
async def test_directories_of_no_conversation_go_when_they_are_a_day_old(tmp_path: Path) -> None:
    async with opened(settings(tmp_path)) as app:
        orphan, young, foreign = (app.workspaces / name for name in (new_id(), new_id(), "lost+found"))
        orphan.mkdir(parents=True)
        assert (await app.pruning.prune()).orphans == 0, "the database is empty, and may be the wrong one"
        run = await finished(app)
        foreign.mkdir()
        await aged(app, 2)
        young.mkdir()
        assert (await app.pruning.prune(dry_run=True)).orphans == 1
        assert orphan.exists()
        assert (await app.pruning.prune()).orphans == 1
        assert {path.name for path in app.workspaces.iterdir()} == {run.session_id, young.name, "lost+found"}


@scene
async def test_a_process_that_drives_runs_prunes_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(settings(tmp_path)) as app:
        await finished(app)
        await aged(app, 31)
    monkeypatch.setattr("zeno.runs.retention.FIRST", 0.0)
    async with opened(settings(tmp_path), serving=True) as app:
        while await all_of(app, runs.c.id):
            await asyncio.sleep(0.01)


def test_the_command_counts_first_and_deletes_then(door: Door) -> None:
    door.env["ZENO_RETENTION__RUNS_DAYS"] = "30"
    assert door.run("1+1", "--model", "offline").code == 0

    async def older() -> None:
        async with opened(Settings(home=door.home)) as app:
            await aged(app, 31)

    asyncio.run(older())
    assert json.loads(door.zeno("prune", "--dry-run", "--json").out)["runs"] == 1
    assert json.loads(door.zeno("prune", "--dry-run", "--json").out)["runs"] == 1
    outcome = door.zeno("prune", lang="zh-CN")
    assert outcome.code == 0
    assert "已删除" in outcome.out
    assert json.loads(door.zeno("prune", "--json").out)["runs"] == 0
    assert json.loads(door.zeno("runs", "--json").out) == []
