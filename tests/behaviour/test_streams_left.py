"""Streams whose client goes, whose run is driven elsewhere, whose server ends: what becomes of the run, and of the stream."""

import asyncio
import signal

import pytest
from sqlalchemy import text

from tests.door import Door, call, calls
from tests.http import HOLD
from tests.http import serving as served
from tests.live import BOUND, Frame, Live, Stream, gated, live
from tests.scene import scene
from zeno.app import opened
from zeno.core.events import CancelRequested
from zeno.core.scope import LOCAL
from zeno.server.sse import wait_until_settled
from zeno.stores.event_log import Record

pytestmark = pytest.mark.slow


async def ending(house: Live, run: str) -> str:
    """How a run ended, once it has; nobody follows it for that."""
    async with house.own as client:
        while not (report := (await client.get(f"/api/v1/runs/{run}")).json())["ending"]:
            await asyncio.sleep(0.01)
    return str(report["ending"])


async def left_alone(house: Live, run: str) -> None:
    while house.app.feed.followed(run):
        await asyncio.sleep(0.001)


async def silence(followed: Stream, heartbeats: int) -> None:
    """Nothing happens for so many heartbeats."""
    for _ in range(heartbeats):
        frame = await followed.any()
        assert frame is not None
        assert not frame.kind


def kinds(frames: list[Frame]) -> set[str]:
    return {frame.kind for frame in frames}


@scene
async def test_a_run_goes_on_when_its_client_has_gone(door: Door) -> None:
    async with live(door) as house:
        model = gated(house)
        run = await house.run(model="gated")
        async with house.follow(run) as followed:
            await followed.until("step_started")
            followed.leave()
            await left_alone(house, run)
        model.say("done")
        model.stop()
        assert await ending(house, run) == "answered"


@scene
async def test_a_client_that_goes_while_nothing_happens_is_noticed_at_once(door: Door) -> None:
    door.with_tools(HOLD)
    async with live(door, model=door.script(calls(call("send_mail", to="a", text="b")))) as house:
        run = await house.run()
        async with house.follow(run) as followed:
            await followed.until("run_paused")
            followed.leave()
            await left_alone(house, run)


@scene
async def test_a_run_that_is_to_end_with_its_client_is_cancelled_and_its_model_let_go(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zeno.server.sse.GRACE", 0.05)
    async with live(door) as house:
        model = gated(house)
        run = await house.run(model="gated", on_disconnect="cancel")
        async with house.follow(run) as followed:
            model.say("half ")
            await followed.until("text_delta")
            followed.leave()
        assert await ending(house, run) == "cancelled"
        assert model.left.is_set()


@scene
async def test_a_run_that_is_to_end_with_its_client_goes_on_when_the_client_comes_back_or_another_stays(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zeno.server.sse.GRACE", 0.5)
    monkeypatch.setattr("zeno.server.sse.HEARTBEAT", 0.1)
    async with live(door) as house:
        model = gated(house)
        run = await house.run(model="gated", on_disconnect="cancel")
        async with house.follow(run) as one, house.follow(run) as other:
            frames = await one.until("step_started")
            await other.until("step_started")
            one.leave()
            await silence(other, 10)
            other.leave()
            await left_alone(house, run)
        async with house.follow(run, frames[-1].id) as again:
            await again.any()
            await silence(again, 10)
            model.say("done")
            model.stop()
            frames += await again.rest()
        assert "cancel_requested" not in kinds(frames)
        assert frames[-1].data["ending"] == "answered"


@scene
async def test_a_run_driven_by_another_process_is_followed_too(door: Door) -> None:
    async with live(door) as house, opened(house.app.settings) as elsewhere:
        agent = await elsewhere.agent(None, language="en-US", model="offline")
        run = await elsewhere.start(LOCAL, agent, "what is 6*7?")
        async with house.follow(run.id) as followed:
            await followed.any()
            waiting = asyncio.create_task(wait_until_settled(house.app, LOCAL, run, BOUND))
            told: list[int] = []
            await elsewhere.drive(run, lambda item: told.append(getattr(item, "seq", 0)))
            frames = await followed.rest()
            assert [frame.seq for frame in frames] == [seq for seq in told if seq]
            assert frames[-1].kind == "run_ended"
            assert (await waiting).ending == "answered"


@scene
async def test_who_waits_is_not_kept_waiting_when_the_server_ends(door: Door) -> None:
    async with live(door) as house:
        gated(house)
        run = await house.app.runs.find(LOCAL, await house.run(model="gated"))
        waiting = asyncio.create_task(wait_until_settled(house.app, LOCAL, run, BOUND))
        while not house.app.feed.followed(run.id):
            await asyncio.sleep(0.001)
        house.app.feed.close()
        assert (await waiting).ending is None


@scene
async def test_a_stream_of_a_run_that_is_deleted_ends(door: Door) -> None:
    door.with_tools(HOLD)
    async with live(door, model=door.script(calls(call("send_mail", to="a", text="b")))) as house:
        run = await house.run()
        async with house.follow(run) as followed:
            await followed.until("run_paused")
            async with house.client() as client:
                session = (await client.get(f"/runs/{run}")).json()["session_id"]
                assert (await client.delete(f"/sessions/{session}")).status_code == 204
            assert await followed.rest() == []
            assert followed.ended


@scene
async def test_a_client_that_takes_nothing_for_too_long_is_given_up(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zeno.server.sse.PATIENCE", 0.2)
    monkeypatch.setattr("zeno.server.sse.HEARTBEAT", 0.1)
    async with live(door) as house:
        model = gated(house)
        run = await house.run(model="gated")
        async with house.follow(run, limit=1024) as slow:
            await slow.until("step_started")
            model.say(*("x" * 30_000 for _ in range(1000)))
            await left_alone(house, run)
        model.stop()
        assert await ending(house, run) == "answered"


@scene
async def test_a_stream_that_cannot_go_on_is_broken_off_and_not_left_silent(door: Door) -> None:
    door.with_tools(HOLD)
    async with live(door, model=door.script(calls(call("send_mail", to="a", text="b")))) as house:
        run = await house.run()
        async with house.follow(run) as followed:
            last = (await followed.until("run_paused"))[-1].seq
            rename = text("alter table events rename to events_lost")
            await house.app.log.database.write(lambda connection: connection.execute(rename))
            house.app.feed.publish(run, Record(last + 2, 0, CancelRequested()))
            assert await followed.rest() == []
            assert not followed.ended


@scene
async def test_who_comes_when_the_server_ends_is_not_told_to_stop_asking(door: Door) -> None:
    async with live(door) as house:
        gated(house)
        run = await house.run(model="gated")
        house.app.feed.close()
        async with house.follow(run) as followed:
            assert followed.status == 200
            assert await followed.rest() == []
            assert followed.ended


@pytest.mark.slow
def test_a_server_that_is_told_to_end_ends_its_streams_and_cancels_nothing(door: Door) -> None:
    door.with_tools(HOLD)
    door.env["ZENO_MODEL"] = door.script(calls(call("send_mail", to="a", text="b")), {"text": "ok"})
    with served(door) as server:
        run = server.run("go", on_disconnect="cancel")
        told = server.follow(run)
        while next(told)["type"] != "run_paused":
            pass
        assert server.process
        server.process.send_signal(signal.SIGTERM)
        assert list(told) == []
        assert server.process.wait(BOUND) == 0
        server.stop()
        server.start()
        client = server.client()
        assert client.get(f"/runs/{run}").json()["ending"] == "awaiting_approval"
        assert client.post(f"/runs/{run}/commands", json={"type": "cancel"}).status_code == 202
        assert [event["type"] for event in server.events(run)][-1] == "run_ended"
