"""A model that cannot be had at once: who follows the run learns that it is asked again, and why that takes its time."""

import threading
from collections.abc import Iterator

from tests.door import Door
from tests.live import live
from tests.scene import scene
from tests.stubs.chat_server import chat_server, delta


@scene
async def test_who_follows_learns_that_a_busy_model_is_asked_again_before_it_answers(door: Door) -> None:
    followed_by_now = threading.Event()

    def refusal() -> Iterator[bytes]:
        followed_by_now.wait()
        yield b"slow down"

    with chat_server() as server:
        server.extra_headers["retry-after"] = "0"
        server.answers.append((429, refusal()))
        server.says(delta(content="Here I am."))
        async with live(door, model=f"openai:tiny-chat@{server.url}") as house, house.follow(await house.run("hi")) as stream:
            await stream.until("step_started")
            followed_by_now.set()
            frames = [*await stream.until("text_delta"), *await stream.rest()]
    again = {"type": "retry_delta", "attempt": 2, "most": 3, "seconds": 0.0, "code": "model_busy", "step": 1}
    assert (frames[0].kind, frames[0].data) == ("retry_delta", again)
    assert [frame.data["text"] for frame in frames if frame.kind == "text_delta"] == ["Here I am."]
    assert frames[-1].data["ending"] == "answered"


@scene
async def test_a_model_that_stays_busy_is_asked_no_more_often_because_it_is_told(door: Door) -> None:
    with chat_server() as server:
        server.extra_headers["retry-after"] = "0"
        for _ in range(9):
            server.refuses(429, "slow down")
        async with live(door, model=f"openai:tiny-chat@{server.url}") as house:
            frames = await house.all(await house.run("hi"))
        assert (frames[-1].data["ending"], frames[-1].data["code"]) == ("model_failed", "model_busy")
        assert len(server.requests) == 3


def test_the_command_line_says_that_a_busy_model_is_asked_again(door: Door) -> None:
    with chat_server() as server:
        server.extra_headers["retry-after"] = "0"
        server.refuses(429, "slow down")
        server.says(delta(content="Here I am."))
        outcome = door.zeno("run", "hi", "--model", f"openai:tiny-chat@{server.url}", lang="zh-CN")
    assert outcome.code == 0
    assert "模型繁忙，0 秒后重试（第 2 次，共 3 次）。" in outcome.out
    assert "Here I am." in outcome.out
