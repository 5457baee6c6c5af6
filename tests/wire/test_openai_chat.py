"""The Chat Completions adapter against raw bytes on a loopback server, through the command line."""

import json
import signal
from collections.abc import Iterator

import pytest

from tests.door import Door, texts
from tests.stubs.chat_server import ChatServer, call_delta, chat_server, delta, usage

KEY = "sk-very-secret-key"


@pytest.fixture
def server(door: Door) -> Iterator[ChatServer]:
    """An endpoint that the settings point at, with a key."""
    with chat_server() as state:
        door.env |= {"OPENAI_BASE_URL": state.url, "OPENAI_API_KEY": KEY, "OPENAI_MODEL": "tiny-chat"}
        yield state


def test_text_thinking_and_usage(door: Door, server: ChatServer) -> None:
    server.says(delta(reasoning_content="hm"), delta(content="Hel"), delta(content="lo"), usage(12, 3, cached=8))
    outcome = door.run("hi")
    (reply,) = outcome.of("model_replied")
    assert texts(outcome) == ["Hello"]
    assert reply["message"]["parts"][0] == {"type": "thinking", "text": "hm", "signature": None, "provider": ""}
    assert reply["usage"] == {
        "input_tokens": 12,
        "output_tokens": 3,
        "cached_tokens": 8,
        "reasoning_tokens": 0,
        "estimated": False,
    }
    assert reply["model"] == "tiny-chat"


def test_a_silent_provider_gives_a_marked_estimate(door: Door, server: ChatServer) -> None:
    server.says(delta(content="Hello there"))
    usage_told = door.run("hi").of("model_replied")[0]["usage"]
    assert usage_told["estimated"] is True
    assert usage_told["output_tokens"] > 0


def test_parallel_calls_run_and_their_results_go_back_with_their_ids(door: Door, server: ChatServer) -> None:
    server.says(
        call_delta(0, "a", "calculate", '{"expr'),
        call_delta(1, "b", "calculate"),
        call_delta(0, None, None, 'ession": "6*7"}'),
        call_delta(1, None, None, '{"expression": "2+3"}'),
        delta(finish_reason="tool_calls"),
    )
    server.says(delta(content="42 and 5"))
    outcome = door.run("compute")
    assert outcome.code == 0
    messages = server.requests[1]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "tool"]
    assert [call["id"] for call in messages[2]["tool_calls"]] == ["a", "b"]
    assert [(message["tool_call_id"], "6*7" in message["content"]) for message in messages[3:5]] == [("a", True), ("b", False)]


def test_the_second_step_only_adds_to_what_the_first_one_sent(door: Door, server: ChatServer) -> None:
    server.says(call_delta(0, "a", "calculate", '{"expression": "6*7"}'))
    server.says(delta(content="42"))
    door.run("compute")
    first, second = server.requests
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert first["tools"] == second["tools"]


def test_every_cut_of_the_bytes_gives_the_same_text(door: Door, server: ChatServer) -> None:
    whole = b'data: {"choices":[{"delta":{"content":"\xe4\xbd\xa0\xe5\xa5\xbd \xe2\x80\xa8 ok"}}]}\r\n\r\ndata: [DONE]\n\n'
    for cut in range(1, len(whole), 3):
        server.sends(whole[:cut], whole[cut:])
        assert texts(door.run("hi")) == ["你好 \u2028 ok"]


def test_the_key_is_sent_and_appears_nowhere_else(door: Door, server: ChatServer) -> None:
    server.refuses(401, json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}))
    outcome = door.run("hi")
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert (outcome.code, outcome.events[-1]["code"]) == (17, "model_unauthorized")
    run_id = outcome.events[0]["run_id"]
    shown = outcome.out + outcome.err + door.zeno("trace", run_id).out + door.zeno("runs").out
    assert KEY not in shown
    assert all(KEY.encode() not in path.read_bytes() for path in door.home.rglob("*") if path.is_file())


def test_the_trace_id_travels_with_the_request(door: Door, server: ChatServer) -> None:
    server.says(delta(content="hi"))
    run_id = door.run("hi").events[0]["run_id"]
    version, trace_id, parent, _ = server.headers[0]["traceparent"].split("-")
    assert (version, trace_id, len(parent)) == ("00", run_id, 16)


@pytest.mark.parametrize(
    ("status", "code"), [(404, "model_not_found"), (429, "model_busy"), (500, "model_http_error"), (403, "model_unauthorized")]
)
def test_refusals_are_told_apart(door: Door, server: ChatServer, status: int, code: str) -> None:
    server.extra_headers["retry-after"] = "0"
    for _ in range(3):
        server.refuses(status, "no")
    outcome = door.zeno("run", "hi", lang="zh-CN")
    assert outcome.code == 17
    assert str(status) in outcome.out
    assert json.loads(door.zeno("runs", "--json").out)[0]["ending"] == "model_failed"
    run_id = json.loads(door.zeno("runs", "--json").out)[0]["id"]
    assert f"[{code}]" not in door.zeno("trace", run_id).out, "people read words, not codes"


def test_an_unreachable_model_is_said_so_with_its_address(door: Door) -> None:
    door.env |= {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    outcome = door.run("hi")
    assert outcome.events[-1]["code"] == "model_unreachable"
    assert outcome.events[-1]["params"]["endpoint"] == "http://127.0.0.1:9/v1"


@pytest.mark.parametrize("broken", [b"data: {oops\n\n", b"data: [1]\n\n"])
def test_a_stream_that_is_no_protocol_is_a_typed_failure(door: Door, server: ChatServer, broken: bytes) -> None:
    server.sends(broken)
    assert door.run("hi").events[-1]["code"] == "model_protocol_error"


def test_a_local_server_is_found_and_gets_no_key(door: Door, server: ChatServer) -> None:
    del door.env["OPENAI_BASE_URL"], door.env["OPENAI_API_KEY"], door.env["OPENAI_MODEL"]
    door.env["ZENO_LOCAL_MODEL_PORTS"] = json.dumps([9, int(server.url.split(":")[2].split("/")[0])])
    server.says(delta(content="hello from here"))
    outcome = door.run("hi")
    assert outcome.events[0]["model"] == f"openai:tiny-chat@{server.url}"
    assert texts(outcome) == ["hello from here"]
    assert "authorization" not in server.headers[0]


def test_cancelling_closes_the_connection_to_the_model(door: Door, server: ChatServer) -> None:
    server.hang = True
    server.says(delta(content="once upon"), done=False)
    with door.running("run", "tell me a story", "--json") as process:
        assert process.stdout
        for line in process.stdout:
            if json.loads(line)["type"] == "step_started":
                process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
    assert server.closed_early.wait(5)
