"""Streams through a proxy that holds replies back and gives silent ones up, as nginx does unless it is told otherwise."""

import asyncio
import os
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.door import Door
from tests.live import Frame, Live, Stream, gated, live, stream
from tests.proxy import need_nginx, nginx
from tests.scene import scene

SILENT = '''
import asyncio
release = asyncio.Event()

@tool(timeout=600)
async def ponder() -> str:
    """Say nothing until let go. Use in tests."""
    await release.wait()
    return "pondered"
'''

COMPRESSING = ("gzip on", "gzip_proxied any", "gzip_types text/event-stream")
"""A proxy that compresses waits for more to compress, unless the reply says that it must not be held back."""


@pytest.fixture(autouse=True)
def _nginx() -> None:
    need_nginx()


def through(house: Live, path: Path, run: str) -> AbstractAsyncContextManager[Stream]:
    """The run's stream, by way of the proxy."""
    return stream(path, house.token, f"/api/v1/runs/{run}/events", accept="gzip")


@pytest.mark.parametrize("directives", [(), ("proxy_http_version 1.1",), COMPRESSING])
@scene
async def test_what_the_model_says_arrives_before_it_says_more(door: Door, directives: tuple[str, ...]) -> None:
    async with live(door) as house:
        model = gated(house)
        with nginx(house.port, *directives) as path:
            run = await house.run(model="gated")
            async with through(house, path, run) as followed:
                await followed.until("step_started")
                assert followed.headers.get("content-encoding") == ("gzip" if directives == COMPRESSING else None)
                for word in ("one ", "two ", "three"):
                    model.say(word)
                    frame = await followed.next()
                    assert frame is not None
                    assert frame.data["text"] == word
                model.stop()
                assert (await followed.rest())[-1].kind == "run_ended"
                assert followed.ended


async def silent_tool(door: Door, heartbeats: int, *directives: str) -> tuple[list[Frame], bool]:
    """What arrives of a run whose tool is let go after so many heartbeats, or the loss of the stream; whether all did."""
    door.with_tools(SILENT)
    async with live(door) as house:
        model = gated(house)
        with nginx(house.port, *directives) as path:
            run = await house.run(model="gated")
            async with through(house, path, run) as followed:
                model.call("ponder")
                await followed.until("tool_started")
                for _ in range(heartbeats):
                    if await followed.any() is None:
                        break
                let_go()
                model.say("done")
                model.stop()
                return await followed.rest(), followed.ended


def let_go() -> None:
    own: Any = sys.modules["zeno_tools_own_tools"]
    own.release.set()


@pytest.mark.slow
@scene
async def test_a_silent_tool_does_not_lose_the_stream(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zeno.server.sse.HEARTBEAT", 0.5)
    frames, whole = await silent_tool(door, 8, "proxy_read_timeout 2s")
    assert frames[-1].kind == "run_ended"
    assert whole


@pytest.mark.slow
@scene
async def test_without_heartbeats_the_proxy_would_give_it_up(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zeno.server.sse.HEARTBEAT", 60.0)
    frames, whole = await silent_tool(door, 1, "proxy_read_timeout 2s")
    assert not frames
    assert not whole


@pytest.mark.slow
@pytest.mark.skipif(not {"CI", "ZENO_LONG"} & os.environ.keys(), reason="takes a minute and a half: set ZENO_LONG=1")
def test_a_tool_that_is_silent_for_a_minute_and_a_half_does_not_lose_the_stream(door: Door) -> None:
    async def play() -> None:
        async with asyncio.timeout(300):
            # As it comes: a heartbeat each 10 s, and a proxy that waits 60 s.
            frames, whole = await silent_tool(door, 9)
            assert frames[-1].kind == "run_ended"
            assert whole

    asyncio.run(play())
