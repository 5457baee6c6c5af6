"""What every model client promises, over every family of endpoints: deltas, then one reply, and failures by name."""

import asyncio
import importlib
import json
import pkgutil
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

import tests.contracts
from tests.contracts.wires import SCENES, Wire
from tests.stubs.chat_server import ChatServer, chat_server, shared
from zeno.core.errors import ModelRefused, ModelUnavailable
from zeno.core.messages import Message, TextPart, ThinkingPart, ToolCall, ToolResult
from zeno.core.ports import Delta, ModelClient, ModelRequest, Reply, TextDelta, ThinkingDelta, ToolSpec
from zeno.models.transport import Transport

KEY = "sk-very-secret-key"
RUN_ID = "0123456789abcdef0123456789abcdef"
TOOL = ToolSpec("calculate", "Computes. Use for sums.", {"type": "object", "properties": {"expression": {"type": "string"}}})
ASKED = Message("user", (TextPart("compute 6*7"),))


def _wires() -> Iterator[Wire]:
    for module in pkgutil.iter_modules(tests.contracts.__path__):
        if module.name.startswith("wire_"):
            yield importlib.import_module(f"tests.contracts.{module.name}").WIRE


@pytest.fixture(params=list(_wires()), ids=lambda wire: wire.name)
def wire(request: pytest.FixtureRequest) -> Wire:
    found: Wire = request.param
    return found


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as state:
        yield state


def request(*messages: Message, context: str = "Step 1.", **more: Any) -> ModelRequest:
    return ModelRequest("You are Zeno.", (TOOL,), messages or (ASKED,), context, RUN_ID, **more)


@asynccontextmanager
async def opened(wire: Wire, server: ChatServer) -> AsyncGenerator[ModelClient, None]:
    headers = {"authorization": f"Bearer {KEY}"}
    transport = Transport(base_url=server.url, headers=headers, secrets=(KEY,), family=wire.name)
    try:
        yield wire.client(transport)
    finally:
        await transport.close()


async def told(wire: Wire, server: ChatServer, asked: ModelRequest) -> list[Delta | Reply]:
    async with opened(wire, server) as client:
        return [item async for item in client.stream(asked)]


def items(wire: Wire, server: ChatServer, scene: str) -> list[Delta | Reply]:
    server.sends(wire.replies[scene])
    return asyncio.run(told(wire, server, request()))


def reply_of(told_items: list[Delta | Reply]) -> Reply:
    *deltas, reply = told_items
    assert isinstance(reply, Reply)
    assert not any(isinstance(item, Reply) for item in deltas), "there is one reply, and it comes last"
    return reply


def said(told_items: list[Delta | Reply], kind: type[TextDelta] | type[ThinkingDelta]) -> str:
    return "".join(item.text for item in told_items if isinstance(item, kind))


def test_every_scene_is_recorded(wire: Wire) -> None:
    assert set(wire.replies) == set(SCENES)


def test_deltas_and_reply_say_the_same(wire: Wire, server: ChatServer) -> None:
    everything = items(wire, server, "text")
    reply = reply_of(everything)
    assert said(everything, TextDelta) == reply.message.text == "Hello, 你好"
    assert len(everything) >= 3, "text is told piece by piece"
    assert (reply.turn, reply.message.role) == ("answer", "assistant")
    assert reply.model


def test_usage_is_exact(wire: Wire, server: ChatServer) -> None:
    usage = reply_of(items(wire, server, "text")).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.estimated) == (12, 3, 8, False)


def test_usage_that_is_not_told_is_estimated_and_never_nothing(wire: Wire, server: ChatServer) -> None:
    usage = reply_of(items(wire, server, "no_usage")).usage
    assert usage.estimated
    assert usage.input_tokens > 5
    assert 1 <= usage.output_tokens <= 6


def test_thinking_is_told_apart_from_text(wire: Wire, server: ChatServer) -> None:
    everything = items(wire, server, "thinking")
    reply = reply_of(everything)
    thoughts = [part for part in reply.message.parts if isinstance(part, ThinkingPart)]
    assert said(everything, ThinkingDelta) == "".join(part.text for part in thoughts) == "let me see"
    assert said(everything, TextDelta) == reply.message.text == "42"
    assert isinstance(reply.message.parts[0], ThinkingPart), "reasoning comes before what follows from it"


def test_calls_arrive_whole_and_in_order(wire: Wire, server: ChatServer) -> None:
    calls = reply_of(items(wire, server, "calls")).message.calls
    assert [(call.id, call.name) for call in calls] == [("a", "calculate"), ("b", "calculate")]
    assert [json.loads(call.arguments) for call in calls] == [{"expression": "6*7"}, {"expression": "2+3"}]


@pytest.mark.parametrize("scene", ["text", "thinking", "calls"])
def test_every_cut_of_the_bytes_gives_the_same(wire: Wire, server: ChatServer, scene: str) -> None:
    whole = wire.replies[scene]

    async def cut_everywhere() -> list[list[Delta | Reply]]:
        async with opened(wire, server) as client:
            got = []
            for cut in range(0, len(whole), max(1, len(whole) // 120)):
                server.sends(whole[:cut], whole[cut:])
                got.append([item async for item in client.stream(request())])
            return got

    first, *others = asyncio.run(cut_everywhere())
    assert len(others) > 50
    for other in others:
        assert reply_of(other) == reply_of(first)
        assert said(other, TextDelta) == said(first, TextDelta)


def test_a_refusal_is_not_an_answer(wire: Wire, server: ChatServer) -> None:
    with pytest.raises(ModelRefused) as refusal:
        items(wire, server, "refused")
    assert refusal.value.code == "model_refused"
    assert refusal.value.params["reason"]


@pytest.mark.parametrize(
    ("scene", "code", "retryable"),
    [("eaten", "model_output_eaten", False), ("overloaded", None, True), ("nonsense", "model_protocol_error", False)],
)
def test_what_goes_wrong_inside_a_stream_has_a_name(
    wire: Wire, server: ChatServer, scene: str, code: str | None, retryable: bool
) -> None:
    with pytest.raises(ModelUnavailable) as failure:
        items(wire, server, scene)
    assert failure.value.retryable is retryable
    assert failure.value.code == (code or failure.value.code)


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (401, "model_unauthorized", False),
        (404, "model_not_found", False),
        (429, "model_busy", True),
        (503, "model_http_error", True),
    ],
)
def test_an_endpoint_that_says_no_is_named_without_the_key(
    wire: Wire, server: ChatServer, status: int, code: str, retryable: bool
) -> None:
    server.extra_headers["retry-after"] = "7"
    server.refuses(status, json.dumps({"error": {"message": f"no, {KEY}"}}))
    with pytest.raises(ModelUnavailable) as failure:
        asyncio.run(told(wire, server, request()))
    error = failure.value
    assert (error.code, error.retryable, error.params["status"], error.retry_after) == (code, retryable, status, 7)
    assert KEY not in str(error)
    assert "no, ***" in str(error)


def test_two_steps_of_a_run_share_everything_but_the_context(wire: Wire, server: ChatServer) -> None:
    called = Message("assistant", (ToolCall("a", "calculate", '{"expression": "6*7"}'),))
    result = Message("tool", (ToolResult("a", "calculate", "done", "42"),))
    first = _body(wire, server, request(context="ONE"))
    second = _body(wire, server, request(ASKED, called, result, context="TWO"))
    common = shared(first, second)
    assert all(stable in common for stable in (b"You are Zeno.", b'"calculate"', b"compute 6*7"))
    assert second.index(b'"42"') < second.index(b"TWO"), "what changes comes last"


def test_unreadable_arguments_are_shown_again_as_readable_ones(wire: Wire, server: ChatServer) -> None:
    broken = Message("assistant", (ToolCall("a", "calculate", '{"expression": 6*'),))
    result = Message("tool", (ToolResult("a", "calculate", "failed", "not valid JSON"),))
    body = _body(wire, server, request(ASKED, broken, result)).decode()
    assert "_malformed" in body


def test_closing_the_stream_closes_the_connection(wire: Wire, server: ChatServer) -> None:
    server.hang = True
    server.sends(wire.replies["text"])

    async def leave() -> None:
        async with opened(wire, server) as client, aclosing(client.stream(request())) as stream:
            async for item in stream:
                assert isinstance(item, TextDelta)
                break

    asyncio.run(leave())
    assert server.closed_early.wait(5)


def test_one_connection_serves_many_requests(wire: Wire, server: ChatServer) -> None:
    server.keep_alive = True

    async def ask_thrice() -> None:
        async with opened(wire, server) as client:
            for _ in range(3):
                server.sends(wire.replies["text"])
                assert reply_of([item async for item in client.stream(request())]).message.text

    asyncio.run(ask_thrice())
    assert server.connections == 1


def test_a_connection_that_breaks_is_said_to_be_lost(wire: Wire, server: ChatServer) -> None:
    server.keep_alive = server.cut = True
    server.sends(wire.replies["text"][:-40])
    with pytest.raises(ModelUnavailable) as failure:
        asyncio.run(told(wire, server, request()))
    assert (failure.value.code, failure.value.retryable) == ("model_connection_lost", True)


def _body(wire: Wire, server: ChatServer, asked: ModelRequest) -> bytes:
    server.sends(wire.replies["text"])
    asyncio.run(told(wire, server, asked))
    return server.bodies[-1]
