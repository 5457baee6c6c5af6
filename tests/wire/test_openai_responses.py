"""The OpenAI Responses adapter against raw bytes on a loopback server."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contracts.wire_openai_responses import call, completed, created, incomplete, item, stream, text, thought
from tests.stubs.chat_server import ChatServer, chat_server
from zeno.core.errors import ModelRefused, ModelUnavailable
from zeno.core.messages import FilePart, Message, TextPart, ThinkingPart, ToolCall, ToolResult, Usage
from zeno.core.ports import Delta, ModelRequest, Reply, TextDelta, ThinkingDelta, ToolSpec
from zeno.models.openai_responses import OpenAIResponses
from zeno.models.transport import Transport

KEY = "sk-very-secret"
MODEL = "gpt-5.2"
RUN = "0123456789abcdef0123456789abcdef"
TOOLS = tuple(ToolSpec(name, f"{name} things. Use it.", {"type": "object", "properties": {}}) for name in ("look", "write"))
TASK = Message("user", (TextPart("compute"),))
ANSWER = stream(created(), *text("ok"), completed(input_tokens=3, output_tokens=1))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as state:
        yield state


def request(*messages: Message, **fields: Any) -> ModelRequest:
    given: dict[str, Any] = {"system": "Be brief.", "tools": TOOLS, "context": "Step 1.", "run_id": RUN}
    return ModelRequest(**(given | {"messages": messages or (TASK,)} | fields))


def asked(server: ChatServer, *requests: ModelRequest, model: str = MODEL) -> list[list[Delta | Reply]]:
    """What the client gives for each request, one client for all of them."""

    async def go() -> list[list[Delta | Reply]]:
        wire = Transport(base_url=server.url, headers={"authorization": f"Bearer {KEY}"}, secrets=(KEY,), family="responses")
        client = OpenAIResponses(transport=wire, model=model)
        try:
            return [[item async for item in client.stream(one)] for one in requests]
        finally:
            await wire.close()

    return asyncio.run(go())


def replied(server: ChatServer, *events: dict[str, Any]) -> Reply:
    server.sends(stream(*events))
    reply = asked(server, request())[0][-1]
    assert isinstance(reply, Reply)
    return reply


def test_a_reply_comes_as_deltas_and_then_whole_in_the_order_of_its_items(server: ChatServer) -> None:
    server.sends(
        stream(
            created(),
            *thought(0, "First.", "Then.", sealed="gAAA"),
            *text("I ", "look", index=1),
            *call(2, "call_1", "look", '{"path": ', '"a.csv"}'),
            *call(3, "call_2", "write"),
            completed(input_tokens=3, output_tokens=9),
        )
    )
    (items,) = asked(server, request())
    thoughts = [ThinkingDelta("First."), ThinkingDelta("\n\n"), ThinkingDelta("Then.")]
    assert items[:-1] == [*thoughts, TextDelta("I "), TextDelta("look")]
    reply = items[-1]
    assert isinstance(reply, Reply)
    thinking, *rest = reply.message.parts
    assert isinstance(thinking, ThinkingPart)
    assert (thinking.text, thinking.provider) == ("First.\n\nThen.", "responses")
    assert rest == [TextPart("I look"), ToolCall("call_1", "look", '{"path": "a.csv"}'), ToolCall("call_2", "write", "")]
    assert (reply.turn, reply.finish_reason, reply.model) == ("answer", "completed", "gpt-told")


def test_items_without_numbers_are_told_apart_by_their_names(server: ChatServer) -> None:
    """As llama.cpp sends them, which also ends all items only after the last one."""
    items = [*thought(0, "hm"), *call(1, "call_1", "look", '{"a": 1}'), *call(2, "call_2", "look", '{"a": 2}')]
    named = [
        {key: value for key, value in event.items() if key != "output_index"}
        | ({} if "item" in event else {"item_id": ("rs_0", "fc_1", "fc_2")[event["output_index"]]})
        for event in items
    ]
    last = [event for event in named if event["type"].endswith("output_item.done")]
    first = [event for event in named if event not in last]
    reply = replied(server, created(), *first, *last, completed(input_tokens=3, output_tokens=9))
    assert reply.message.parts == (
        ThinkingPart("hm", None, "responses"),
        ToolCall("call_1", "look", '{"a": 1}'),
        ToolCall("call_2", "look", '{"a": 2}'),
    )


def test_cached_and_reasoning_tokens_are_told_within_the_others(server: ChatServer) -> None:
    reply = replied(server, created(), *text("hi"), completed(input_tokens=1410, output_tokens=15, cached=1000, reasoning=4))
    assert reply.usage == Usage(input_tokens=1410, output_tokens=15, cached_tokens=1000, reasoning_tokens=4)


def test_a_silent_provider_gives_a_marked_estimate(server: ChatServer) -> None:
    usage = replied(server, created(), *text("Hello there"), completed()).usage
    assert usage.estimated
    assert usage.input_tokens > 20
    assert usage.output_tokens > 0


def test_every_cut_of_the_bytes_gives_the_same_reply(server: ChatServer) -> None:
    events = [
        created(),
        *thought(0, "想", sealed="g"),
        *text("你好 \u2028 ok", index=1),
        completed(input_tokens=3, output_tokens=1),
    ]
    whole = stream(*events).replace(b"\n", b"\r\n")
    server.sends(whole)
    (expected,) = asked(server, request())
    cuts = range(1, len(whole), 11)
    for cut in cuts:
        server.sends(whole[:cut], whole[cut:])
    assert asked(server, *[request()] * len(cuts)) == [expected] * len(cuts)


def test_pieces_are_enough_where_whole_items_are_left_out(server: ChatServer) -> None:
    events = [*thought(0, "hm"), *text("Hel", "lo", index=1), *call(2, "call_1", "look", '{"a"', ": 1}")]
    reply = replied(server, *(event for event in events if not event["type"].endswith(".done")), completed())
    assert reply.message.parts == (
        ThinkingPart("hm", None, "responses"),
        TextPart("Hello"),
        ToolCall("call_1", "look", '{"a": 1}'),
    )


def test_whole_items_are_enough_where_pieces_are_left_out(server: ChatServer) -> None:
    whole = [
        event["item"] for event in [*text("Hello"), *call(1, "call_1", "look", "{}")] if event["type"].endswith("item.done")
    ]
    last = completed()
    last["response"]["output"] = whole
    assert replied(server, created(), last).message.parts == (TextPart("Hello"), ToolCall("call_1", "look", "{}"))


@pytest.mark.parametrize("told", ["", "item.done"])
def test_a_server_that_numbers_every_item_zero_is_understood(server: ChatServer, told: str) -> None:
    events = [*call(0, "call_1", "look", "{}"), *call(0, "call_2", "write", "[]")]
    reply = replied(server, *(event for event in events if event["type"].endswith(told)), completed())
    assert [(found.id, found.name, found.arguments) for found in reply.message.calls] == [
        ("call_1", "look", "{}"),
        ("call_2", "write", "[]"),
    ]


def test_calls_whose_pieces_come_in_turns_are_kept_apart(server: ChatServer) -> None:
    one, two = call(0, "call_1", "look", '{"a":', "1}"), call(1, "call_2", "write", '{"b":', "2}")
    turns = [event for pair in zip(one, two, strict=True) for event in pair if not event["type"].endswith(".done")]
    reply = replied(server, *turns, completed())
    assert [found.arguments for found in reply.message.calls] == ['{"a":1}', '{"b":2}']


def test_raw_reasoning_of_open_models_is_shown(server: ChatServer) -> None:
    delta = {"type": "response.reasoning_text.delta", "content_index": 0, "delta": "hm"}
    whole = {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
    server.sends(stream(*item(0, whole, delta), *text("yes", index=1), completed()))
    (items,) = asked(server, request())
    assert items[0] == ThinkingDelta("hm")
    assert isinstance(items[-1], Reply)
    assert items[-1].message.parts[0] == ThinkingPart("hm", None, "responses")


def test_sealed_thoughts_are_shown_again_before_the_calls_they_led_to(server: ChatServer) -> None:
    server.sends(stream(created(), *thought(0, "First.", sealed="gAAA"), *call(1, "call_1", "look", "{}"), completed()))
    reply = asked(server, request())[0][-1]
    assert isinstance(reply, Reply)
    server.sends(ANSWER)
    foreign = (ThinkingPart("mine", "x", "anthropic"), ThinkingPart("unsealed", None, "responses"), TextPart("note"))
    trailing = Message("assistant", (TextPart("half"), *reply.message.parts[:1]))
    result = Message("tool", (ToolResult("call_1", "look", "done", "seen"),))
    asked(server, request(TASK, Message("assistant", foreign), TASK, trailing, TASK, reply.message, result))
    task = {"role": "user", "content": "compute"}
    assert server.requests[1]["input"] == [
        task,
        {"role": "assistant", "content": "note"},
        task,
        {"role": "assistant", "content": "half"},
        task,
        {
            "type": "reasoning",
            "id": "rs_0",
            "summary": [{"type": "summary_text", "text": "First."}],
            "encrypted_content": "gAAA",
        },
        {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "seen"},
        {"role": "user", "content": "[context]\nStep 1."},
    ]


def test_earlier_turns_are_shown_as_the_provider_takes_them(server: ChatServer) -> None:
    calls = Message("assistant", (ToolCall("call:1", "no such.tool", "oops"), ToolCall("x" * 80, "look", "{'a': 1}")))
    results = Message("tool", (ToolResult("call:1", "no such.tool", "failed", ""), ToolResult("x" * 80, "look", "done", "y")))
    server.sends(ANSWER)
    asked(server, request(Message("user", (TextPart("go"), FilePart("b.csv", 7))), calls, results))
    first, file, bad, long, failed, done, _ = server.requests[0]["input"]
    assert (first["content"], file["content"]) == ("go", "[file: b.csv, 7 bytes]")
    assert (bad["name"], json.loads(bad["arguments"])) == ("no_such_tool", {"_malformed": "oops"})
    assert (bad["call_id"], long["call_id"]) == (failed["call_id"], done["call_id"])
    assert (failed["output"], json.loads(long["arguments"]), len(long["call_id"])) == ("failed", {"a": 1}, 64)


def test_nothing_is_left_at_the_provider_and_its_reasoning_comes_sealed(server: ChatServer) -> None:
    server.sends(ANSWER)
    asked(server, request(max_output_tokens=50))
    sent = server.requests[0]
    assert (sent["store"], sent["include"], sent["stream"]) == (False, ["reasoning.encrypted_content"], True)
    assert (sent["instructions"], sent["max_output_tokens"], "temperature" in sent) == ("Be brief.", 50, False)
    tool = {"type": "function", "name": "look", "description": "look things. Use it.", "strict": False}
    assert sent["tools"][0] == tool | {"parameters": TOOLS[0].parameters}
    assert (server.paths, server.headers[0]["authorization"]) == (["/v1/responses"], f"Bearer {KEY}")


@pytest.mark.parametrize(
    ("model", "effort", "reasoning", "temperature", "sealed"),
    [
        ("gpt-5.2", None, {"summary": "auto"}, None, True),
        ("o4-mini", "low", {"effort": "low", "summary": "auto"}, None, True),
        ("openai/gpt-5.2", "none", {"effort": "none"}, None, True),
        ("gpt-4.1", "high", None, 0.2, False),
        ("qwen3-next", None, None, 0.2, True),
        ("qwen3-next", "high", {"effort": "high", "summary": "auto"}, 0.2, True),
    ],
)
def test_models_are_asked_for_what_they_can_do(
    server: ChatServer, model: str, effort: Any, reasoning: Any, temperature: float | None, sealed: bool
) -> None:
    server.sends(ANSWER)
    asked(server, request(effort=effort), model=model)
    sent = server.requests[0]
    assert (sent.get("reasoning"), sent.get("temperature"), "include" in sent) == (reasoning, temperature, sealed)


def test_a_schema_is_asked_for(server: ChatServer) -> None:
    server.sends(ANSWER)
    schema = {"type": "object"}
    asked(server, request(response_schema=schema))
    form = {"type": "json_schema", "name": "reply", "schema": schema, "strict": False}
    assert server.requests[0]["text"] == {"format": form}


def test_two_steps_share_everything_but_the_context(server: ChatServer) -> None:
    server.sends(ANSWER)
    server.sends(ANSWER)
    called = Message("assistant", (ToolCall("a", "look", "{}"),))
    done = Message("tool", (ToolResult("a", "look", "done", "seen"),))
    asked(server, request(TASK), request(TASK, called, done, context="Step 2."))
    first, second = map(json.dumps, server.requests)
    shared = first.index('"[context]')
    assert second[: shared - len('{"role": "user", "content": ')] == first[: shared - len('{"role": "user", "content": ')]


REFUSALS = {
    "Unsupported parameter: 'temperature' is not supported with this model.": "temperature",
    "Encrypted content is not supported with this model.": "include",
    "Your organization must be verified. param: reasoning.summary": "reasoning",
}


@pytest.mark.parametrize(("words", "name"), REFUSALS.items())
def test_what_an_endpoint_refuses_is_left_out_from_then_on(server: ChatServer, words: str, name: str) -> None:
    model = MODEL if name == "reasoning" else "house-model"
    server.refuses(400, json.dumps({"error": {"message": words}}))
    server.sends(ANSWER)
    server.sends(ANSWER)
    asked(server, request(), request(), model=model)
    assert [name in sent for sent in server.requests] == [True, False, False]


def test_a_model_that_cannot_but_reason_is_asked_to_reason_little(server: ChatServer) -> None:
    server.refuses(400, '{"error":{"message":"Unsupported value: \'none\'","param":"reasoning.effort"}}')
    server.sends(ANSWER)
    asked(server, request(effort="none"))
    assert [sent["reasoning"]["effort"] for sent in server.requests] == ["none", "low"]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, '"code": "invalid_encrypted_content"'),
        (404, "Item with id 'rs_0' not found."),
        (400, "Item 'rs_0' of type 'reasoning' was provided without its required following item."),
    ],
)
def test_seals_that_no_longer_hold_are_left_out(server: ChatServer, status: int, words: str) -> None:
    thoughtful = Message("assistant", (ThinkingPart("", '{"type":"reasoning","id":"rs_0"}', "responses"), TextPart("so")))
    server.refuses(status, words)
    server.sends(ANSWER)
    server.sends(ANSWER)
    asked(server, *[request(TASK, thoughtful, TASK)] * 2)
    assert [[found.get("type") for found in sent["input"]] for sent in server.requests] == [
        [None, "reasoning", None, None, None],
        [None, None, None, None],
        [None, "reasoning", None, None, None],
    ]


ERRORS = [
    ({"type": "error", "code": "rate_limit_exceeded", "message": f"no {KEY}"}, "model_busy", True),
    ({"type": "error", "error": {"type": "server_error", "message": f"no {KEY}"}}, "model_http_error", True),
    ({"type": "error", "error": {"code": "insufficient_quota", "message": f"no {KEY}"}}, "model_busy", False),
    (
        {"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error", "message": KEY}}},
        "model_http_error",
        True,
    ),
    ({"type": "response.failed", "response": {"error": {"code": "invalid_prompt", "message": KEY}}}, "model_http_error", False),
]


@pytest.mark.parametrize(("event", "code", "retryable"), ERRORS)
def test_an_error_in_the_middle_of_a_reply_is_a_typed_failure(
    server: ChatServer, event: dict[str, Any], code: str, retryable: bool
) -> None:
    server.sends(stream(created(), *text("half")[:-1], event))
    with pytest.raises(ModelUnavailable) as failure:
        asked(server, request())
    assert (failure.value.code, failure.value.retryable) == (code, retryable)
    assert KEY not in str(failure.value)
    assert "***" in str(failure.value)


@pytest.mark.parametrize("broken", [b"data: {oops\n\n", b"data: [1]\n\n", b'data: {"type":7}\n\n'])
def test_a_stream_that_is_no_protocol_is_a_typed_failure(server: ChatServer, broken: bytes) -> None:
    server.sends(broken)
    with pytest.raises(ModelUnavailable, match="model_protocol_error"):
        asked(server, request())


def test_a_reply_that_breaks_off_is_no_answer(server: ChatServer) -> None:
    server.sends(stream(created(), *text("The sum is")))
    with pytest.raises(ModelUnavailable, match="reply_incomplete") as failure:
        asked(server, request())
    assert failure.value.retryable


def test_a_refusal_is_said_with_its_reason(server: ChatServer) -> None:
    whole = {"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "Not this."}]}
    server.sends(stream(created(), *item(0, whole, {"type": "response.refusal.delta", "delta": "Not"}), completed()))
    with pytest.raises(ModelRefused, match=r"Not this\."):
        asked(server, request())
    server.sends(stream(created(), *text("well"), incomplete("content_filter")))
    with pytest.raises(ModelRefused, match="content_filter"):
        asked(server, request())


def test_a_limit_eaten_by_thinking_is_said_and_a_cut_answer_is_kept(server: ChatServer) -> None:
    server.sends(stream(created(), *thought(0, "hm"), incomplete("max_output_tokens")))
    with pytest.raises(ModelUnavailable, match="model_output_eaten"):
        asked(server, request())
    cut = replied(server, created(), *text("long sto"), incomplete("max_output_tokens"))
    assert (cut.message.text, cut.finish_reason) == ("long sto", "max_output_tokens")


def test_items_of_tools_at_the_provider_are_passed_over(server: ChatServer) -> None:
    searched = item(0, {"type": "web_search_call", "id": "ws", "action": {"type": "search", "query": "x"}})
    assert replied(server, created(), *searched, *text("found", index=1), completed()).message.parts == (TextPart("found"),)
