"""Replies of Chat Completions in the dialects that servers speak: calls in fragments, reasoning in fields, counts, endings."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.stubs.chat_server import ChatServer, chat_server, delta, usage
from tests.stubs.chat_server import call_delta as part
from tests.wire.chat import KEY, asked, call_list, reply, text, thinking
from zeno.core.errors import ModelRefused, ModelUnavailable
from zeno.core.messages import ThinkingPart
from zeno.models.dialects import OPENAI, OPENROUTER


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as state:
        yield state


def fragment(**fields: Any) -> dict[str, Any]:
    return delta(tool_calls=[fields])


def counts(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    """Counts as some dialect writes them."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, **more}


A, B = '{"x": 1}', '{"x": 2}'

CALLS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str, str]]]] = {
    "whole": ([part(0, "a", "f", A), part(1, "b", "g", B)], [("a", "f", A), ("b", "g", B)]),
    "interleaved, id only at first": (
        [part(0, "a", "f", '{"x":'), part(1, "b", "g", '{"x"'), part(0, None, None, " 1}"), part(1, None, None, ": 2}")],
        [("a", "f", '{"x": 1}'), ("b", "g", '{"x": 2}')],
    ),
    "every index 0, new ids": ([part(0, "a", "f", A), part(0, "b", "f", B)], [("a", "f", A), ("b", "f", B)]),
    "every index 0, new names": (
        [part(0, None, "write_file", A), part(0, None, "read_file", B)],
        [("", "write_file", A), ("", "read_file", B)],
    ),
    "every index 0, one name, no ids": ([part(0, None, "f", A), part(0, None, "f", B)], [("", "f", A), ("", "f", B)]),
    "every index 0, no name or id for the second": (
        [part(0, "a", "f", A), part(0, None, None, '{"x"'), part(0, None, None, ": 2}")],
        [("a", "f", A), ("", "f", B)],
    ),
    "white space after a whole call": ([part(0, "a", "f", A), part(0, None, None, "\n")], [("a", "f", A)]),
    "every index 0, in pieces": (
        [part(0, "a", "f", '{"x"'), part(0, None, None, ": 1}"), part(0, "b", "g", '{"x"'), part(0, None, None, ": 2}")],
        [("a", "f", '{"x": 1}'), ("b", "g", '{"x": 2}')],
    ),
    "no index": (
        [part(None, "a", "f", '{"x":'), part(None, None, None, " 1}"), part(None, "b", "g", B)],
        [("a", "f", '{"x": 1}'), ("b", "g", B)],
    ),
    "id in every fragment": (
        [part(0, "a", "f", '{"x":'), part(0, "b", "g", '{"x":'), part(0, "a", None, " 1}"), part(0, "b", None, " 2}")],
        [("a", "f", '{"x": 1}'), ("b", "g", '{"x": 2}')],
    ),
    "name in every fragment": ([part(0, "a", "f", '{"x":'), part(0, None, "f", " 1}")], [("a", "f", '{"x": 1}')]),
    "said once more at the end": (
        [part(0, "a", "f", '{"x":'), part(0, None, None, " 1}"), part(0, "a", "f", '{"x": 1}')],
        [("a", "f", '{"x": 1}')],
    ),
    "no arguments": ([part(0, "a", "f", ""), part(0, "b", "g", "")], [("a", "f", ""), ("b", "g", "")]),
    "arguments as an object": (
        [fragment(index=0, id="a", function={"name": "f", "arguments": {"x": 1}})],
        [("a", "f", '{"x":1}')],
    ),
    "legacy": (
        [delta(function_call={"name": "f", "arguments": '{"x":'}), delta(function_call={"arguments": " 1}"})],
        [("", "f", '{"x": 1}')],
    ),
    "an empty fragment": ([fragment(index=0), delta(content="hi")], []),
    "null everywhere": ([delta(content=None, tool_calls=None, reasoning_content=None), part(0, "a", "f", A)], [("a", "f", A)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_put_together(server: ChatServer, name: str) -> None:
    chunks, wanted = CALLS[name]
    server.says(*chunks)
    assert call_list(asked(server)) == wanted


@pytest.mark.parametrize(
    "deltas",
    [
        [{"reasoning_content": "let me "}, {"reasoning_content": "see", "content": ""}, {"content": "42"}],
        [{"content": "", "reasoning": "let me "}, {"content": "", "reasoning": "see"}, {"content": "42"}],
        [{"thinking": "let me see"}, {"content": "42"}],
        [{"reasoning": "let me see", "reasoning_content": "let me see"}, {"content": "42"}],
        [{"reasoning_details": [{"type": "reasoning.text", "text": "let me see"}]}, {"content": "42"}],
        [{"reasoning_details": [{"type": "reasoning.summary", "summary": "let me see"}]}, {"content": "42"}],
        [
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "let me see"}]}]},
            {"content": [{"type": "text", "text": "42"}]},
        ],
        [{"content": "<thi"}, {"content": "nk>let me see</thi"}, {"content": "nk>42"}],
        [{"content": "<|channel|>analysis<|message|>let me see<|end|><|start|>assistant<|channel|>final<|message|>42"}],
    ],
)
def test_reasoning_is_found_wherever_it_stands(server: ChatServer, deltas: list[dict[str, Any]]) -> None:
    server.says(*(delta(**fields) for fields in deltas))
    items = asked(server)
    assert (thinking(items), text(items)) == ("let me see", "42")
    thought = reply(items).message.parts[0]
    assert isinstance(thought, ThinkingPart)
    assert (thought.text, reply(items).message.text) == ("let me see", "42")


def test_reasoning_in_its_own_field_does_not_hide_a_call(server: ChatServer) -> None:
    server.says(delta(content="", reasoning="hm"), part(0, "a", "f", A), delta(finish_reason="tool_calls"))
    items = asked(server)
    assert (thinking(items), text(items), call_list(items)) == ("hm", "", [("a", "f", A)])


def test_openai_itself_may_write_about_tags(server: ChatServer) -> None:
    server.says(delta(content="The <think> tag"))
    assert text(asked(server, dialect=OPENAI)) == "The <think> tag"


def test_details_are_sealed_as_if_they_had_come_at_once(server: ChatServer) -> None:
    piece = {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"}
    hidden = {"type": "reasoning.encrypted", "data": "xyz", "index": 1}
    server.says(
        delta(reasoning="let me ", reasoning_details=[piece | {"text": "let me "}]),
        delta(reasoning="see", reasoning_details=[piece | {"text": "see"}]),
        delta(reasoning_details=[piece | {"signature": "sig"}]),
        delta(reasoning_details=[hidden]),
        delta(content="42"),
    )
    items = asked(server, dialect=OPENROUTER)
    (thought,) = (part for part in reply(items).message.parts if isinstance(part, ThinkingPart))
    assert thinking(items) == thought.text == "let me see"
    assert thought.provider == "openrouter"
    assert json.loads(thought.signature or "") == [piece | {"text": "let me see", "signature": "sig"}, hidden]


@pytest.mark.parametrize(
    ("chunks", "wanted"),
    [
        ([usage(12, 3, cached=8)], (12, 3, 8, 0)),
        ([delta(content="a") | {"usage": counts(12, 1)}, delta(content="b") | {"usage": counts(12, 3)}], (12, 3, 0, 0)),
        ([{"choices": [], "usage": counts(12, 3, prompt_cache_hit_tokens=8, prompt_cache_miss_tokens=4)}], (12, 3, 8, 0)),
        ([{"choices": [{"delta": {}, "finish_reason": "stop", "usage": counts(12, 3, cached_tokens=8)}]}], (12, 3, 8, 0)),
        ([{"choices": [], "usage": counts(12, 30, completion_tokens_details={"reasoning_tokens": 20})}], (12, 30, 0, 20)),
        ([{"choices": [], "x_groq": {"usage": counts(12, 3)}}], (12, 3, 0, 0)),
        ([{"choices": None, "usage": counts(12, 3, prompt_tokens_details=None)}], (12, 3, 0, 0)),
        ([usage(12, 3), {"choices": [], "usage": None}], (12, 3, 0, 0)),
    ],
)
def test_usage_is_exact_in_each_dialect(server: ChatServer, chunks: list[dict[str, Any]], wanted: tuple[int, ...]) -> None:
    server.says(delta(content="hi"), *chunks)
    told = reply(asked(server)).usage
    assert (told.input_tokens, told.output_tokens, told.cached_tokens, told.reasoning_tokens, told.estimated) == (
        *wanted,
        False,
    )


@pytest.mark.parametrize(("said", "least", "most"), [("好" * 100, 60, 120), ("hello there " * 25, 50, 100), ("x", 1, 1)])
def test_an_estimate_knows_chinese_from_english(server: ChatServer, said: str, least: int, most: int) -> None:
    server.says(delta(content=said), usage(0, 0))
    told = reply(asked(server)).usage
    assert told.estimated
    assert least <= told.output_tokens <= most
    assert told.input_tokens > 10


def test_a_reply_without_a_finish_reason_is_a_reply(server: ChatServer) -> None:
    server.says(delta(content="done"), done=False)
    answer = reply(asked(server))
    assert (answer.message.text, answer.finish_reason, answer.turn) == ("done", "", "answer")


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls"])
def test_the_providers_word_for_the_end_is_kept(server: ChatServer, reason: str) -> None:
    server.says(delta(content="half a sen"), delta(finish_reason=reason))
    assert reply(asked(server)).finish_reason == reason


def test_an_output_limit_used_up_by_hidden_reasoning_is_named(server: ChatServer) -> None:
    server.says(delta(finish_reason="length"), usage(5, 4096))
    with pytest.raises(ModelUnavailable, match="model_output_eaten") as failure:
        asked(server, model="gpt-x")
    assert failure.value.params["model"] == "gpt-x"


def test_a_content_filter_is_a_refusal(server: ChatServer) -> None:
    server.says(delta(content="I"), delta(finish_reason="content_filter"))
    with pytest.raises(ModelRefused, match="content_filter"):
        asked(server)


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        ({"error": {"message": "slow down", "code": 429}}, "model_busy", True),
        ({"error": {"message": "boom", "type": "server_error", "code": None}}, "model_http_error", True),
        ({"error": {"message": "bad field", "type": "invalid_request_error"}}, "model_http_error", False),
        ({"error": "something"}, "model_http_error", False),
        ({"object": "error", "message": "no such model", "code": 404}, "model_not_found", False),
    ],
)
def test_an_error_inside_a_stream_is_an_error(server: ChatServer, error: dict[str, Any], code: str, retryable: bool) -> None:
    server.says(delta(content="I was "), error)
    with pytest.raises(ModelUnavailable) as failure:
        asked(server)
    assert (failure.value.code, failure.value.retryable) == (code, retryable)


def test_a_server_that_does_not_stream_is_understood(server: ChatServer) -> None:
    server.content_type = "application/json"
    message = {"role": "assistant", "content": "42", "reasoning_content": "hm", "tool_calls": None}
    whole = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": counts(5, 1)}
    server.sends(json.dumps(whole, indent=1).encode())
    items = asked(server)
    assert (text(items), thinking(items), reply(items).usage.input_tokens) == ("42", "hm", 5)


def test_a_letter_is_never_broken_between_two_pieces(server: ChatServer) -> None:
    whole = 'data: {"choices":[{"delta":{"content":"<think>你</think>好🙂"}}]}\n\n'.encode()
    for cut in range(1, len(whole)):
        server.sends(whole[:cut], whole[cut:])
        items = asked(server)
        assert (thinking(items), text(items)) == ("你", "好🙂")


def test_the_first_piece_is_told_before_the_last_is_read(server: ChatServer) -> None:
    server.sends(b'data: {"choices":[{"delta":{"content":"one"}}]}\n\ndata: {oops\n\n')
    told: list[Any] = []
    with pytest.raises(ModelUnavailable, match="model_protocol_error"):
        asked(server, told=told)
    assert [item.text for item in told] == ["one"]


def test_events_without_empty_lines_between_them_are_told_apart(server: ChatServer) -> None:
    one, two = (json.dumps(delta(content=word)) for word in ("one ", "two"))
    server.sends(f"data: {one}\ndata:\ndata: {two}\ndata: [DONE]\n".encode())
    assert text(asked(server)) == "one two"


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        (["a\\ud83d", "\\ude42b"], "a🙂b"),
        (["\\ud83d", "", "\\ude42"], "🙂"),
        (["\\ud83d", "b"], "\ufffdb"),
        (["b\\ud83d"], "b\ufffd"),
    ],
)
@pytest.mark.parametrize("name", ["content", "reasoning"])
def test_halves_of_a_letter_in_two_events_become_one(server: ChatServer, pieces: list[str], whole: str, name: str) -> None:
    server.sends(*(f'data: {{"choices":[{{"delta":{{"{name}":"{piece}"}}}}]}}\n\n'.encode() for piece in pieces))
    items = asked(server)
    assert (text(items) if name == "content" else thinking(items)) == whole


def test_halves_of_a_letter_in_the_arguments_of_a_call_become_one(server: ChatServer) -> None:
    chunks = part(0, "a", "f", '{"x": "\ud83d'), part(0, None, None, '\ude42"}')
    server.sends(*(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks))
    assert call_list(asked(server)) == [("a", "f", '{"x": "🙂"}')]


@pytest.mark.parametrize("content_type", ["text/html", "text/event-stream"])
def test_a_page_that_is_no_model_is_no_answer(server: ChatServer, content_type: str) -> None:
    server.content_type = content_type
    server.sends(b"<html>Welcome</html>")
    with pytest.raises(ModelUnavailable, match="model_protocol_error"):
        asked(server)


def test_a_key_inside_nonsense_is_not_shown(server: ChatServer) -> None:
    for head in (b"", b"x" * 190, b"x" * 490):
        server.sends(b"data: " + head + KEY.encode() + b"\n\n")
        with pytest.raises(ModelUnavailable, match="model_protocol_error") as failure:
            asked(server)
        assert KEY[:3] not in str(failure.value)
