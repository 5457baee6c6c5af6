"""The first tools, each asked for in a sentence, in both languages, without a language model; weather and DNS against stubs."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.door import Door, texts
from tests.stubs.dns_server import dns_server
from tests.stubs.weather_server import weather_server


@pytest.fixture
def offline(door: Door) -> Iterator[Door]:
    """A shell whose weather and name servers are on loopback."""
    with weather_server() as weather, dns_server() as port:
        door.env |= {
            "ZENO_MODEL": "offline",
            "ZENO_TOOLS__WEATHER_FORECAST_URL": weather.forecast_url,
            "ZENO_TOOLS__WEATHER_GEOCODING_URL": weather.geocoding_url,
            "ZENO_TOOLS__DNS_NAMESERVERS": '["127.0.0.1"]',
            "ZENO_TOOLS__DNS_PORT": str(port),
        }
        (door.here / "notes.txt").write_bytes("第一行：记得买牛奶\nsecond line".encode("gb18030"))
        yield door


SENTENCES = [
    ("What is the weather in London?", "get_weather", {"city": "London"}, "London"),
    ("北京今天天气怎么样？", "get_weather", {"city": "北京"}, "北京"),
    ("Look up the MX records of example.com", "query_dns", {"domain": "example.com", "record_type": "MX"}, "mail"),
    ("查一下 example.com 的 A 记录", "query_dns", {"domain": "example.com", "record_type": "A"}, "example.com"),
    ("Calculate (3+4)*2^3", "calculate", {}, "56"),
    ("计算 1,200×3 等于多少", "calculate", {}, "3,600"),
    ("Make a QR code for https://example.com/a?b=c", "generate_qr_code", {"text": "https://example.com/a?b=c"}, ".png"),
    (
        "给 https://example.com 生成一个 SVG 二维码",
        "generate_qr_code",
        {"text": "https://example.com", "format": "svg"},
        ".svg",
    ),
    ("Read notes.txt", "read_file", {"path": "notes.txt"}, "second line"),
    ("读一下notes.txt", "read_file", {"path": "notes.txt"}, "记得买牛奶"),
    (
        'Write "hello there" to greeting.txt',
        "write_temporary_file",
        {"path": "greeting.txt", "text": "hello there"},
        "greeting.txt",
    ),
    ("把“你好，世界”写到 问候.txt", "write_temporary_file", {"path": "问候.txt", "text": "你好，世界"}, "问候.txt"),
]


@pytest.mark.parametrize(("sentence", "tool", "arguments", "said"), SENTENCES)
def test_a_sentence_becomes_one_call_and_an_answer(
    offline: Door, sentence: str, tool: str, arguments: dict[str, Any], said: str
) -> None:
    outcome = offline.run(sentence)
    assert outcome.code == 0, outcome.out
    asked = [part for event in outcome.of("model_replied") for part in event["message"]["parts"] if part["type"] == "tool_call"]
    assert [part["name"] for part in asked] == [tool]
    assert arguments.items() <= json.loads(asked[0]["arguments"]).items()
    assert said.replace(",", "") in texts(outcome)[-1].replace(",", "")


def test_two_cities_are_asked_for_at_once_and_compared_in_one_answer(offline: Door) -> None:
    outcome = offline.run("Compare the weather in London and Beijing")
    kinds = [event["type"] for event in outcome.events]
    assert kinds.count("tool_started") == 2
    assert kinds.index("tool_finished") > max(position for position, kind in enumerate(kinds) if kind == "tool_started")
    assert "London" in texts(outcome)[-1]
    assert "Beijing" in texts(outcome)[-1]


def test_small_talk_is_answered_at_once_and_says_what_answers(offline: Door) -> None:
    for sentence, honest in (("Hello!", "not a language model"), ("你好", "不是语言模型")):
        outcome = offline.run(sentence)
        assert len(outcome.of("model_replied")) == 1
        assert honest in texts(outcome)[-1]
