"""Many processes over one PostgreSQL: servers that are asked, workers that drive, nothing lost or done twice between them."""

import asyncio
import itertools
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from tests.door import ZENO, Door, call, calls
from tests.house import House, furnished, served
from tests.http import Server, serving
from tests.scene import BOUND, scene
from tests.with_services import quiet_port
from zeno.core.commands import Cancel
from zeno.runs.clock import now
from zeno.runs.jobs import ProcrastinateDispatcher
from zeno.stores.database import opened as database_opened
from zeno.stores.inbox import put_command
from zeno.stores.jobs import QUEUE, TASK, Jobs

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("own_database", ["postgresql"], indirect=True)]

TOOLS = '''
@tool(effect="EFFECT")
def dawdle(word: str) -> str:
    """Wait for the bell. Use in tests.

    Args:
        word: a word
    """
    open(BELL, "w").write("at it")
    return open(BELL).read() + word

@tool(effect="danger")
async def send_mail(to: str) -> str:
    """Send a mail. Use in tests.

    Args:
        to: the address
    """
    return f"sent to {to}"
'''


@dataclass
class Worker:
    """`zeno worker` as a process."""

    process: subprocess.Popen[str]
    log: Path

    def stop(self) -> int:
        """Tell it to end, and return the code that it ended with."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(BOUND)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(BOUND)


@contextmanager
def working(door: Door, *options: str) -> Iterator[Worker]:
    """A worker for the length of the block."""
    door.home.mkdir(parents=True, exist_ok=True)
    log = door.home / f"worker-{len(list(door.home.glob('worker-*')))}.log"
    with log.open("w") as errors:
        process = subprocess.Popen([ZENO, "worker", *options], cwd=door.here, env=door.environment(), stderr=errors, text=True)
    worker = Worker(process, log)
    try:
        yield worker
    finally:
        if process.poll() is None:
            worker.kill()


@pytest.fixture
def answering(door: Door, own_database: str) -> Iterator[Server]:
    """A server that does not drive."""
    door.env |= {"ZENO_DATABASE_URL": own_database, "ZENO_WORKER": "false", "ZENO_SERVER__RATE_LIMIT": "1000000/minute"}
    with serving(door) as server:
        yield server


@pytest.fixture
def bell(door: Door, tmp_path: Path) -> Path:
    """Where a tool says that it is at work and hears when to go on."""
    os.mkfifo(tmp_path / "bell")
    return tmp_path / "bell"


def ring_with(door: Door, bell: Path, effect: str, kind: str = "def") -> None:
    """Give the house the tool that waits for the bell: in a thread, or as `async def` with the event loop stopped."""
    door.with_tools(f"BELL = {str(bell)!r}\n" + TOOLS.replace("EFFECT", effect).replace("def dawdle", f"{kind} dawdle"))
    door.env["ZENO_MODEL"] = door.script(calls(call("dawdle", word="!")), {"text": "Finished."})


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    """What the database says."""
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


async def until(url: str, query: str) -> None:
    """Return when the database answers with nothing; the bound is the scene's."""
    while await asyncio.to_thread(rows, url, query):
        await asyncio.sleep(0.02)


def test_what_a_server_is_asked_a_worker_drives(door: Door, answering: Server, own_database: str) -> None:
    run = answering.run("what is 6*7?", model="offline")
    client = answering.client()
    assert client.get(f"/runs/{run}/events", params={"format": "json"}).json()["events"] == []
    assert len(rows(own_database, "select 1 from procrastinate_jobs where status = 'todo'")) == 1
    with working(door) as worker:
        assert answering.events(run)[-1]["ending"] == "answered"
        # Driven by somebody who is at hand: the bell rings in another process.
        assert answering.events(answering.run("what is 7*7?", model="offline"))[-1]["ending"] == "answered"
        assert worker.stop() == 0
    assert f'"trace_id": "{run}"' in worker.log.read_text()
    assert "run_settled" not in answering.log.read_text()
    assert rows(own_database, "select 1 from procrastinate_jobs") == []


def said(port: int, path: str) -> int:
    """The status that a worker answers with; 0 where there is nobody."""
    try:
        return httpx2.get(f"http://127.0.0.1:{port}{path}", timeout=BOUND, trust_env=False).status_code
    except httpx2.TransportError:
        return 0


def lives(port: int, status: int) -> None:
    """Return when a worker that is asked whether it lives answers with this status."""
    deadline = time.monotonic() + BOUND
    while said(port, "/livez") != status:
        assert time.monotonic() < deadline, f"it never said {status}"
        time.sleep(0.02)


def test_a_worker_whose_loop_stands_still_says_that_it_does_not_live(door: Door, bell: Path, own_database: str) -> None:
    ring_with(door, bell, "read", kind="async def")
    port = quiet_port()
    door.env |= {"ZENO_DATABASE_URL": own_database, "ZENO_WORKER": "false", "ZENO_WORKER_METRICS_PORT": str(port)}
    with serving(door) as server, working(door):
        lives(port, 200)
        server.run("go")
        assert bell.read_text() == "at it"
        lives(port, 503)
        assert said(port, "/metrics") == 200
        with bell.open("w"):
            # Should another attempt have to be made, nothing stops it.
            bell.unlink()
            bell.write_text("go on")
        lives(port, 200)


def test_a_killed_worker_is_replaced(door: Door, bell: Path, own_database: str) -> None:
    ring_with(door, bell, "read")
    door.env |= {"ZENO_DATABASE_URL": own_database, "ZENO_WORKER": "false"}
    with serving(door) as server, working(door) as first:
        run = server.run("go")
        assert bell.read_text() == "at it"
        with working(door):
            first.kill()
            assert bell.read_text() == "at it"
            bell.write_text("go on")
            events = server.events(run)
    assert events[-1]["ending"] == "answered"
    assert [event["type"] for event in events].count("tool_finished") == 1


def test_a_decision_made_at_a_server_goes_on_at_a_worker(door: Door, own_database: str) -> None:
    door.with_tools("BELL = ''\n" + TOOLS.replace("EFFECT", "read"))
    door.env |= {"ZENO_DATABASE_URL": own_database, "ZENO_WORKER": "false"}
    door.env["ZENO_MODEL"] = door.script(
        calls(call("send_mail", to="ann@example.com")), {"text": "Sent.", "expect": ["sent to"]}
    )
    with serving(door) as server, working(door):
        run = server.run("go")
        server.wait_for(run, "run_paused")
        approval = server.client().get("/approvals").json()["approvals"][0]["id"]
        assert server.client().post(f"/approvals/{approval}/decision", json={"decision": "approve"}).status_code == 200
        assert server.events(run)[-1]["ending"] == "answered"


def test_conversations_at_once_never_interleave(door: Door, answering: Server, own_database: str) -> None:
    with working(door), working(door, "--concurrency", "5"):
        client = answering.client()
        sessions = [client.post("/sessions", json={}).json()["id"] for _ in range(20)]
        for text in ("what is 1+1?", "what is 2*2?", "what is 3*3?"):
            for session in sessions:
                client.post(f"/sessions/{session}/runs", json={"text": text, "model": "offline"})
        for (run,) in rows(own_database, "select id from runs"):
            assert answering.events(run)[-1]["ending"] == "answered"
    spans = rows(
        own_database,
        "select session_id, min(at), max(at), min(epoch), count(*) filter (where type = 'run_started') "
        "from runs join events on run_id = runs.id group by session_id, runs.id, created_at order by session_id, created_at",
    )
    assert len(spans) == 60
    assert {span[3:] for span in spans} == {(1, 1)}
    for earlier, later in itertools.pairwise(spans):
        assert earlier[0] != later[0] or earlier[2] <= later[1]


def test_told_to_end_a_worker_lets_tools_finish_and_hands_the_rest_over(door: Door, bell: Path, own_database: str) -> None:
    ring_with(door, bell, "write")
    door.env |= {"ZENO_DATABASE_URL": own_database, "ZENO_WORKER": "false"}
    with serving(door) as server, working(door) as first:
        run = server.run("go")
        assert bell.read_text() == "at it"
        first.process.send_signal(signal.SIGTERM)
        with working(door):
            bell.write_text("go on")
            assert first.process.wait(BOUND) == 0
            events = server.events(run)
    assert events[-1]["ending"] == "answered"
    assert [event["type"] for event in events].count("tool_started") == 1


@scene
async def test_ten_wake_ups_are_one_job(tmp_path: Path, own_database: str) -> None:
    settings = furnished(tmp_path, [{"text": "Done."}], worker=False)
    async with served(settings) as house:
        session = await house.session()
        for number in range(10):
            await house.say(session, f"message {number}")
    assert rows(own_database, "select lock, status::text from procrastinate_jobs") == [(session, "todo")]


@scene
async def test_a_command_and_its_job_are_written_together_or_not_at_all(tmp_path: Path, own_database: str) -> None:
    async with served(furnished(tmp_path, [{"text": "Done."}], worker=False)) as house:
        run = await house.run()
        before = rows(own_database, "select count(*) from inbox")
        with psycopg.connect(own_database, autocommit=True) as connection:
            connection.execute("delete from procrastinate_jobs")

        def die(connection: Any) -> None:
            put_command(connection, run, Cancel(), now())
            assert connection.exec_driver_sql("select count(*) from procrastinate_jobs").scalar() == 1
            raise InterruptedError

        with pytest.raises(InterruptedError):
            await house.app.inbox.database.write(die)
        assert rows(own_database, "select count(*) from inbox") == before
        assert rows(own_database, "select 1 from procrastinate_jobs") == []


@scene
async def test_a_job_that_comes_twice_or_late_does_nothing(tmp_path: Path, own_database: str) -> None:
    settings = furnished(tmp_path, [{"text": "One."}, {"text": "Two.", "expect": ["One."]}], worker=False)
    async with served(settings) as one, served(settings) as two:
        session = await one.session()
        run = await one.say(session, "first")
        await asyncio.gather(*(dispatcher(house).drive_session(session) for house in (one, two, one, two)))
        assert (await two.settled(run))["ending"] == "answered"
        events = await one.events(run)
        await dispatcher(two).drive_session(session)
        assert await one.events(run) == events
        assert [event["type"] for event in events].count("run_started") == 1
        second = await two.say(session, "second")
        await dispatcher(one).drive_session(session)
        assert (await one.report(second))["ending"] == "answered"


@scene
async def test_a_job_is_not_to_be_had_before_the_command_that_it_is_for(tmp_path: Path, own_database: str) -> None:
    fetch = "select id from procrastinate_fetch_job_v2(array['zeno'], null)"
    async with served(furnished(tmp_path, [{"text": "Done."}], worker=False)) as house:
        run = await house.run()

        def overtaken(connection: Any) -> list[tuple[Any, ...]]:
            put_command(connection, run, Cancel(), now())
            return rows(own_database, fetch)

        # A worker that took the job now would not see the command, and nobody would look again.
        assert await house.app.inbox.database.write(overtaken) == [(None,)]
        assert rows(own_database, fetch) != [(None,)]


@scene
async def test_a_job_that_waited_for_another_is_rung_for(tmp_path: Path, own_database: str) -> None:
    async with served(furnished(tmp_path, [{"text": "Done."}], worker=False)) as house:
        run = await house.run()
        with psycopg.connect(own_database, autocommit=True) as connection:
            connection.execute("update procrastinate_jobs set status = 'doing'")
            await house.command(run, type="say", text="more")
            connection.execute('listen "procrastinate_queue_v1#zeno"')
            connection.execute("delete from procrastinate_jobs where status = 'doing'")
            assert [notice.channel for notice in connection.notifies(timeout=BOUND, stop_after=1)]


@scene
async def test_a_run_whose_job_is_lost_is_found(tmp_path: Path, own_database: str) -> None:
    script = [{"text": "Done."}]
    async with served(furnished(tmp_path, script, worker=False)) as house:
        run = await house.run()
        with psycopg.connect(own_database, autocommit=True) as connection:
            connection.execute("delete from procrastinate_jobs")
    async with served(furnished(tmp_path, script)) as house:
        await house.settled(run, "answered")


@scene
async def test_a_job_that_nobody_works_at_any_more_is_given_to_others(tmp_path: Path, own_database: str) -> None:
    script = [{"text": "Done."}]
    async with served(furnished(tmp_path, script, worker=False)) as house:
        run = await house.run()
        with psycopg.connect(own_database, autocommit=True) as connection:
            dead = "insert into procrastinate_workers (last_heartbeat) values (now() - interval '1 minute') returning id"
            connection.execute(
                f"with dead as ({dead}) update procrastinate_jobs set status = 'doing', worker_id = dead.id from dead"
            )
    async with served(furnished(tmp_path, script)) as house:
        await house.settled(run, "answered")
        await until(own_database, "select 1 from procrastinate_jobs")


@scene
async def test_a_job_whose_end_was_lost_by_a_worker_that_lives_holds_nobody_up(tmp_path: Path, own_database: str) -> None:
    async with served(furnished(tmp_path, [{"text": "ok"}, {"text": "ok"}])) as house:
        session = await house.session()
        await house.settled(await house.say(session))
        # The run is over a moment before its job is.
        await until(own_database, "select 1 from procrastinate_jobs")
        with psycopg.connect(own_database, autocommit=True) as connection:
            living = "select max(id) as id from procrastinate_workers"
            connection.execute(
                "insert into procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args, status, worker_id) select"
                " %s, %s, %s, %s, jsonb_build_object('session_id', %s::text), 'doing', living.id"
                f" from ({living}) as living",
                (QUEUE, TASK, session, session, session),
            )
        assert (await house.settled(await house.say(session, "more")))["ending"] == "answered"


@scene
async def test_nothing_stays_behind(tmp_path: Path, own_database: str) -> None:
    settings = furnished(tmp_path, [{"text": "Done."}])
    for _ in range(3):
        async with served(settings) as house:
            await house.settled(await house.run(), "answered")
    await until(
        own_database, "select 1 from pg_stat_activity where application_name like 'zeno%' and datname = current_database()"
    )
    assert rows(own_database, "select 1 from procrastinate_workers") == []
    assert rows(own_database, "select 1 from procrastinate_jobs") == []


@scene
async def test_a_worker_that_the_database_cuts_off_begins_anew(tmp_path: Path, own_database: str) -> None:
    async with served(furnished(tmp_path, [{"text": "Done."}])) as house:
        await house.settled(await house.run(), "answered")
        rows(
            own_database,
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'zeno%'"
            " and datname = current_database()",
        )
        await house.settled(await house.run(), "answered")


@scene
async def test_processes_that_begin_at_once_make_the_schema_once(own_database: str) -> None:
    async with AsyncExitStack() as closing:
        databases = [await closing.enter_async_context(database_opened(own_database)) for _ in range(4)]
        await asyncio.gather(*(Jobs(database=database).install() for database in databases))
        await Jobs(database=databases[0]).install()
    assert len(rows(own_database, "select 1 from pg_trigger where tgname = 'zeno_ring_for_free_job'")) == 1


def test_without_postgresql_there_is_nothing_to_work_at(door: Door) -> None:
    refused = door.shell("worker")
    assert (refused.code, refused.out) == (3, "")
    assert "[worker_needs_postgresql]" in refused.err


def dispatcher(house: House) -> ProcrastinateDispatcher:
    """What hands out the work."""
    assert isinstance(house.app.dispatcher, ProcrastinateDispatcher)
    return house.app.dispatcher
