"""Patience: tried again before anything was said, passed through after, the next model when one cannot be had."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.stubs.chat_server import chat_server, delta
from tests.wire.chat import request
from zeno.core.errors import ModelRefused, ModelUnavailable, RunError
from zeno.core.messages import Message, TextPart
from zeno.core.ports import Delta, ModelClient, ModelRequest, Reply, RetryDelta, TextDelta, ThinkingDelta
from zeno.models.openai_chat import OpenAIChat
from zeno.models.resilient import Fallback, Retrying
from zeno.models.transport import Transport

BUSY = ModelUnavailable("model_busy", retryable=True)
ASKS_FOR_7 = ModelUnavailable("model_busy", retryable=True, retry_after=7)
ASKS_FOR_HOURS = ModelUnavailable("model_busy", retryable=True, retry_after=7200)
ASKS_FOR_NOTHING = ModelUnavailable("model_busy", retryable=True, retry_after=0)
FORBIDDEN = ModelUnavailable("model_unauthorized")
SECOND, THIRD = "2 of 3 in 1: model_busy", "3 of 3 in 2: model_busy"


class Model:
    """A model that does what it is given, attempt by attempt: a text to say, or an error, or both in a row."""

    def __init__(self, name: str, *attempts: list[str | RunError]) -> None:
        self.name = name
        self.attempts = list(attempts)
        self.asked = 0

    async def stream(self, _request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        self.asked += 1
        for step in self.attempts.pop(0):
            if isinstance(step, RunError):
                raise step
            yield TextDelta(step)
        yield Reply(Message("assistant", (TextPart(self.name),)))


def told(client: ModelClient) -> list[str]:
    """What is told: texts, attempts to come, and at the end the name of the model or the code of the error."""

    async def collect() -> list[str]:
        got: list[str] = []
        try:
            async for item in client.stream(request()):
                match item:
                    case Reply(message=message):
                        got.append(message.text)
                    case RetryDelta():
                        got.append(f"{item.attempt} of {item.most} in {item.seconds:g}: {item.code}")
                    case TextDelta(text) | ThinkingDelta(text):
                        got.append(text)
        except RunError as error:
            got.append(error.code)
        return got

    return asyncio.run(collect())


def patient(model: Model, pauses: list[float], **more: Any) -> Retrying:
    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    return Retrying(model, sleep=sleep, jitter=lambda _, most: most, **more)


@pytest.mark.parametrize(
    ("attempts", "wanted", "pauses"),
    [
        ([["hi"]], ["hi", "m"], []),
        ([[BUSY], ["hi"]], [SECOND, "hi", "m"], [1]),
        ([[BUSY], [BUSY], ["hi"]], [SECOND, THIRD, "hi", "m"], [1, 2]),
        ([[BUSY], [BUSY], [BUSY], ["never"]], [SECOND, THIRD, "model_busy"], [1, 2]),
        ([[ASKS_FOR_7], ["hi"]], ["2 of 3 in 7: model_busy", "hi", "m"], [7]),
        ([[ASKS_FOR_HOURS], ["hi"]], ["2 of 3 in 60: model_busy", "hi", "m"], [60]),
        ([[ASKS_FOR_NOTHING], ["hi"]], ["2 of 3 in 0: model_busy", "hi", "m"], [0]),
        ([[FORBIDDEN], ["never"]], ["model_unauthorized"], []),
        ([["half ", BUSY], ["never"]], ["half ", "model_busy"], []),
        ([[ModelRefused("model_refused")], ["never"]], ["model_refused"], []),
    ],
)
def test_a_model_is_tried_again_while_that_helps(
    attempts: list[list[str | RunError]], wanted: list[str], pauses: list[float]
) -> None:
    taken: list[float] = []
    assert told(patient(Model("m", *attempts), taken)) == wanted
    assert taken == pauses


def test_the_pause_is_drawn_between_nothing_and_the_longest() -> None:
    drawn: list[tuple[float, float]] = []

    def jitter(least: float, most: float) -> float:
        drawn.append((least, most))
        return 0

    told(Retrying(Model("m", [BUSY], [BUSY], ["hi"]), jitter=jitter))
    assert drawn == [(0, 1), (0, 2)]


@pytest.mark.parametrize(
    ("first", "second", "wanted", "asked"),
    [
        ([["hi"]], [["no"]], ["hi", "one"], (1, 0)),
        ([[BUSY]], [["hi"]], ["hi", "two"], (1, 1)),
        ([[FORBIDDEN]], [["hi"]], ["hi", "two"], (1, 1)),
        ([[FORBIDDEN]], [[BUSY]], ["model_busy"], (1, 1)),
        ([["half ", BUSY]], [["no"]], ["half ", "model_busy"], (1, 0)),
        ([[ModelRefused("model_refused")]], [["no"]], ["model_refused"], (1, 0)),
    ],
)
def test_the_next_model_stands_in(
    first: list[list[str | RunError]], second: list[list[str | RunError]], wanted: list[str], asked: tuple[int, int]
) -> None:
    one, two = Model("one", *first), Model("two", *second)
    assert told(Fallback([one, two])) == wanted
    assert (one.asked, two.asked) == asked


def test_the_next_model_stands_in_for_one_that_was_tried_again_in_vain() -> None:
    one, two = Model("one", [BUSY], [BUSY], [BUSY]), Model("two", ["hi"])
    assert told(Fallback([patient(one, []), two])) == [SECOND, THIRD, "hi", "two"]


def test_an_endpoint_that_was_busy_once_answers() -> None:
    async def ask(url: str) -> list[str]:
        wire = Transport(base_url=url, family="openai")
        try:
            client = Retrying(OpenAIChat(transport=wire, model="m"), jitter=lambda _, __: 0)
            return [item.text async for item in client.stream(request()) if isinstance(item, TextDelta)]
        finally:
            await wire.close()

    with chat_server() as server:
        server.refuses(503, "starting")
        server.says(delta(content="here"))
        assert asyncio.run(ask(server.url)) == ["here"]
