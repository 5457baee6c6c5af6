"""The doctor tries a model out, keeps what it found, and checks the installation."""

import json

from tests.door import Door, texts
from tests.stubs.chat_server import call_delta, chat_server, delta, usage


def test_a_capable_endpoint_is_described_in_both_languages(door: Door) -> None:
    for lang, words in (("en-US", "Native tool calls"), ("zh-CN", "原生工具调用")):
        with chat_server() as server:
            server.says(delta(reasoning_content="hm"), delta(content="Hello"), delta(finish_reason="stop"), usage(5, 1))
            server.says(
                call_delta(0, "a", "get_weather", '{"city": "Paris"}'),
                call_delta(1, "b", "get_weather", '{"city": "Rome"}'),
                delta(finish_reason="tool_calls"),
            )
            server.says(delta(content='{"word": "hello"}'), delta(finish_reason="stop"))
            outcome = door.zeno("doctor", f"openai:tiny-chat@{server.url}", lang=lang)
        assert outcome.code == 0
        assert words in outcome.out
        assert "reasoning_content" in outcome.out
    (profile,) = [found for key, found in json.loads((door.home / "profiles.json").read_text()).items() if server.url in key]
    assert profile["tools"] is profile["parallel_calls"] is profile["json_mode"] is profile["usage"] is True
    assert profile["finish_reasons"] == ["stop", "tool_calls"]


def test_a_model_that_calls_no_tools_is_spoken_to_in_the_prompted_protocol_from_then_on(door: Door) -> None:
    with chat_server() as server:
        server.says(delta(content="Hello"))
        server.refuses(400, "tools are not supported")
        server.says(delta(content="hello"))
        name = f"openai:tiny-chat@{server.url}"
        assert json.loads(door.zeno("doctor", name, "--json").out)["tools"] is False
        server.says(
            delta(content="<thinking>Easy.</thinking><THINKING_DONE>"),
            delta(
                content='<actions>{"actions":[{"type":"TOOL_CALL","tool":"calculate","arguments":{"expression":"6*7"}}]}</actions>'
            ),
        )
        server.says(
            delta(content="<thinking>Done.</thinking><THINKING_DONE>"),
            delta(content='<actions>{"actions":[{"type":"DIRECT_RESPONSE","text":"It is 42.","isComplete":true}]}</actions>'),
        )
        outcome = door.run("what is 6*7?", "--model", name)
    assert outcome.code == 0, outcome.out
    assert "tools" not in server.requests[-1]
    assert outcome.of("tool_finished")[0]["result"]["outcome"] == "done"
    assert texts(outcome)[-1] == "It is 42."


def test_an_endpoint_that_is_not_there_is_said_so(door: Door) -> None:
    outcome = door.zeno("doctor", "openai:x@http://127.0.0.1:9/v1")
    assert outcome.code == 17
    assert "[model_unreachable]" in outcome.err


def test_the_installation_is_checked_without_network(door: Door) -> None:
    outcome = door.zeno("doctor", "--offline", lang="zh-CN")
    assert outcome.code == 0, outcome.out
    assert outcome.out.count("✓") == 6
    assert set(json.loads(door.zeno("doctor", "--offline", "--json").out).values()) == {""}


def test_a_busy_endpoint_is_not_taken_for_one_that_cannot(door: Door) -> None:
    with chat_server() as server:
        server.says(delta(content="Hello"))
        server.refuses(503, "busy")
        outcome = door.zeno("doctor", f"openai:tiny-chat@{server.url}")
    assert outcome.code == 17
    assert not (door.home / "profiles.json").exists()
