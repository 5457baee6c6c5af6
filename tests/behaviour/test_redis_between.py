"""What instances share through Redis beside the live feed: bells and counts. Without Redis each goes on alone."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp
from structlog.testing import capture_logs

from tests.house import furnished
from tests.redis_server import RedisServer, redis_server
from tests.scene import scene
from zeno.app import App, opened
from zeno.core.scope import LOCAL
from zeno.runs.bells import Bells, LocalBells
from zeno.runs.clock import now
from zeno.runs.owner import this_process
from zeno.runs.pulse import Beat, Pulse
from zeno.runs.redis_bells import CHANNEL, redis_bells
from zeno.server.limits import wrapped
from zeno.server.shared_counts import shared_counts
from zeno.settings import ServerSettings


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """A server that may be killed."""
    with redis_server() as server:
        yield server


@asynccontextmanager
async def driven(app: App) -> AsyncIterator[Beat]:
    """A run that is driven by this house, as far as bells can know; nothing lies in its inbox, so only they can ring."""
    run = await app.start(LOCAL, await app.agent(None, language="en-US"), "go")
    lease = await app.driver.leases.take(run.id, this_process(), now=now(), duration=10_000)
    with app.driver.pulse.keeping(lease) as beat:
        yield beat


async def heard(server: RedisServer, by: int) -> None:
    """Return when so many hear the bells."""
    with server.client() as admin:
        while admin.pubsub_numsub(CHANNEL)[0][1] < by:
            await asyncio.sleep(0)


@scene
async def test_a_bell_is_heard_where_the_run_is_driven(tmp_path: Path, server: RedisServer) -> None:
    async with opened(furnished(tmp_path, [{"text": "Hello."}])) as app:
        elsewhere = Pulse(leases=app.driver.leases, inbox=app.inbox)
        async with redis_bells(server.url, elsewhere) as a, redis_bells(server.url, app.driver.pulse) as b:
            await heard(server, by=2)
            async with driven(app) as beat:
                for bells in (a, b):
                    beat.bell.clear()
                    await bells.ring(beat.lease.run_id)
                    await beat.bell.wait()


@scene
async def test_bells_ring_again_when_redis_is_back_and_at_home_meanwhile(tmp_path: Path, server: RedisServer) -> None:
    async with opened(furnished(tmp_path, [{"text": "Hello."}])) as app:
        elsewhere = Pulse(leases=app.driver.leases, inbox=app.inbox)
        async with redis_bells(server.url, elsewhere) as a, redis_bells(server.url, app.driver.pulse) as b:
            await heard(server, by=2)
            async with driven(app) as beat:
                server.kill()
                await a.ring(beat.lease.run_id)
                await b.ring(beat.lease.run_id)
                assert beat.bell.is_set()
                beat.bell.clear()
                server.start()
                await heard(server, by=2)
                while not beat.bell.is_set():
                    await a.ring(beat.lease.run_id)
                    await asyncio.sleep(0)


@scene
async def test_a_session_is_rung_for_once_at_everyone_who_answers(tmp_path: Path, server: RedisServer) -> None:
    async with opened(furnished(tmp_path, [{"text": "Hello."}])) as app:
        pulse = app.driver.pulse
        async with redis_bells(server.url, pulse) as a, redis_bells(server.url, pulse) as b:
            await heard(server, by=2)
            here: list[str] = []
            there: list[str] = []
            last = asyncio.Event()

            def answer(session_id: str) -> None:
                there.append(session_id)
                if session_id == "last":
                    last.set()

            with a.answering(here.append), b.answering(answer):
                for session_id in ("first", "second", "last"):
                    await a.ring_session(session_id)
                await last.wait()
                await b.ring_session("back")
                while "back" not in here:
                    await asyncio.sleep(0)
            await a.ring_session("nobody answers")
            assert here == ["first", "second", "last", "back"]
            assert there == ["first", "second", "last", "back"]


@scene
async def test_bells_of_one_process_ring_for_its_own_runs_and_sessions(tmp_path: Path) -> None:
    async with opened(furnished(tmp_path, [{"text": "Hello."}])) as app, driven(app) as beat:
        own = LocalBells(pulse=app.driver.pulse)
        bells: Bells = own
        await bells.ring(beat.lease.run_id)
        assert beat.bell.is_set()
        answered: list[str] = []
        with own.answering(answered.append):
            await bells.ring_session("s")
        await bells.ring_session("t")
        assert answered == ["s"]


def asker(asgi: ASGIApp) -> httpx2.AsyncClient:
    """Somebody who asks an instance."""
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=asgi), base_url="http://127.0.0.1:8321", timeout=30)


@scene
async def test_requests_count_for_all_instances_together_and_for_each_while_redis_is_away(server: RedisServer) -> None:
    settings = ServerSettings(rate_limit="4/hour")
    with capture_logs() as logs:
        async with shared_counts(server.url) as one, shared_counts(server.url) as other:
            instances = [wrapped(PlainTextResponse("here"), settings, counts) for counts in (one, other)]
            async with asker(instances[0]) as first, asker(instances[1]) as second:
                statuses = [(await client.get("/api/v1/me")).status_code for client in (first, second, first, second, first)]
                assert statuses == [200, 200, 200, 200, 429]
                refused = await second.get("/api/v1/me")
                assert refused.status_code == 429
                # Redis tells what is left in whole seconds.
                assert 1 <= int(refused.headers["retry-after"]) <= 3601
                server.kill()
                assert [(await first.get("/api/v1/me")).status_code for _ in range(5)] == [200, 200, 200, 200, 429]
                assert (await second.get("/api/v1/me")).status_code == 200
    assert [line["event"] for line in logs] == ["redis_away", "redis_away"]


@scene
async def test_a_redis_that_does_not_answer_keeps_a_request_waiting_once(server: RedisServer) -> None:
    async with shared_counts(server.url) as counts:
        assert await counts.incr("somebody", 60) == 1
        with server.stopped():
            assert [await counts.incr("somebody", 60) for _ in range(100)] == list(range(1, 101))
