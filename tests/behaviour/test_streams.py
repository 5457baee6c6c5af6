"""Live streams: followed from anywhere, taken up again at any place, slow, many, silent, left; the run never minds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event

from tests.door import Door, call, calls
from tests.http import HOLD
from tests.live import Frame, Live, gated, live, stream
from tests.scene import scene

pytestmark = pytest.mark.instances

NOTHING = Frame("", "", {}, b"")


def ids(frames: list[Frame]) -> list[str]:
    return [frame.id for frame in frames]


def records(frames: list[Frame]) -> list[int]:
    return [frame.seq for frame in frames if "." not in frame.id]


def said(frames: list[Frame]) -> str:
    return "".join(frame.data["text"] for frame in frames if frame.kind == "text_delta")


@scene
async def test_a_stream_says_what_it_is_and_keeps_proxies_from_holding_it_back(door: Door) -> None:
    async with live(door) as house, house.follow(await house.run("what is 6*7?")) as followed:
        assert followed.status == 200
        assert followed.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert set(followed.headers["cache-control"].split(", ")) == {"no-store", "no-transform"}
        assert followed.headers["x-accel-buffering"] == "no"
        first = await followed.any()
        assert first is not None
        assert first.raw == b"retry: 1000"
        frames = await followed.rest()
        assert followed.ended
    assert records(frames) == list(range(1, len(records(frames)) + 1))
    assert (frames[0].kind, frames[-1].kind) == ("run_started", "run_ended")
    assert all(frame.data["type"] == frame.kind for frame in frames)
    assert all(frame.data["at"] > 0 for frame in frames if "." not in frame.id)


@scene
async def test_a_run_can_be_taken_up_behind_every_one_of_its_events(door: Door) -> None:
    script = door.script(calls(call("calculate", expression="6*7")), {"text": "It is 42."})
    async with live(door, model=script) as house:
        run = await house.run()
        whole = await house.all(run)
        assert len(whole) > 8
        for cut, frame in enumerate(whole[:-1], 1):
            rest = await house.all(run, frame.id)
            # The deltas of a step that is over are in its reply.
            assert rest == [frame for frame in whole[cut:] if "." not in frame.id]
        async with house.follow(run, whole[-1].id) as nothing:
            assert nothing.status == 204


@scene
async def test_the_cursor_may_stand_in_the_address(door: Door) -> None:
    async with live(door) as house:
        run = await house.run("what is 6*7?")
        whole = [frame for frame in await house.all(run) if "." not in frame.id]
        async with stream(("127.0.0.1", house.port), house.token, f"/api/v1/runs/{run}/events?after=3") as followed:
            assert await followed.rest() == whole[3:]


@scene
async def test_who_comes_in_the_middle_of_a_step_gets_what_was_said_so_far_and_then_the_rest(door: Door) -> None:
    async with live(door) as house:
        model = gated(house)
        run = await house.run(model="gated")
        async with house.follow(run) as first:
            model.say("one ", "two ", "three ")
            head = await first.until("step_started")
            so_far = [await first.next() or NOTHING for _ in range(3)]
            step = head[-1].id
            assert ids(so_far) == [f"{step}.1", f"{step}.2", f"{step}.3"]
            for cut in range(4):
                last = f"{step}.{cut}" if cut else step
                async with house.follow(run, last) as again:
                    assert [await again.next() or NOTHING for _ in range(3 - cut)] == so_far[cut:]
            async with house.follow(run) as late, house.follow(run, f"{step}.2") as cut_off:
                model.say("four")
                model.stop()
                whole = [*head, *so_far, *await first.rest()]
                assert await late.rest() == whole
                assert await cut_off.rest() == whole[len(head) + 2 :]
        assert said(whole) == "one two three four"
        assert whole[-1].kind == "run_ended"


@scene
async def test_many_follow_one_run_and_all_see_the_same(door: Door) -> None:
    async with live(door) as house:
        model = gated(house)
        run = await house.run(model="gated")
        async with house.follow(run) as one, house.follow(run) as other, house.follow(run) as left:
            await left.until("step_started")
            left.leave()
            model.say(*(f"word{number} " for number in range(200)))
            model.stop()
            whole, same = await asyncio.gather(one.rest(), other.rest())
        assert whole == same
        assert len(said(whole).split()) == 200


@scene
async def test_a_client_that_does_not_read_holds_nothing_up_and_gets_everything_in_the_end(door: Door) -> None:
    async with live(door) as house:
        model = gated(house)
        run = await house.run(model="gated")
        async with house.follow(run, limit=1024) as slow:
            await slow.until("step_started")
            # Far more than the sockets hold.
            model.say(*("x" * 30_000 for _ in range(1000)))
            model.stop()
            whole = await house.all(run)
            assert whole[-1].kind == "run_ended"
            late = await slow.rest()
            assert slow.ended
        deltas = [int(frame.id.partition(".")[2]) for frame in late if "." in frame.id]
        assert deltas == list(range(1, len(deltas) + 1))
        assert len(deltas) < 1000
        assert records(late) == [seq for seq in records(whole) if seq > 3]


@scene
async def test_an_event_too_large_for_a_stream_is_sent_as_a_reference_to_it(door: Door) -> None:
    async with live(door, model=door.script({"text": "ok"})) as house:
        text = "x" * 90_000
        run = await house.run(text)
        (large,) = [frame for frame in await house.all(run) if frame.kind == "user_said"]
        assert large.data.keys() == {"seq", "at", "type", "reference", "size"}
        async with house.own as client:
            whole = await client.get(large.data["reference"])
        assert len(whole.content) == large.data["size"]
        assert whole.json()["parts"] == [{"type": "text", "text": text}]


@pytest.mark.parametrize("cursor", ["abc", "1.", "-1", "1.2.3", "999", "999.1"])
@scene
async def test_a_cursor_that_is_none_of_this_run_is_refused(door: Door, cursor: str) -> None:
    door.with_tools(HOLD)
    async with live(door, model=door.script(calls(call("send_mail", to="a", text="b")))) as house:
        run = await house.run()
        async with house.follow(run) as followed:
            await followed.until("run_paused")
        async with house.follow(run, cursor) as refused:
            assert refused.status == 422
            assert b"cursor_invalid" in await refused.reader.readuntil(b"}")


@scene
async def test_silence_is_broken_while_a_run_waits_for_a_person_or_for_its_turn(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zeno.server.sse.HEARTBEAT", 0.05)
    door.with_tools(HOLD)
    async with live(door, model=door.script(calls(call("send_mail", to="a", text="b")), {"text": "ok"})) as house:
        async with house.client() as client:
            session = (await client.post("/sessions", json={})).json()["id"]
            first, second = [
                (await client.post(f"/sessions/{session}/runs", json={"text": "go"})).json()["run_id"] for _ in range(2)
            ]
        async with house.follow(first) as paused, house.follow(second) as queued:
            await paused.until("run_paused")
            for silent in (paused, queued):
                for _ in range(3):
                    frame = await silent.any()
                    assert frame is not None
                    assert frame.raw in (b": ping", b"retry: 1000")
            await house.cancel(first)
            assert (await paused.rest())[-1].kind == "run_ended"


@contextmanager
def statements() -> Any:
    """The statements that any database is given."""
    seen: list[str] = []

    def note(*arguments: Any) -> None:
        seen.append(arguments[2])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@pytest.mark.slow
@scene
async def test_a_thousand_who_follow_paused_runs_cost_one_question_a_round_and_one_task_each(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zeno.runs.feed.WATCH", 0.2)
    door.with_tools(HOLD)
    async with live(door) as house:
        model = gated(house)
        runs = [await house.run(model="gated") for _ in range(5)]
        for _ in runs:
            model.call("send_mail", to="a", text="b")
        for run in runs:
            async with house.follow(run) as followed:
                await followed.until("run_paused")
        before = len(asyncio.all_tasks())
        async with followers(house, runs * 200) as opened_streams:
            assert len(opened_streams) == 1000
            watch = 1
            while len(asyncio.all_tasks()) - before > 1000 + watch:
                await asyncio.sleep(0.01)
            with statements() as seen:
                while len([line for line in seen if "max(events.seq)" in line]) < 5:
                    await asyncio.sleep(0.01)
                rounds = len([line for line in seen if "max(events.seq)" in line])
                assert len([line for line in seen if "FROM events" in line]) == rounds
        while len(asyncio.all_tasks()) > before:
            await asyncio.sleep(0.01)


@asynccontextmanager
async def followers(house: Live, runs: list[str]) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Requests for the runs' streams that have been answered as far as that goes, without sockets."""
    gone = asyncio.Event()
    silent = asyncio.Semaphore(0)

    async def follow(run: str) -> None:
        async def receive() -> dict[str, Any]:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if b"run_paused" in message.get("body", b""):
                silent.release()

        path = f"/api/v1/runs/{run}/events"
        headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {house.token}".encode())]
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": headers,
        }
        await house.asgi[0](scope | {"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "scheme": "http"}, receive, send)

    tasks = [asyncio.create_task(follow(run)) for run in runs]
    for _ in runs:
        await silent.acquire()
    try:
        yield tasks
    finally:
        gone.set()
        await asyncio.gather(*tasks)
