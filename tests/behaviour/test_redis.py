"""Several instances over one Redis: who follows a run elsewhere hears of it at once, and what Redis loses is not lost."""

import asyncio
import gc
import random
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import structlog
from structlog.testing import capture_logs

from tests.contracts.test_live_feed import asked, ended, fields, replied
from tests.live_story import RUN, Client, DeltaEar, Story, instances
from tests.redis_server import RedisServer, redis_server
from tests.scene import scene
from zeno.core.errors import ConfigError
from zeno.core.ports import TextDelta
from zeno.runs.frames import delta_frame, record_frame
from zeno.runs.redis_feed import ELSEWHERE, redis_feed
from zeno.runs.redis_link import Link
from zeno.runs.redis_outbox import key, packed


@pytest.fixture(scope="module")
def shared_server() -> Iterator[RedisServer]:
    """A server for tests that leave it as it is; each has runs of its own."""
    with redis_server() as server:
        yield server


@pytest.fixture
def server(shared_server: RedisServer) -> RedisServer:
    """An empty server."""
    with shared_server.client() as client:
        client.flushall()
    return shared_server


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    """A server that may be killed."""
    with redis_server() as server:
        yield server


@scene
async def test_a_follower_elsewhere_hears_every_record_and_every_delta_in_the_same_bytes(server: RedisServer) -> None:
    async with instances(server.url) as (a, b, _):
        story = Story()
        story.drive(a)
        here, there = Client(story, a), Client(story, b)
        for client in (here, there):
            await client.until((1, 0))
        for _ in range(20):
            story.delta("word ")
        for client in (here, there):
            await client.until((1, 20))
        reads = story.log.reads
        story.record(lambda seq: replied(seq, "done"))
        story.record(ended)
        story.stop()
        await asyncio.gather(here.end(), there.end())
        assert story.log.reads == reads, "the log was asked for what was told"
        assert there.data == here.data
        assert there.got == [(1, 0), *((1, n) for n in range(1, 21)), (2, 0), (3, 0)]


@scene
async def test_who_comes_in_the_middle_of_a_step_gets_it_from_its_beginning(server: RedisServer) -> None:
    async with instances(server.url) as (a, b, c):
        story = Story()
        story.drive(a)
        for _ in range(50):
            story.delta("a word ")
        first = Client(story, b)
        await first.until((1, 50))
        story.delta()
        # Where the run is heard already, where it is not, and one who was here before.
        for client in (Client(story, b), Client(story, c, after=(1, 30)), Client(story, c), first):
            await client.until((1, 51))
            assert client.got[-21:] == [(1, n) for n in range(31, 52)]
        await first.leave()


@scene
async def test_a_client_that_comes_back_anywhere_gets_what_it_does_not_have(server: RedisServer) -> None:
    async with instances(server.url) as (a, b, _):
        story = Story()
        story.drive(a)
        story.record(lambda seq: replied(seq, "one"))
        story.step()
        for _ in range(8):
            story.delta()
        places = [(0, 0), (1, 0), (2, 0), *((3, n) for n in range(9))]
        clients = [Client(story, b, after=place) for place in places]
        # One after the other, too: the run is heard anew for each.
        for place in places:
            alone = Client(story, b, after=place)
            if place != (3, 8):
                await alone.until((3, 8))
                assert alone.got == places[places.index(place) + 1 :]
            await alone.leave()
        for client in clients:
            if client.after != (3, 8):
                await client.until((3, 8))
        story.delta()
        story.record(lambda seq: replied(seq, "two"))
        story.record(ended)
        story.stop()
        for client in clients:
            await client.end()
            assert client.got == [place for place in [*places, (3, 9), (4, 0), (5, 0)] if place > client.after]


@scene
async def test_a_run_that_moves_between_instances_is_followed_at_both(server: RedisServer) -> None:
    async with instances(server.url) as (a, b, _):
        story = Story()
        story.drive(a)
        clients = [Client(story, feed) for feed in (a, b, a, b)]
        for feed in (b, a, b, b, a):
            for _ in range(3):
                story.delta()
            for client in clients:
                await client.until(story.place)
            story.drive(feed)
        story.record(ended)
        story.stop()
        for client in clients:
            await client.end()


@scene
async def test_a_flushed_redis_costs_nobody_anything(server: RedisServer) -> None:
    async with instances(server.url) as (a, b, c):
        story = Story()
        story.drive(a)
        client = Client(story, b)
        for _ in range(5):
            story.delta()
        await client.until((1, 5))
        with server.client() as admin:
            admin.flushall()
        story.delta()
        await client.until((1, 6))
        # Where a run stands is told anew when it is found to be gone, so who comes later has it all.
        late = Client(story, c)
        await late.until((1, 6))
        lonely = Client(story, b, after=(1, 2))
        await lonely.until((1, 6))
        story.record(ended)
        story.stop()
        for each in (client, late, lonely):
            await each.end()
        assert client.got == late.got == [(1, n) for n in range(7)] + [(2, 0)]


@scene
async def test_a_redis_that_is_killed_and_comes_back_costs_time_only(own_server: RedisServer) -> None:
    structlog.reset_defaults()
    with capture_logs() as logs:
        async with instances(own_server.url) as (a, b, _):
            story = Story()
            story.drive(a)
            here, there = Client(story, a), Client(story, b)
            story.delta()
            await there.until((1, 1))
            own_server.kill()
            story.delta()
            await here.until((1, 2))
            story.step()
            story.delta("said while nobody heard")
            await here.until((2, 1))
            # The log is looked at once a second, whatever is the matter with Redis.
            await there.until((2, 0))
            assert (2, 1) not in there.got
            own_server.start()
            await there.until((2, 1))
            story.delta()
            await there.until((2, 2))
            story.record(ended)
            story.stop()
            await asyncio.gather(here.end(), there.end())
            assert b"said while nobody heard" in there.data
    assert sorted(line["event"] for line in logs) == [*["redis_away"] * 3, *["redis_back"] * 3]


@scene
async def test_what_was_told_while_an_instance_was_cut_off_is_there_when_it_is_back(server: RedisServer) -> None:
    async with instances(server.url) as (a, b, _):
        story = Story()
        story.drive(a)
        client = Client(story, b)
        story.delta()
        await client.until((1, 1))
        with server.client() as admin:
            admin.client_kill_filter(_type="pubsub")
        story.delta("the last word for now")
        await client.until((1, 2))
        await client.leave()


@pytest.mark.slow
@scene
async def test_lost_messages_and_lost_connections_send_followers_to_the_log(server: RedisServer) -> None:
    async with instances(server.url) as (a, b, _):
        chance = random.Random(7)
        story = Story()
        story.drive(a)
        clients = [Client(story, feed) for feed in (a, b)]
        with server.client() as admin:
            for _ in range(300):
                match chance.choice(("step", "delta", "delta", "delta", "move", "come", "flush", "cut", "pause", "lie")):
                    case "step":
                        story.step()
                    case "delta":
                        story.delta("x" * chance.choice((1, 1000, 100_000)))
                    case "move":
                        story.drive(chance.choice((a, b)))
                    case "come" if len(clients) < 20:
                        after = chance.choice([(0, 0), *clients[0].got])
                        # What a delta of a step that is over stands for is in the log, so its place counts as its record's.
                        clients.append(
                            Client(story, chance.choice((a, b)), after if after[0] == story.place[0] else (after[0], 0))
                        )
                    case "flush":
                        admin.flushall()
                    case "cut":
                        admin.client_kill_filter(_type=chance.choice(("pubsub", "normal")), skipme=True)
                    case "lie":
                        # As a message that comes late, twice, or after others that were lost.
                        seq, delta = story.place
                        seq = max(1, seq - chance.randrange(2))
                        known = record_frame(RUN, story.log.records[seq - 1])
                        stray = delta_frame(seq, delta + chance.randrange(3, 9), 1, TextDelta("never said"))
                        admin.publish(key(RUN), packed([known, stray]))
                    case _:
                        await chance.choice(clients).until((story.place[0], 0))
        for client in clients:
            await client.until((len(story.log.records), 0))
        story.record(ended)
        story.stop()
        for client in clients:
            await client.end()
            assert b"never said" not in client.data


@scene
async def test_two_hundred_runs_are_heard_over_one_connection(server: RedisServer) -> None:
    runs = [f"{number:032x}" for number in range(100, 300)]
    async with instances(server.url) as (a, b, _):
        with ExitStack() as all_of_it:
            ears = [DeltaEar(10) for _ in runs]
            for run_id, ear in zip(runs, ears, strict=True):
                all_of_it.enter_context(a.driving(run_id))
                a.publish(run_id, asked(1))
                all_of_it.enter_context(b.listen(run_id, ear))
            for number in range(10):
                for run_id in runs:
                    a.publish(run_id, TextDelta(f"{run_id} {number}"))
                await asyncio.sleep(0)
            for run_id, ear in zip(runs, ears, strict=True):
                await ear.full.wait()
                assert [frame.delta for frame in ear.deltas] == list(range(1, 11))
                assert all(run_id in fields(frame.data)["data"] for frame in ear.deltas)
            with server.client() as admin:
                subscribed = admin.client_list(_type="pubsub")
                others = admin.client_list(_type="normal")
        assert len(subscribed) == 1, "the runs driven here are not heard of over Redis"
        assert len(others) - 1 <= 5


@pytest.mark.slow
@scene
async def test_who_waits_for_company_learns_of_it_elsewhere_and_never_of_itself(server: RedisServer) -> None:
    async with instances(server.url) as (a, b, _):
        story = Story()
        story.drive(b)
        client = Client(story, a)
        await client.until((1, 0))
        await client.leave()
        alone = asyncio.create_task(a.company(RUN))
        done, _ = await asyncio.wait({alone}, timeout=2 * ELSEWHERE)
        assert not done
        back = Client(story, b)
        await alone
        await back.leave()
        # One who comes here is noticed at once, and also without Redis.
        here = asyncio.create_task(a.company(RUN))
        again = Client(story, a)
        await here
        await again.leave()


@scene
async def test_a_redis_that_takes_nothing_holds_nobody_up_and_costs_little(own_server: RedisServer) -> None:
    async with instances(own_server.url) as (a, b, _):
        story = Story()
        story.drive(a)
        here, there = Client(story, a), Client(story, b)
        await there.until((1, 0))
        with own_server.stopped():
            gc.collect()
            tracemalloc.start()
            text = "x" * 30_000
            for number in range(2000):
                story.step()
                story.delta(text)
                if number % 100 == 0:
                    await here.until(story.place)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < 32 * 2**20
        story.step()
        story.delta()
        await asyncio.gather(here.until(story.place), there.until(story.place))
        await here.leave()
        await there.leave()


@scene
async def test_a_redis_that_was_never_there_is_mentioned_once_and_without_its_password() -> None:
    with redis_server("the-secret") as server:
        server.kill()
        structlog.reset_defaults()
        with capture_logs() as logs:
            async with redis_feed(server.url) as a, redis_feed(server.url) as b:
                story = Story()
                story.drive(a)
                here, there = Client(story, a), Client(story, b)
                story.delta()
                await here.until((1, 1))
                story.record(ended)
                story.stop()
                await asyncio.gather(here.end(), there.end())
                while len(logs) < 2:
                    # The story may be over before both have tried to connect.
                    await asyncio.sleep(0.01)
        assert [line["event"] for line in logs] == ["redis_away", "redis_away"]
        server.start()
        with capture_logs() as more:
            async with redis_feed(server.url.replace("the-secret", "the-guess")) as feed, redis_feed(server.url) as right:
                story = Story()
                story.drive(feed)
                client = Client(story, right)
                story.record(ended)
                story.stop()
                await client.end()
                while not more:
                    await asyncio.sleep(0.01)
        assert [line["event"] for line in more] == ["redis_away"]
        assert "the-" not in repr(logs) + repr(more)


@pytest.mark.parametrize("url", ["", "http://127.0.0.1", "redis://127.0.0.1:port", "127.0.0.1:6379"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigError, match="redis_url_invalid"):
        Link(url)
