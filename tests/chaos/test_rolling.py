"""A house is renewed while it is at work: one process after the other, and with them the schema, by one release."""

import asyncio
import random
import shutil
from pathlib import Path

import httpx2
import pytest

import zeno
from tests.chaos.house_of_three import House, Story, house, own_postgres, trial, until
from tests.door import Door, call, calls
from tests.redis_server import redis_server
from tests.scene import BOUND
from zeno.stores.migrations import HEAD

pytestmark = pytest.mark.slow

NEXT = f"{int(HEAD) + 1:04}"

MIGRATION = f'''
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{HEAD}"


def upgrade():
    op.add_column("runs", sa.Column("mood", sa.String(32)))
    op.create_table("moons", sa.Column("id", sa.Integer, primary_key=True))
'''


async def started(place: House, word: str, chance: random.Random) -> str:
    """A run that keeps a word, begun at any instance that can be had; asked for again, it is the same one."""
    body = {"text": "go", "model": place.model(calls(call("keep", word=word)), {"text": f"Kept {word}."})}
    while True:
        try:
            url = f"{chance.choice(place.origins)}/api/v1/runs"
            answer = await place.client.post(url, json=body, headers={"Idempotency-Key": word})
        except httpx2.TransportError:
            await asyncio.sleep(0.05)
            continue
        assert answer.status_code == 202, answer.text
        return str(answer.json()["run_id"])


async def keep_asking(place: House, name: str, enough: asyncio.Event) -> list[tuple[str, Story]]:
    """Start one run after the other and see each to its end, until there were enough."""
    chance = random.Random(name)
    seen: list[tuple[str, Story]] = []
    while not enough.is_set():
        word = f"{chance.choice(('long', 'brief', 'brief', 'brief'))}-{name}-{len(seen)}"
        run = await started(place, word, chance)
        seen.append((word, await place.follow(run, *chance.sample(place.origins, len(place.origins)))))
        # People think; and the processes that begin meanwhile need the machine as well.
        await asyncio.sleep(0.1)
    return seen


@trial
async def test_a_rolling_restart_under_load_is_noticed_by_nobody(door: Door) -> None:
    with own_postgres() as postgres, redis_server() as redis:
        async with house(door, postgres, redis) as place:
            for name in ("serve-1", "serve-2", "serve-3"):
                place.add(name)
            for name in ("work-1", "work-2"):
                place.add(name, "worker")
            await place.ready()
            place.failed.clear()
            enough = asyncio.Event()
            people = [asyncio.create_task(keep_asking(place, f"p{number}", enough)) for number in range(3)]
            for instance in place.instances.values():
                assert await instance.end() == 0, instance.log.read_text()[-3000:]
                instance.begin()
                await place.ready(instance)
            enough.set()
            seen = [each for person in people for each in await person]
            runs, open_runs = place.rows("select count(*), count(*) filter (where ended_at is null) from runs")[0]
    assert [failure for failure in place.failed if "/readyz" not in failure[1]] == []
    assert (runs, open_runs) == (len(seen), 0)
    for word, story in seen:
        assert (story.ending, story.words, story.outcomes) == ("answered", f"Kept {word}.", {"call_1_1": "done"})
        assert place.happened("keep", word) == 1


def next_release(folder: Path) -> Path:
    """The package as it may be one release later: a migration more that only adds, and a field more in an event."""
    shutil.copytree(Path(zeno.__file__).parent, folder / "zeno")
    migrations = folder / "zeno" / "stores" / "migrations"
    (migrations / "versions" / f"v{NEXT}_next.py").write_text(MIGRATION)
    for path, old, new in (
        (migrations / "__init__.py", f'\nHEAD = "{HEAD}"', f'\nHEAD = "{NEXT}"'),
        (
            folder / "zeno" / "core" / "events.py",
            "    tools: tuple[str, ...]\n",
            '    tools: tuple[str, ...]\n    mood: str = ""\n',
        ),
    ):
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))
    return folder


@trial
async def test_instances_at_work_go_on_while_the_next_release_changes_the_schema(door: Door) -> None:
    with own_postgres() as postgres:
        async with house(door, postgres) as place:
            a, _ = place.add("a"), place.add("w", "worker")
            await place.ready()
            at_work = await place.run(
                a.origin, calls(call("look", word="held")), calls(call("keep", word="k")), {"text": "Kept."}
            )
            waiting = await place.run(a.origin, calls(call("charge", word="card")), {"text": "Charged."})
            await until(lambda: place.happened("look", "held"))
            await until(lambda: place.rows("select 1 from approvals where status = 'pending'"))

            newer = place.add("newer", "--no-worker", PYTHONPATH=str(next_release(door.home / "next")))
            await place.ready(newer)
            assert place.rows("select version_num from alembic_version") == [(NEXT,)]
            place.let_go("held")
            await place.decide(newer.origin, waiting)
            fresh = await place.run(newer.origin, calls(call("keep", word="fresh")), {"text": "Kept as well."})
            late = await place.run(a.origin, calls(call("keep", word="late")), {"text": "And this."})
            stories = [await place.follow(run, a.origin) for run in (at_work, waiting, fresh, late)]
            assert place.failed == [each for each in place.failed if "/readyz" in each[1]]
    assert [story.ending for story in stories] == ["answered"] * 4
    assert [place.happened(*each) for each in (("keep", "k"), ("charge", "card"), ("keep", "fresh"), ("keep", "late"))] == [
        1
    ] * 4


@trial
async def test_a_run_that_a_newer_release_has_written_is_left_to_it(door: Door) -> None:
    with own_postgres() as postgres:
        async with house(door, postgres) as place:
            a = place.add("a")
            await place.ready()
            run = await place.run(a.origin, calls(call("charge", word="card")), {"text": "Charged."})
            await until(lambda: place.rows("select 1 from approvals where status = 'pending'"))
            place.rows(
                """update events set body = replace(body, '"type":"run_started"', '"type":"run_started","mood":"calm"')"""
                " where run_id = %s and seq = 1",
                run,
            )
            await place.decide(a.origin, run)
            tried = place.rows("select epoch from runs")
            await until(lambda: place.rows("select epoch from runs")[0][0] > tried[0][0] + 1)
            listed = (await place.get(a.origin, "/runs"))["runs"]
            assert [(each["id"], each["ended_at"]) for each in listed] == [(run, None)]
            assert place.happened("charge", "card") == 0

            newer = place.add("newer", PYTHONPATH=str(next_release(door.home / "next")))
            await place.ready(newer)
            story = await place.follow(run, newer.origin)
    assert (story.ending, story.words, story.records[0]["mood"]) == ("answered", "Charged.", "calm")
    assert [effect.instance for effect in place.effects()] == ["newer"]


@trial
async def test_a_release_works_with_a_newer_schema_that_was_made_with_it_in_mind(door: Door) -> None:
    with own_postgres() as postgres:
        async with house(door, postgres) as place:
            a = place.add("a")
            await place.ready()
            newer = place.add("newer", "--no-worker", PYTHONPATH=str(next_release(door.home / "next")))
            await place.ready(newer)
            # Nobody is sent away while the others are still to be renewed.
            assert await place.status(a) == 200
            assert await a.end() == 0
            a.begin()
            await place.ready(a)
            run = await place.run(newer.origin, calls(call("keep", word="k")), {"text": "Kept."})
            assert (await place.follow(run, newer.origin)).ending == "answered"
            assert [effect.instance for effect in place.effects()] == ["a"]

            # One of which nobody has said anything, and one that was made for later releases only.
            ((said,),) = place.rows("select obj_description('alembic_version'::regclass)")
            for word in ("null", f"'{NEXT} {NEXT}'"):
                place.rows(f"comment on table alembic_version is '{said}'")
                await place.ready(a)
                place.rows(f"comment on table alembic_version is {word}")
                while await place.status(a) != 503:
                    await asyncio.sleep(0.05)
            late = place.add("late")
            assert late.process is not None
            assert await asyncio.to_thread(late.process.wait, BOUND) == 3
            assert late.says("[database_newer]")
