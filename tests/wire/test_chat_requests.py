"""Requests of Chat Completions: the stable prefix, what a provider is shown of its reasoning, what it refuses to be asked."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.stubs.chat_server import ChatServer, call_delta, chat_server, delta, shared
from tests.wire.chat import HI, asked, called, reply, request, text
from zeno.core.errors import ModelUnavailable
from zeno.core.messages import FilePart, Message, TextPart, ThinkingPart, ToolCall, ToolResult
from zeno.core.ports import Effort
from zeno.models.dialects import DEEPSEEK, DEEPSEEK_R1, GEMINI, OPENROUTER, PLAIN, Dialect, dialect_for

RESULT = Message("tool", (ToolResult("a", "calculate", "done", "42"),))
THOUGHTFUL_CALL = Message("assistant", (ThinkingPart("hm"), TextPart("wait"), called("a")))
THOUGHTFUL_ANSWER = Message("assistant", (ThinkingPart("aha"), TextPart("42")))
HISTORY = (HI, THOUGHTFUL_CALL, RESULT, THOUGHTFUL_ANSWER, Message("user", (TextPart("and now?"),)))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as state:
        yield state


def sent(
    server: ChatServer, *messages: Message, dialect: Dialect | None = None, model: str = "m", **more: Any
) -> dict[str, Any]:
    """The request that reaches the server."""
    server.says(delta(content="ok"))
    asked(server, request(*messages, **more), dialect=dialect, model=model)
    return server.requests[-1]


def test_two_steps_share_every_byte_up_to_the_context(server: ChatServer) -> None:
    server.says(call_delta(0, "a", "calculate", "{}"))
    server.says(delta(content="42"))
    asked(server, request(HI, context="ONE"), request(HI, THOUGHTFUL_CALL, RESULT, context="TWO"))
    assert server.bodies[0].removeprefix(shared(*server.bodies)) == b'user","content":"[context]\\nONE"}]}'
    assert [message["role"] for message in server.requests[1]["messages"]] == ["system", "user", "assistant", "tool", "user"]


def test_files_are_named_and_an_empty_text_adds_nothing(server: ChatServer) -> None:
    messages = (
        sent(server, Message("user", (FilePart("a.csv", 7), TextPart("read")))),
        sent(server, Message("user", (FilePart("a.csv", 7),))),
    )
    assert [each["messages"][1]["content"] for each in messages] == ["read\n[file: a.csv, 7 bytes]", "[file: a.csv, 7 bytes]"]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ("", "{}"),
        ('{"a": 1}', '{"a": 1}'),
        ('{"a": 1', '{"_malformed":"{\\"a\\": 1"}'),
        ("[1]", '{"_malformed":"[1]"}'),
        ("x" * 5000, '{"_malformed":"' + "x" * 200 + '"}'),
    ],
)
def test_arguments_in_the_history_are_always_an_object(server: ChatServer, arguments: str, shown: str) -> None:
    message = sent(server, HI, Message("assistant", (called("a", arguments),)), RESULT)["messages"][2]
    assert message["tool_calls"][0]["function"]["arguments"] == shown


def test_half_a_surrogate_pair_does_not_stop_a_request(server: ChatServer) -> None:
    assert sent(server, Message("user", (TextPart("a\udc80b"),)))["messages"][1]["content"] == "a?b"


@pytest.mark.parametrize(
    ("url", "model", "replayed"),
    [
        ("https://api.openai.com/v1", "gpt-4.1", [None, None]),
        ("http://127.0.0.1:8000/v1", "llama-4", [None, None]),
        ("https://api.deepseek.com/v1", "deepseek-v4-pro", ["hm", None]),
        ("http://127.0.0.1:8000/v1", "deepseek-ai/DeepSeek-R1", [None, None]),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen3-max", ["hm", None]),
        ("https://open.bigmodel.cn/api/paas/v4", "glm-5", ["hm", None]),
        ("https://api.moonshot.cn/v1", "kimi-k2.6", ["hm", None]),
    ],
)
def test_reasoning_is_shown_again_where_the_provider_wants_it(
    server: ChatServer, url: str, model: str, replayed: list[str | None]
) -> None:
    messages = sent(server, *HISTORY, dialect=dialect_for(url, model), model=model)["messages"]
    assert [message.get("reasoning_content") for message in messages if message["role"] == "assistant"] == replayed


def test_a_turn_of_another_model_has_the_field_that_is_demanded_and_nothing_in_it(server: ChatServer) -> None:
    foreign = Message("assistant", (ThinkingPart("secret", "sig", "anthropic"), called("a")))
    assert sent(server, HI, foreign, RESULT, dialect=DEEPSEEK)["messages"][2]["reasoning_content"] == ""


def test_sealed_details_go_back_as_they_came(server: ChatServer) -> None:
    details = [
        {"type": "reasoning.text", "text": "hm", "signature": "sig", "index": 0},
        {"type": "reasoning.encrypted", "data": "x"},
    ]
    server.says(delta(reasoning_details=details), call_delta(0, "a", "calculate", "{}"))
    answer = reply(asked(server, dialect=OPENROUTER)).message
    assert sent(server, HI, answer, RESULT, dialect=OPENROUTER)["messages"][2]["reasoning_details"] == details
    for other in (PLAIN, DEEPSEEK, GEMINI):
        assert "reasoning_details" not in sent(server, HI, answer, RESULT, dialect=other)["messages"][2]


def test_the_seals_on_calls_go_back_to_gemini_with_their_calls(server: ChatServer) -> None:
    seal = {"google": {"thought_signature": "abc"}}
    first = delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}, "extra_content": seal}])
    server.says(first, call_delta(1, "b", "g", "{}"))
    answer = reply(asked(server, dialect=GEMINI)).message
    assert [call.name for call in answer.calls] == ["f", "g"]
    calls = sent(server, HI, answer, RESULT, dialect=GEMINI)["messages"][2]["tool_calls"]
    assert [call.get("extra_content") for call in calls] == [seal, None]
    foreign = sent(server, *HISTORY, dialect=GEMINI)["messages"][2]["tool_calls"][0]
    assert foreign["extra_content"]["google"]["thought_signature"] == "skip_thought_signature_validator"


@pytest.mark.parametrize(
    ("url", "model", "effort", "fields"),
    [
        ("https://api.openai.com/v1", "o3", "low", {"reasoning_effort": "low"}),
        ("https://api.openai.com/v1", "gpt-5-mini", "none", {"reasoning_effort": "minimal"}),
        ("https://api.openai.com/v1", "gpt-5.1", "none", {"reasoning_effort": "none"}),
        ("https://api.openai.com/v1", "gpt-4.1", "high", {}),
        (
            "https://dashscope.aliyuncs.com/compatible-mode/v1",
            "qwen-plus",
            "low",
            {"enable_thinking": True, "thinking_budget": 1024},
        ),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen-plus", "none", {"enable_thinking": False}),
        ("https://api.z.ai/api/paas/v4", "glm-5", "none", {"thinking": {"type": "disabled"}}),
        ("https://api.moonshot.ai/v1", "kimi-k2.6", "high", {"thinking": {"type": "enabled"}}),
        ("https://api.deepseek.com", "deepseek-v4-flash", "none", {"thinking": {"type": "disabled"}}),
        ("http://10.0.0.7:8000/v1", "Qwen/Qwen3-8B", "none", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("http://127.0.0.1:11434/v1", "qwen3:8b", "none", {"reasoning_effort": "none"}),
        ("http://10.0.0.7:8000/v1", "openai/gpt-oss-20b", "high", {"reasoning_effort": "high"}),
        ("https://openrouter.ai/api/v1", "anthropic/claude", "medium", {"reasoning": {"effort": "medium"}}),
        ("https://openrouter.ai/api/v1", "anthropic/claude", "none", {"reasoning": {"enabled": False}}),
        ("http://10.0.0.7:8000/v1", "llama-4", "high", {}),
    ],
)
def test_effort_is_asked_for_in_the_providers_words(
    server: ChatServer, url: str, model: str, effort: Effort, fields: dict[str, Any]
) -> None:
    dialect = dialect_for(url, model)
    plain = sent(server, dialect=dialect)
    asking = sent(server, dialect=dialect, effort=effort)
    assert {name: value for name, value in asking.items() if name not in plain} == fields


@pytest.mark.parametrize(
    ("url", "form"), [("https://api.openai.com/v1", "json_schema"), ("https://api.deepseek.com", "json_object")]
)
def test_a_schema_is_asked_for_as_strictly_as_can_be(server: ChatServer, url: str, form: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    wanted = sent(server, dialect=dialect_for(url, "m"), response_schema=schema)["response_format"]
    assert wanted["type"] == form
    assert form == "json_object" or wanted["json_schema"]["schema"] == schema


def test_reasoning_models_of_openai_get_their_own_limit_and_no_temperature(server: ChatServer) -> None:
    asking = sent(server, dialect=dialect_for("https://api.openai.com/v1", "o4-mini"), max_output_tokens=99)
    assert asking["max_completion_tokens"] == 99
    assert not {"temperature", "max_tokens"} & set(asking)


REFUSALS = {
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.": (
        {"max_output_tokens": 99},
        {"max_tokens"},
        {"max_completion_tokens"},
    ),
    "Unsupported value: 'temperature' does not support 0.2 with this model.": ({}, {"temperature"}, set()),
    "extra fields not permitted: stream_options": ({}, {"stream_options"}, set()),
    "response_format is not available": ({"response_schema": {"type": "object"}}, set(), {"response_format"}),
    "unknown field `chat_template_kwargs`": ({"effort": "low"}, {"chat_template_kwargs"}, set()),
}


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("status", [400, 422])
def test_what_is_refused_is_left_out_from_then_on(server: ChatServer, refusal: str, status: int) -> None:
    more, gone, kept = REFUSALS[refusal]
    server.refuses(status, json.dumps({"error": {"message": refusal}}))
    for _ in range(2):
        server.says(delta(content="ok"))
    asked(server, request(**more), request(**more), dialect=dialect_for(server.url, "qwen3"))
    first, *others = server.requests
    assert len(others) == 2, "the second request does not ask again"
    assert gone <= set(first)
    for other in others:
        assert not gone & set(other)
        assert kept <= set(other)


def test_several_refusals_are_met_one_after_the_other_and_not_for_ever(server: ChatServer) -> None:
    for name in ("temperature", "stream_options"):
        server.refuses(400, f"unsupported: {name}")
    server.says(delta(content="ok"))
    assert text(asked(server)) == "ok"
    for _ in range(9):
        server.refuses(400, "unsupported: max_tokens, max_completion_tokens")
    with pytest.raises(ModelUnavailable, match="model_http_error"):
        asked(server, request(max_output_tokens=9))
    assert len(server.requests) == 3 + 5


def test_a_refusal_that_did_not_help_is_not_remembered(server: ChatServer) -> None:
    server.refuses(400, "the temperature of the room is wrong")
    server.refuses(400, "something else")
    with pytest.raises(ModelUnavailable, match="something else"):
        asked(server)
    server.says(delta(content="ok"))
    asked(server)
    assert "temperature" in server.requests[-1]


def test_a_text_that_is_too_long_is_not_sent_again(server: ChatServer) -> None:
    server.refuses(400, "This model's maximum context length is 8192 tokens; reduce max_tokens or the messages.")
    with pytest.raises(ModelUnavailable):
        asked(server, request(max_output_tokens=9))
    assert len(server.requests) == 1


def test_roles_that_must_alternate_do(server: ChatServer) -> None:
    server.refuses(400, "Conversation roles must alternate user/assistant/user/assistant/...")
    server.says(delta(content="ok"))
    server.says(delta(content="ok"))
    asked(server, request(), request(HI, THOUGHTFUL_CALL, RESULT))
    assert [message["role"] for message in server.requests[1]["messages"]] == ["system", "user"]
    assert server.requests[1]["messages"][-1]["content"] == "hi\n\n[context]\nStep 1."
    assert server.requests[2]["messages"][-1]["role"] == "tool"
    assert server.requests[2]["messages"][-1]["content"] == "42\n\n[context]\nStep 1."


def test_a_model_without_a_system_role_is_told_by_the_user(server: ChatServer) -> None:
    server.refuses(400, "System role not supported")
    server.says(delta(content="ok"))
    asked(server)
    assert [message["role"] for message in server.requests[1]["messages"]] == ["user", "user"]
    assert server.requests[1]["messages"][0]["content"] == "You are Zeno.\n\nhi"


@pytest.mark.parametrize(
    ("dialect", "refusal", "replayed"),
    [
        (DEEPSEEK_R1, "The `reasoning_content` in the thinking mode must be passed back to the API.", "hm"),
        (PLAIN, "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2", "hm"),
        (DEEPSEEK, "reasoning_content is not allowed in input messages", None),
    ],
)
def test_the_other_contract_about_reasoning_is_learned(
    server: ChatServer, dialect: Dialect, refusal: str, replayed: str | None
) -> None:
    server.refuses(400, json.dumps({"error": {"message": refusal}}))
    server.says(delta(content="ok"))
    asked(server, request(*HISTORY), dialect=dialect)
    assert server.requests[1]["messages"][2].get("reasoning_content") == replayed


def test_ids_and_names_that_no_provider_takes_are_made_fit_on_both_sides(server: ChatServer) -> None:
    strange = ToolCall("call:1|x", "my tool", "{}")
    messages = sent(
        server, HI, Message("assistant", (strange,)), Message("tool", (ToolResult("call:1|x", "my tool", "failed", "no"),))
    )["messages"]
    call_id = messages[2]["tool_calls"][0]["id"]
    assert call_id == messages[3]["tool_call_id"]
    assert call_id.replace("_", "").isalnum()
