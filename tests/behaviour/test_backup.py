"""Backups: what is brought back is what was there, on whichever database, and runs go on where they were."""

import asyncio
import io
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from tests.databases import database
from tests.door import ZENO, Door, call, calls
from tests.http import HOLD
from zeno.app import App, opened
from zeno.core.events import RunEnded
from zeno.core.scope import LOCAL
from zeno.settings import Settings
from zeno.stores.backup import Backups
from zeno.stores.tables import metadata

Rows = dict[str, list[dict[str, Any]]]

OTHERS = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("postgresql", "mariadb")]


def paused_house(door: Door) -> str:
    """A house with a run that is over and one that waits for a person; returns the waiting run's id."""
    door.with_tools(HOLD)
    assert door.run("1+1", "--model", "offline").code == 0
    script = door.script(calls(call("send_mail", to="a@example.com", text="好 \u0000!")), {"text": "Sent."})
    outcome = door.run("mail", "--model", script)
    assert outcome.code == 11, outcome.err
    (run, _) = json.loads(door.zeno("runs", "--json").out)
    folder = door.home / "workspaces" / run["session_id"]
    (folder / "out").mkdir()
    (folder / "out" / "报告.txt").write_text("kept", "utf-8")
    (folder / ".zeno" / "tables").mkdir(parents=True)
    (folder / ".zeno" / "tables" / "t.duckdb").write_text("derived")
    (folder / "link").symlink_to("/etc/hostname")
    return str(run["id"])


def rows(home: Path, url: str | None) -> Rows:
    """All rows of a house."""

    def read(connection: Connection) -> Rows:
        found = {}
        for table in metadata.sorted_tables:
            chosen = connection.execute(select(table).order_by(*table.primary_key)).mappings()
            found[table.name] = [{name: value for name, value in row.items() if "lease" not in name} for row in chosen]
        return found

    async def work() -> Rows:
        async with opened(Settings(home=home, database_url=url)) as app:
            return await app.runs.database.read(read)

    return asyncio.run(work())


def moved(door: Door, home: Path, url: str | None = None) -> Door:
    """The same user with another home and database."""
    env = dict(door.env) | ({"ZENO_DATABASE_URL": url} if url else {})
    if not url:
        env.pop("ZENO_DATABASE_URL", None)
    return Door(home=home, here=door.here, env=env)


def approves(door: Door, run: str) -> None:
    """The waiting run is let go on, to its end, and another one is made."""
    outcome = door.zeno("approve", run)
    assert outcome.code == 0, outcome.err
    trace = json.loads(door.zeno("trace", run, "--json").out)
    assert [step["outcome"] for step in trace["steps"] if step["tool"] == "send_mail"] == ["done"]
    assert door.run("2+2", "--model", "offline").code == 0


def test_everything_is_brought_back_and_a_paused_run_goes_on(door: Door, tmp_path: Path) -> None:
    run = paused_house(door)
    before = rows(door.home, None)
    archive = tmp_path / "zeno.tar.gz"
    figures = json.loads(door.zeno("backup", archive, "--json").out)
    assert archive.stat().st_mode & 0o077 == 0
    assert (figures["sessions"], figures["runs"], figures["files"], figures["left_out"]) == (2, 2, 1, 1)
    assert figures["rows"] == sum(map(len, before.values()))
    other = moved(door, tmp_path / "other")
    told = json.loads(other.zeno("restore", archive, "--json").out)
    assert {name: told[name] for name in figures} == figures
    assert rows(other.home, None) == before
    files = [path for path in (other.home / "workspaces").rglob("*") if path.is_file()]
    assert [(path.name, path.read_text("utf-8")) for path in files] == [("报告.txt", "kept")]
    approves(other, run)


def test_a_backup_is_brought_back_from_standard_input(door: Door, tmp_path: Path) -> None:
    paused_house(door)
    assert door.zeno("backup", tmp_path / "zeno.tar.gz").code == 0
    other = moved(door, tmp_path / "other")
    with subprocess.Popen(["cat", tmp_path / "zeno.tar.gz"], stdout=subprocess.PIPE) as piped:
        subprocess.run([ZENO, "restore", "/dev/stdin"], stdin=piped.stdout, env=other.environment(), cwd=other.here, check=True)
    assert rows(other.home, None) == rows(door.home, None)


@pytest.mark.parametrize("kind", OTHERS)
def test_a_backup_moves_to_another_kind_of_database_and_back(door: Door, tmp_path: Path, kind: str) -> None:
    run = paused_house(door)
    before = rows(door.home, None)
    assert door.zeno("backup", tmp_path / "one.tar.gz").code == 0
    with database(kind) as url:
        other = moved(door, tmp_path / "other", url)
        outcome = other.zeno("restore", tmp_path / "one.tar.gz")
        assert outcome.code == 0, outcome.err
        assert rows(other.home, url) == before
        approves(other, run)
        after = rows(other.home, url)
        assert other.zeno("backup", tmp_path / "two.tar.gz").code == 0
    home = moved(door, tmp_path / "home again")
    assert home.zeno("restore", tmp_path / "two.tar.gz").code == 0
    assert rows(home.home, None) == after
    assert home.run("3+3", "--model", "offline").code == 0


def test_what_is_not_empty_is_left_alone(door: Door, tmp_path: Path) -> None:
    paused_house(door)
    archive = tmp_path / "zeno.tar.gz"
    assert door.zeno("backup", archive).code == 0
    made = archive.read_bytes()
    outcome = door.zeno("backup", archive)
    assert (outcome.code, archive.read_bytes()) == (2, made)
    assert "[backup_exists]" in outcome.err
    assert "[restore_files_there]" in door.zeno("restore", archive).err
    before = rows(door.home, None)
    (door.home / "workspaces").rename(tmp_path / "elsewhere")
    outcome = door.zeno("restore", archive, lang="zh-CN")
    assert outcome.code == 2
    assert "[restore_not_empty]" in outcome.err
    assert "空数据库" in outcome.err
    assert rows(door.home, None) == before
    assert not list(tmp_path.glob(".backup-*"))


@pytest.mark.parametrize("damage", ["cut", "flipped", "text", "climbing", "short", "other schema"])
def test_a_damaged_backup_brings_back_nothing(door: Door, tmp_path: Path, damage: str) -> None:
    paused_house(door)
    archive, broken = tmp_path / "zeno.tar.gz", tmp_path / "broken.tar.gz"
    assert door.zeno("backup", archive).code == 0
    broken.write_bytes(_damaged(archive, damage))
    other = moved(door, tmp_path / "other")
    outcome = other.zeno("restore", broken)
    assert outcome.code == 2
    assert ("[backup_version]" if damage == "other schema" else "[backup_unreadable]") in outcome.err
    assert not any(rows(other.home, None).values())
    assert list((other.home / "workspaces").iterdir()) == []
    assert not (tmp_path / "escaped").exists()
    assert other.zeno("restore", archive).code == 0


def test_a_backup_holds_one_moment_while_runs_go_on(door: Door, tmp_path: Path) -> None:
    """Whatever is written meanwhile, no row in it refers to one that is not."""

    async def work(app: App) -> None:
        agent = await app.agent(None, language="en-US")
        backups = Backups(database=app.runs.database, workspaces=app.workspaces)
        saving: asyncio.Task[Any] | None = None
        for number in range(8):
            run = await app.start(LOCAL, agent, "1+1")
            if number == 2:
                saving = asyncio.create_task(backups.save(tmp_path / "live.tar.gz", at=0, version="test"))
            state = await app.drive(run, lambda _: None)
            assert state.ending == "answered"
        assert saving
        await saving

    async def inside() -> None:
        async with opened(Settings(home=door.home, model="offline")) as app:
            await work(app)

    asyncio.run(inside())
    other = moved(door, tmp_path / "other")
    assert other.zeno("restore", tmp_path / "live.tar.gz").code == 0
    kept = rows(other.home, None)
    runs = {row["id"]: row for row in kept["runs"]}
    for run_id, run in runs.items():
        last = [row for row in kept["events"] if row["run_id"] == run_id][-1:]
        assert bool(last and last[0]["type"] == RunEnded.__struct_config__.tag) == (run["ended_at"] is not None)
    assert {row["run_id"] for row in kept["events"]} <= runs.keys()


def _damaged(archive: Path, damage: str) -> bytes:
    whole = archive.read_bytes()
    if damage == "cut":
        return whole[: len(whole) // 2]
    if damage == "flipped":
        middle = len(whole) // 2
        return whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
    if damage == "text":
        return b"not an archive"
    made = io.BytesIO()
    with tarfile.open(archive) as source, tarfile.open(fileobj=made, mode="w:gz") as target:
        for member in source:
            content = source.extractfile(member)
            assert content
            data = content.read()
            if damage == "other schema" and member.name == "backup.json":
                data = json.dumps(json.loads(data) | {"schema": "0000"}).encode()
            if damage == "short" and member.name == "rows/events.jsonl":
                data = data.split(b"\n", 1)[1]
            if damage == "climbing" and member.name.startswith("workspaces/"):
                member.name, member.pax_headers = "workspaces/../../../escaped", {}
            member.size = len(data)
            target.addfile(member, io.BytesIO(data))
    return made.getvalue()


def test_a_place_that_cannot_be_written_to_is_named(door: Door, tmp_path: Path) -> None:
    outcome = door.zeno("backup", tmp_path / "nowhere" / "zeno.tar.gz")
    assert outcome.code == 2
    assert "[backup_unwritable]" in outcome.err
