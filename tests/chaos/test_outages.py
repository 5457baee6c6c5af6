"""What everything stands on goes away for a while, or for good: runs end rightly all the same, and nothing happens twice."""

import asyncio
import json
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle

import pytest

from tests.chaos.house_of_three import TOKEN, House, Story, house, own_postgres, trial, until
from tests.chaos.netns import NETWORK, namespace
from tests.door import Door, call, calls
from tests.redis_server import redis_server
from tests.scene import BOUND
from tests.stubs.chat_server import chat_server, delta, usage

pytestmark = pytest.mark.slow


async def fell_silent(place: House) -> None:
    """Return when every server says that it cannot work."""
    for instance in place.instances.values():
        while await place.status(instance) != 503:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGKILL], ids=["told to", "killed"])
@trial
async def test_runs_outlive_a_restart_of_postgresql(door: Door, way: signal.Signals) -> None:
    with own_postgres() as postgres:
        async with house(door, postgres) as place:
            a, b, c = place.add("a"), place.add("b"), place.add("c", "--no-worker")
            await place.ready()
            done = {"text": "All done."}
            reading = [
                await place.run(each.origin, calls(call("look", word=f"held-{n}")), calls(call("keep", word=f"k{n}")), done)
                for n, each in enumerate((a, b, c))
            ]
            writing = await place.run(a.origin, calls(call("keep", word="held-w")), calls(call("keep", word="after")), done)
            waiting = await place.run(b.origin, calls(call("charge", word="card")), done)
            following = [asyncio.create_task(place.follow(run, c.origin)) for run in (*reading, writing, waiting)]
            await until(lambda: all(place.happened("look", f"held-{n}") for n in range(3)) and place.happened("keep", "held-w"))
            await until(lambda: place.rows("select 1 from approvals where status = 'pending'"))

            await asyncio.to_thread(postgres.stop, way)
            await fell_silent(place)
            assert (await place.client.post(f"{a.origin}/api/v1/runs", json={"text": "go"})).status_code == 503
            following.append(asyncio.create_task(place.follow(reading[0], a.origin)))
            await until(lambda: any(url.endswith("/events") for _, url in place.failed))
            # What tools at work have done is known now, and can be written nowhere.
            for word in ("held-0", "held-1", "held-2", "held-w"):
                place.let_go(word)
            await asyncio.to_thread(postgres.start)
            await place.ready()

            await place.decide(c.origin, waiting)
            stories = await asyncio.gather(*following)
    assert [story.ending for story in stories] == ["answered"] * 6
    assert stories[5].records == stories[0].records
    assert {outcome for story in stories[:3] for outcome in story.outcomes.values()} == {"done"}
    assert stories[4].outcomes == {"call_1_1": "done"}
    # Whether it was done when the database went away, nobody could write down.
    assert stories[3].outcomes["call_1_1"] in ("done", "unknown")
    assert stories[3].outcomes["call_2_1"] == "done"
    assert [place.happened("keep", word) for word in ("k0", "k1", "k2", "held-w", "after")] == [1] * 5
    assert place.happened("charge", "card") == 1
    assert all(story.words == "All done." for story in stories)


class Pieces(list[bytes]):
    """A model's reply, given out to the first mark, to the second when `gates[0]` is opened, to its end when `gates[1]` is."""

    def __init__(self, words: list[str], gates: list[threading.Event]) -> None:
        chunks = [{"role": "assistant"}, *({"content": word} for word in words)]
        ends = [delta(finish_reason="stop"), usage(1, len(words))]
        super().__init__(b"data: " + json.dumps(each).encode() + b"\n\n" for each in [*(delta(**c) for c in chunks), *ends])
        self.append(b"data: [DONE]\n\n")
        self._gates = dict(zip((len(words) // 3, 2 * len(words) // 3), gates, strict=True))

    def __iter__(self) -> Iterator[bytes]:
        for number in range(len(self)):
            if gate := self._gates.get(number):
                gate.wait(BOUND)
            yield self[number]


@trial
async def test_runs_and_their_followers_outlive_a_redis_that_forgets_and_dies(door: Door) -> None:
    words, gates = [f"word {number} " for number in range(60)], [threading.Event(), threading.Event()]
    with own_postgres() as postgres, redis_server() as redis, chat_server() as model:
        model.answers += [(200, Pieces(words, gates)) for _ in range(4)]
        door.env |= {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "a-key-of-this-test"}
        async with house(door, postgres, redis) as place:
            a, _, c = place.add("a"), place.add("b"), place.add("c", "--no-worker")
            await place.ready()
            runs = [await place.run(c.origin, model="openai:tiny-chat") for _ in range(4)]
            early = [Story() for _ in runs]
            following = [
                asyncio.create_task(place.follow(run, c.origin, story=story)) for run, story in zip(runs, early, strict=True)
            ]
            await until(lambda: all(story.count("text_delta") >= 15 for story in early))

            with redis.client() as admin:
                admin.flushall()
            following += [
                asyncio.create_task(place.follow(run, origin)) for run, origin in zip(runs, cycle((c.origin, a.origin)))
            ]
            gates[0].set()
            await until(lambda: all(story.count("text_delta") >= 35 for story in early))

            redis.kill()
            gates[1].set()
            stories = await asyncio.gather(*following)
            last = await place.run(c.origin, calls(call("keep", word="k")), {"text": "Without it."})
            without = await place.follow(last, c.origin)
            assert place.happened("keep", "k") == 1
    assert [(story.ending, story.words) for story in stories] == [("answered", "".join(words))] * 8
    assert (without.ending, without.words) == ("answered", "Without it.")


@trial
async def test_an_instance_cut_off_from_the_database_stops_before_others_take_over(door: Door) -> None:
    with namespace() as alone, ExitStack() as closing:
        store, front = alone.wire(), alone.wire()
        postgres = closing.enter_context(own_postgres(("127.0.0.1", store.near), NETWORK))
        redis = closing.enter_context(redis_server(TOKEN, ("127.0.0.1", front.near)))
        async with house(door, postgres, redis) as place:
            there = {"ZENO_DATABASE_URL": postgres.url(address=store.near), "ZENO_REDIS_URL": redis.url_at(front.near)}
            a = place.add("a", prefix=alone.prefix, host=front.far, **there)
            await place.ready()
            run = await place.run(
                a.origin, calls(call("drip", word="held")), calls(call("keep", word="after")), {"text": "All done."}
            )
            b = place.add("b")
            await place.ready()
            following = asyncio.create_task(place.follow(run, b.origin))
            await until(lambda: place.happened("drip", "held.0"))

            def lease() -> int:
                return int(place.rows("select lease_until from runs where id = %s", run)[0][0])

            # So that it has connections at hand that nobody has told it are dead.
            assert await asyncio.gather(*(place.status(a, "/api/v1/runs") for _ in range(4))) == [200] * 4
            # The moment from which it may believe for longest that the run is its own.
            held = lease()
            await until(lambda: lease() != held)
            store.cut()
            held = lease()
            unlucky = [asyncio.create_task(place.client.get(f"{a.origin}/api/v1/runs")) for _ in range(4)]
            said = await place.client.post(f"{b.origin}/api/v1/runs/{run}/commands", json={"type": "say", "text": "hurry"})
            assert said.status_code == 202, said.text
            while await place.status(a) != 503:
                await asyncio.sleep(0.05)
            # Not for as long as its system would wait for an answer.
            assert [(await each).status_code for each in unlucky] == [503] * 4
            story = await following

            store.mend()
            await place.ready(a)
            assert await b.end() == 0
            again = await place.run(a.origin, calls(call("keep", word="again")), {"text": "Back."})
            assert (await place.follow(again, a.origin)).ending == "answered"
    assert (story.ending, story.outcomes) == ("answered", {"call_1_1": "unknown", "call_2_1": "done"})
    drops, kept = ([effect for effect in place.effects() if effect.tool == tool] for tool in ("drip", "keep"))
    assert {effect.instance for effect in drops} == {"a"}
    assert [effect.word for effect in drops] == [f"held.{number}" for number in range(len(drops))]
    assert drops[-1].at < held
    assert [(effect.word, effect.instance) for effect in kept] == [("after", "b"), ("again", "a")]
