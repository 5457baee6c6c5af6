"""One task, every way a model can be spoken to: the same events, two calls at once, one answer."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.contracts import wire_anthropic_messages as anthropic
from tests.contracts import wire_openai_responses as responses
from tests.door import Door, Outcome, texts
from tests.stubs.chat_server import ChatServer, call_delta, chat_server, delta, usage
from tests.stubs.weather_server import weather_server

TASK = "Compare the weather in Beijing and in London."
THOUGHT, ANSWER, GREETING = "I need both cities.", "London is colder.", "Hello!"
ARGUMENTS = ('{"city": "Beijing"}', '{"city": "London"}')
CALLS = [call_delta(n, f"id{n}", "get_weather", arguments) for n, arguments in enumerate(ARGUMENTS)]


def chat(*chunks: dict[str, Any]) -> bytes:
    """The bytes of a Chat Completions stream."""
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in (*chunks, usage(9, 5))) + b"data: [DONE]\n\n"


def action(**fields: object) -> dict[str, object]:
    return fields


def tagged(*actions: dict[str, object]) -> bytes:
    """The prompted protocol, cut into small pieces."""
    words = f"<thinking>{THOUGHT}</thinking>\nso\n<THINKING_DONE>\n<actions>{json.dumps({'actions': actions})}</actions>"
    return chat(*(delta(content=words[at : at + 7]) for at in range(0, len(words), 7)))


def one_object(*actions: dict[str, object]) -> bytes:
    """The one-object form, in a fence, as models that know better write it."""
    words = "```json\n" + json.dumps({"thinking": THOUGHT, "actions": actions}) + "\n```"
    return chat(*(delta(content=words[at : at + 5]) for at in range(0, len(words), 5)))


PROMPTED_CALLS = [action(type="TOOL_CALL", tool="get_weather", arguments=json.loads(arguments)) for arguments in ARGUMENTS]


def direct(words: str) -> dict[str, object]:
    return action(type="DIRECT_RESPONSE", text=words, isComplete=True)


def said(form: Callable[..., bytes]) -> dict[str, bytes]:
    """What a model that speaks the prompted protocol sends in each scene."""
    return {"calls": form(*PROMPTED_CALLS), "answer": form(direct(ANSWER)), "greeting": form(direct(GREETING))}


def plain(thought: dict[str, Any] | None) -> dict[str, bytes]:
    """What a model with native calls sends, its thought in one field or another."""
    before = [delta(**thought)] if thought else []
    return {"calls": chat(*before, *CALLS), "answer": chat(delta(content=ANSWER)), "greeting": chat(delta(content=GREETING))}


WAYS: dict[str, tuple[str, dict[str, bytes]]] = {
    "native calls": ("openai", plain(None)),
    "reasoning_content": ("openai", plain({"reasoning_content": THOUGHT})),
    "reasoning": ("openai", plain({"content": "", "reasoning": THOUGHT})),
    "thinking": ("openai", plain({"thinking": THOUGHT})),
    "reasoning_details": ("openai", plain({"reasoning_details": [{"type": "reasoning.text", "text": THOUGHT}]})),
    "tags in the text": ("openai", plain({"content": f"<think>{THOUGHT}</think>"})),
    "prompted, tags": ("prompted:openai", said(tagged)),
    "prompted, one object": ("prompted:openai", said(one_object)),
    "responses": (
        "responses",
        {
            "calls": responses.stream(
                responses.created(),
                *responses.thought(0, THOUGHT),
                *responses.call(1, "id0", "get_weather", ARGUMENTS[0]),
                *responses.call(2, "id1", "get_weather", ARGUMENTS[1]),
                responses.completed(input_tokens=9, output_tokens=5),
            ),
            "answer": responses.stream(responses.created(), *responses.text(ANSWER), responses.completed()),
            "greeting": responses.stream(responses.created(), *responses.text(GREETING), responses.completed()),
        },
    ),
    "anthropic": (
        "anthropic",
        {
            "calls": anthropic.stream(
                anthropic.start(input_tokens=9),
                *anthropic.block(0, "thinking", {"type": "thinking_delta", "thinking": THOUGHT}, thinking="", signature=""),
                *anthropic.call(1, "id0", "get_weather", ARGUMENTS[0]),
                *anthropic.call(2, "id1", "get_weather", ARGUMENTS[1]),
                *anthropic.end("tool_use", output_tokens=5),
            ),
            "answer": anthropic.stream(anthropic.start(), *anthropic.text(ANSWER), *anthropic.end()),
            "greeting": anthropic.stream(anthropic.start(), *anthropic.text(GREETING), *anthropic.end()),
        },
    ),
}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """The model's endpoint."""
    with chat_server() as state:
        yield state


def asked(door: Door, server: ChatServer, way: str, task: str, *scenes: str) -> Outcome:
    family, replies = WAYS[way]
    for scene in scenes:
        server.sends(replies[scene])
    return door.run(task, "--model", f"{family}:m@{server.url}")


@pytest.mark.parametrize("way", WAYS)
def test_the_same_task_gives_the_same_events(door: Door, server: ChatServer, way: str) -> None:
    with weather_server() as weather:
        door.env |= {
            "ZENO_TOOLS__WEATHER_FORECAST_URL": weather.forecast_url,
            "ZENO_TOOLS__WEATHER_GEOCODING_URL": weather.geocoding_url,
        }
        outcome = asked(door, server, way, TASK, "calls", "answer")
    assert outcome.code == 0, outcome.out
    kinds = [event["type"] for event in outcome.events]
    assert kinds == [
        "run_started",
        "user_said",
        "step_started",
        "model_replied",
        "tool_started",
        "tool_started",
        "tool_finished",
        "tool_finished",
        "step_started",
        "model_replied",
        "run_ended",
    ]
    first = outcome.of("model_replied")[0]["message"]["parts"]
    calls = [part for part in first if part["type"] == "tool_call"]
    assert [(part["name"], json.loads(part["arguments"])) for part in calls] == [
        ("get_weather", json.loads(arguments)) for arguments in ARGUMENTS
    ]
    thoughts = "".join(part["text"] for part in first if part["type"] == "thinking")
    assert thoughts == ("" if way == "native calls" else THOUGHT)
    assert {event["result"]["outcome"] for event in outcome.of("tool_finished")} == {"done"}
    assert texts(outcome)[-1] == ANSWER
    sent = json.dumps(server.requests[1], ensure_ascii=False)
    assert "Beijing" in sent
    assert "°C" in sent, "the results went back to the model"


@pytest.mark.parametrize("way", WAYS)
def test_small_talk_costs_one_request(door: Door, server: ChatServer, way: str) -> None:
    outcome = asked(door, server, way, "hello", "greeting")
    assert outcome.code == 0
    assert texts(outcome) == [GREETING]
    assert len(server.requests) == 1


def test_a_refusal_is_an_ending_of_its_own(door: Door, server: ChatServer) -> None:
    server.sends(anthropic.WIRE.replies["refused"])
    outcome = door.run("hi", "--model", f"anthropic:m@{server.url}")
    assert outcome.code == 12
    assert (outcome.events[-1]["ending"], outcome.events[-1]["code"]) == ("declined", "model_refused")


def test_the_key_of_anthropic_comes_from_its_own_variable(door: Door, server: ChatServer) -> None:
    door.env |= {"ANTHROPIC_API_KEY": "sk-ant-secret", "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_MODEL": "m"}
    server.sends(WAYS["anthropic"][1]["greeting"])
    outcome = door.run("hello")
    assert outcome.events[0]["model"] == "anthropic:m"
    assert server.headers[0]["x-api-key"] == "sk-ant-secret"
    assert "sk-ant-secret" not in outcome.out + outcome.err
