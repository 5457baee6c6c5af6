"""The Anthropic Messages adapter against raw bytes on a loopback server."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contracts.wire_anthropic_messages import THINKING, block, end, start, stream, text
from tests.stubs.chat_server import ChatServer, chat_server
from zeno.core.errors import ModelRefused, ModelUnavailable
from zeno.core.messages import FilePart, Message, TextPart, ThinkingPart, ToolCall, ToolResult, Usage
from zeno.core.ports import Delta, ModelRequest, Reply, TextDelta, ThinkingDelta, ToolSpec
from zeno.models.anthropic_messages import AnthropicMessages, anthropic_headers
from zeno.models.transport import Transport

KEY = "sk-ant-very-secret"
PLAIN = "claude-sonnet-4-5"
RUN = "0123456789abcdef0123456789abcdef"
TOOLS = tuple(ToolSpec(name, f"{name} things. Use it.", {"type": "object", "properties": {}}) for name in ("look", "write"))
TASK = Message("user", (TextPart("compute"),))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as state:
        yield state


ANSWER = stream(start(input_tokens=3), *text("ok"), *end(output_tokens=1))


def request(*messages: Message, **fields: Any) -> ModelRequest:
    given: dict[str, Any] = {"system": "Be brief.", "tools": TOOLS, "context": "Step 1.", "run_id": RUN}
    return ModelRequest(**(given | {"messages": messages or (TASK,)} | fields))


def asked(server: ChatServer, *requests: ModelRequest, model: str = PLAIN, **headers: str) -> list[list[Delta | Reply]]:
    """What the client gives for each request, one client for all of them."""

    async def go() -> list[list[Delta | Reply]]:
        wire = Transport(
            base_url=server.url, headers=anthropic_headers(KEY, model) | headers, secrets=(KEY,), family="anthropic"
        )
        client = AnthropicMessages(transport=wire, model=model)
        try:
            return [[item async for item in client.stream(one)] for one in requests]
        finally:
            await wire.close()

    return asyncio.run(go())


def replied(server: ChatServer, *events: dict[str, Any], model: str = PLAIN) -> Reply:
    server.sends(stream(*events))
    reply = asked(server, request(), model=model)[0][-1]
    assert isinstance(reply, Reply)
    return reply


def test_a_reply_comes_as_deltas_and_then_whole_in_the_order_of_its_blocks(server: ChatServer) -> None:
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", '{"path": ', '"a.csv"}')]
    server.sends(
        stream(
            start(input_tokens=3),
            {"type": "ping"},
            *THINKING,
            *text("I ", "look", index=1),
            *block(2, "tool_use", *pieces, id="toolu_1", name="look", input={}),
            *block(3, "tool_use", id="toolu_2", name="write", input={}),
            *end("tool_use", output_tokens=9),
        )
    )
    (items,) = asked(server, request())
    assert items[:-1] == [ThinkingDelta("let me "), ThinkingDelta("see"), TextDelta("I "), TextDelta("look")]
    assert items[-1] == Reply(
        Message(
            "assistant",
            (
                ThinkingPart("let me see", "c2VhbA==", "anthropic"),
                TextPart("I look"),
                ToolCall("toolu_1", "look", '{"path": "a.csv"}'),
                ToolCall("toolu_2", "write", ""),
            ),
        ),
        Usage(input_tokens=3, output_tokens=9),
        "answer",
        "tool_use",
        "claude-told",
    )


def test_counts_are_totals_so_far_and_never_added_up(server: ChatServer) -> None:
    details = {"output_tokens_details": {"thinking_tokens": 4}}
    reply = replied(
        server,
        start(input_tokens=10, cache_read_input_tokens=1000, cache_creation_input_tokens=400, output_tokens=1),
        *text("hi"),
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 7}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 15, "input_tokens": 0} | details,
        },
        {"type": "message_stop"},
    )
    assert reply.usage == Usage(input_tokens=1410, output_tokens=15, cached_tokens=1000, reasoning_tokens=4)


def test_a_silent_provider_gives_a_marked_estimate(server: ChatServer) -> None:
    usage = replied(server, start(), *text("Hello there"), *end()).usage
    assert usage.estimated
    assert usage.input_tokens > 20
    assert usage.output_tokens > 0


def test_every_cut_of_the_bytes_gives_the_same_reply(server: ChatServer) -> None:
    whole = stream(start(input_tokens=3), *THINKING, *text("你好 \u2028 ok", index=1), *end(output_tokens=1)).replace(
        b"\n", b"\r\n"
    )
    server.sends(whole)
    (expected,) = asked(server, request())
    cuts = range(1, len(whole), 7)
    for cut in cuts:
        server.sends(whole[:cut], whole[cut:])
    assert asked(server, *[request()] * len(cuts)) == [expected] * len(cuts)


def test_thoughts_are_shown_again_word_for_word_before_the_calls_they_led_to(server: ChatServer) -> None:
    server.sends(
        stream(
            start(),
            *THINKING,
            *block(1, "redacted_thinking", data="opaque=="),
            *block(2, "thinking", {"type": "signature_delta", "signature": "b25seQ=="}, thinking=""),
            *block(3, "tool_use", id="toolu_1", name="look", input={}),
            *end("tool_use", output_tokens=1),
        )
    )
    reply = asked(server, request())[0][-1]
    assert isinstance(reply, Reply)
    server.sends(ANSWER)
    foreign = (ThinkingPart("mine", "x", "responses"), ThinkingPart("unsealed", None, "anthropic"), TextPart("note"))
    result = Message("tool", (ToolResult("toolu_1", "look", "done", "seen"),))
    asked(server, request(TASK, Message("assistant", foreign), TASK, reply.message, result))
    turns = server.requests[1]["messages"]
    assert turns[1]["content"] == [{"type": "text", "text": "note"}]
    assert turns[3]["content"] == [
        {"type": "thinking", "thinking": "let me see", "signature": "c2VhbA=="},
        {"type": "redacted_thinking", "data": "opaque=="},
        {"type": "thinking", "thinking": "", "signature": "b25seQ=="},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
    ]


CALLED = Message(
    "assistant",
    (ToolCall("a", "look", '{"path": "x"}'), ToolCall("call:1", "no such.tool", "oops"), ToolCall("c", "look", "{'a': 1}")),
)
DONE = Message(
    "tool",
    (
        ToolResult("a", "look", "done", "seen"),
        ToolResult("call:1", "no such.tool", "failed", ""),
        ToolResult("c", "look", "done", ""),
    ),
)


def test_results_stand_first_and_in_order_in_one_turn_with_the_context_behind_them(server: ChatServer) -> None:
    server.sends(ANSWER)
    asked(server, request(TASK, CALLED, DONE, Message("user", (TextPart("and?"), FilePart("b.csv", 7)))))
    turns = server.requests[0]["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    first, second, third, *rest = turns[2]["content"]
    assert (first["tool_use_id"], first["content"], "is_error" in first) == ("a", "seen", False)
    assert (second["tool_use_id"], second["content"], second["is_error"]) == (turns[1]["content"][1]["id"], "failed", True)
    assert third["tool_use_id"] == "c"
    assert [item["text"] for item in rest] == ["and?", "[file: b.csv, 7 bytes]", "[context]\nStep 1."]


def test_earlier_calls_are_shown_as_the_provider_takes_them(server: ChatServer) -> None:
    server.sends(ANSWER)
    asked(server, request(TASK, CALLED, DONE))
    calls = server.requests[0]["messages"][1]["content"]
    assert [call["input"] for call in calls] == [{"path": "x"}, {"_malformed": "oops"}, {"a": 1}]
    assert calls[1]["name"] == "no_such_tool"
    assert calls[1]["id"].startswith("call_1_")


def test_blank_text_is_not_sent(server: ChatServer) -> None:
    server.sends(ANSWER)
    asked(server, request(TASK, Message("assistant", (TextPart(" \n"), ToolCall("a", "look", "")))))
    assert [item["type"] for item in server.requests[0]["messages"][1]["content"]] == ["tool_use"]


def marked(value: Any) -> list[str]:
    """The texts, names and calls that carry a cache mark."""
    if isinstance(value, list):
        return [found for item in value for found in marked(item)]
    if not isinstance(value, dict):
        return []
    own = [value.get("text") or value.get("name") or value.get("tool_use_id")] if "cache_control" in value else []
    return own + [found for item in value.values() for found in marked(item)]


def test_four_places_are_marked_for_the_cache_and_the_context_is_none_of_them(server: ChatServer) -> None:
    more = (
        CALLED,
        DONE,
        Message("assistant", (ToolCall("d", "look", ""),)),
        Message("tool", (ToolResult("d", "look", "done", "x"),)),
    )
    server.sends(ANSWER)
    asked(server, request(TASK, *more))
    assert marked(server.requests[0]) == ["write", "Be brief.", "c", "d"]


def unmarked(value: dict[str, Any]) -> str:
    return json.dumps(value).replace(', "cache_control": {"type": "ephemeral"}', "")


def test_two_steps_share_everything_but_the_context(server: ChatServer) -> None:
    server.sends(ANSWER)
    server.sends(ANSWER)
    asked(server, request(TASK), request(TASK, CALLED, DONE, context="Step 2."))
    first, second = map(unmarked, server.requests)
    shared = first.index(', {"type": "text", "text": "[context]')
    assert second[:shared] == first[:shared]


def test_where_no_tools_are_left_their_names_remain_and_none_may_be_called(server: ChatServer) -> None:
    server.sends(ANSWER)
    asked(server, request(TASK, CALLED, DONE, tools=()))
    sent = server.requests[0]
    assert sent["tool_choice"] == {"type": "none"}
    assert [tool["name"] for tool in sent["tools"]] == ["look", "no_such_tool"]


SUMMARIZED = {"type": "adaptive", "display": "summarized"}
BOUND = SUMMARIZED | {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "graded", "room", "temperature"),
    [
        ("claude-3-5-haiku-latest", None, None, None, 0, 0.2),
        ("claude-sonnet-4-20250514", "low", {"type": "enabled", "budget_tokens": 2048}, None, 2048, None),
        ("claude-opus-4-5", "none", None, None, 0, 0.2),
        ("kimi-k2-thinking", "high", {"type": "enabled", "budget_tokens": 16384}, None, 16384, None),
        ("anthropic/claude-sonnet-4.6", "medium", SUMMARIZED, "medium", 8192, None),
        ("claude-opus-4-6", "none", {"type": "disabled"}, None, 0, 0.2),
        ("claude-opus-4-7", None, None, None, 0, None),
        ("claude-opus-5", None, SUMMARIZED, None, 16384, None),
        ("claude-opus-5", "none", {"type": "disabled"}, None, 0, None),
        ("claude-opus-5-5", "none", BOUND, "low", 0, None),
        ("claude-next", "low", BOUND, "low", 2048, None),
    ],
)
def test_each_generation_is_asked_to_think_in_its_own_way(
    server: ChatServer, model: str, effort: Any, thinking: Any, graded: str | None, room: int, temperature: float | None
) -> None:
    server.sends(ANSWER)
    asked(server, request(effort=effort), model=model)
    sent = server.requests[0]
    assert sent.get("thinking") == thinking
    assert sent.get("output_config", {}).get("effort") == graded
    assert (sent["max_tokens"], sent.get("temperature")) == (8192 + room, temperature)


def test_binding_is_asked_for_only_where_its_beta_is_announced(server: ChatServer) -> None:
    server.sends(ANSWER)
    asked(server, request(), model="claude-opus-5-5", **{"anthropic-beta": "another"})
    assert server.requests[0]["thinking"] == SUMMARIZED


def test_a_schema_is_asked_for_where_it_can_be_promised(server: ChatServer) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    server.sends(ANSWER)
    server.sends(ANSWER)
    asked(server, request(response_schema=schema, max_output_tokens=50), model="claude-haiku-4-5")
    asked(server, request(response_schema=schema), model="claude-3-7-sonnet-latest")
    first, second = server.requests
    assert first["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert (first["max_tokens"], "output_config" in second) == (50, False)


def test_the_key_and_the_version_travel_in_headers(server: ChatServer) -> None:
    server.sends(ANSWER)
    asked(server, request())
    assert server.paths == ["/v1/messages"]
    assert (server.headers[0]["x-api-key"], server.headers[0]["anthropic-version"]) == (KEY, "2023-06-01")


@pytest.mark.parametrize(
    ("kind", "code", "retryable"),
    [
        ("overloaded_error", "model_http_error", True),
        ("rate_limit_error", "model_busy", True),
        ("api_error", "model_http_error", True),
        ("authentication_error", "model_unauthorized", False),
        ("invalid_request_error", "model_http_error", False),
    ],
)
def test_an_error_in_the_middle_of_a_reply_is_a_typed_failure(
    server: ChatServer, kind: str, code: str, retryable: bool
) -> None:
    server.sends(stream(start(), *text("half"), {"type": "error", "error": {"type": kind, "message": f"no {KEY}"}}))
    with pytest.raises(ModelUnavailable) as failure:
        asked(server, request())
    assert (failure.value.code, failure.value.retryable) == (code, retryable)
    assert KEY not in str(failure.value)
    assert kind in str(failure.value)


def test_an_overloaded_endpoint_may_be_tried_again(server: ChatServer) -> None:
    server.refuses(529, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')
    with pytest.raises(ModelUnavailable) as failure:
        asked(server, request())
    assert failure.value.retryable


@pytest.mark.parametrize("broken", [b"data: {oops\n\n", b"data: [1]\n\n", b'data: {"type":"message_delta","usage":7}\n\n'])
def test_a_stream_that_is_no_protocol_is_a_typed_failure(server: ChatServer, broken: bytes) -> None:
    server.sends(broken)
    with pytest.raises(ModelUnavailable, match="model_protocol_error"):
        asked(server, request())


def test_a_reply_that_breaks_off_is_no_answer(server: ChatServer) -> None:
    server.sends(stream(start(), *text("The sum is")))
    with pytest.raises(ModelUnavailable, match="reply_incomplete") as failure:
        asked(server, request())
    assert failure.value.retryable


def test_a_refusal_is_said_with_its_reason(server: ChatServer) -> None:
    delta = {"stop_reason": "refusal", "stop_details": {"category": "cyber", "explanation": "Not this."}}
    server.sends(stream(start(), {"type": "message_delta", "delta": delta, "usage": {}}, {"type": "message_stop"}))
    with pytest.raises(ModelRefused, match=r"Not this\."):
        asked(server, request())


def test_a_limit_eaten_by_thinking_is_said_and_a_cut_answer_is_kept(server: ChatServer) -> None:
    server.sends(stream(start(), *THINKING, *end("max_tokens")))
    with pytest.raises(ModelUnavailable, match="model_output_eaten"):
        asked(server, request())
    cut = replied(server, start(), *text("long sto"), *end("max_tokens"))
    assert (cut.message.text, cut.finish_reason) == ("long sto", "max_tokens")


def test_after_a_pause_the_run_goes_on(server: ChatServer) -> None:
    assert replied(server, start(), *text("searching"), *end("pause_turn")).turn == "note"


def test_blocks_of_tools_at_the_provider_are_passed_over(server: ChatServer) -> None:
    searched = block(
        0, "server_tool_use", {"type": "input_json_delta", "partial_json": "{}"}, id="s", name="web_search", input={}
    )
    cited = {"type": "citations_delta", "citation": {"type": "web_search_result_location", "url": "x"}}
    answer = block(1, "text", {"type": "text_delta", "text": "found"}, cited, text="")
    assert replied(server, start(), *searched, *answer, *end()).message.parts == (TextPart("found"),)


def test_an_endpoint_that_takes_no_temperature_is_asked_again_without_it(server: ChatServer) -> None:
    server.refuses(400, '{"type":"error","error":{"message":"`temperature` is deprecated for this model."}}')
    server.sends(ANSWER)
    server.sends(ANSWER)
    asked(server, request(), request(), model="house-model")
    assert ["temperature" in sent for sent in server.requests] == [True, False, False]


@pytest.mark.parametrize("effort", [None, "low"])
def test_seals_that_no_longer_hold_are_left_out(server: ChatServer, effort: Any) -> None:
    thought = Message("assistant", (ThinkingPart("hm", "b2xk", "anthropic"), ToolCall("a", "look", "")))
    sealed = request(TASK, thought, Message("tool", (ToolResult("a", "look", "done", "seen"),)), effort=effort)
    server.refuses(400, '{"error":{"message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}')
    server.sends(ANSWER)
    server.sends(ANSWER)
    asked(server, sealed, sealed)
    shown = [[item["type"] for item in sent["messages"][1]["content"]] for sent in server.requests]
    assert shown == [["thinking", "tool_use"], ["tool_use"], ["thinking", "tool_use"]]
    assert "thinking" not in server.requests[1]


def test_a_refusal_that_nothing_can_be_done_about_is_passed_on(server: ChatServer) -> None:
    server.refuses(400, '{"error":{"message":"Invalid `signature` in `thinking` block"}}')
    with pytest.raises(ModelUnavailable, match="model_http_error"):
        asked(server, request())
