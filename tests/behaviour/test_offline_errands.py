"""The offline model picks small tools by meaning, fills their arguments, and answers in the user's language."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.offline import Conversation, by_name
from tests.stubs.dns_server import dns_server
from tests.stubs.weather_server import weather_server
from zeno.core.ports import Tool
from zeno.tools.builtin.calculator import calculate
from zeno.tools.builtin.dns import dns_tool
from zeno.tools.builtin.files import read_file, write_temporary_file
from zeno.tools.builtin.qr import generate_qr_code
from zeno.tools.builtin.weather import weather_tool
from zeno.tools.function import tool

Call = tuple[str, dict[str, Any]]


@tool()
def translate_text(text: str, target: str) -> str:
    """Translate a text into another language. Use it when a translation is wanted.

    Args:
        text: The text to translate.
        target: Language to translate into, such as French.
    """
    return f"{text} is bonjour in {target}. Nothing else."


@tool()
def search_flights(origin: str, destination: str, day: str) -> str:
    """Find flights between two cities. Use it for air travel.

    Args:
        origin: City of departure.
        destination: City of arrival.
        day: Date of the flight as YYYY-MM-DD.
    """
    return f"3 flights from {origin} to {destination} on {day}. The cheapest costs 99 €."


@tool()
def set_light(room: str, state: Literal["on", "off"]) -> str:
    """Switch a lamp at home on or off. Use it to control the light.

    Args:
        room: Which room.
        state: Whether the light is to be on.
    """
    return f"The light in the {room} is {state}."


@tool(action="RAG_RETRIEVE")
def search_knowledge(query: str) -> str:
    """Search the documents of the company. Use it for questions about internal rules.

    Args:
        query: What to search for.
    """
    return f"Found for {query!r}: 30 days. More below."


@pytest.fixture(scope="module")
def small_tools() -> Iterator[dict[str, Tool]]:
    with weather_server() as weather, dns_server() as port:
        yield by_name(
            [
                weather_tool(weather.forecast_url, weather.geocoding_url),
                dns_tool(["127.0.0.1"], port),
                calculate,
                generate_qr_code,
                read_file,
                write_temporary_file,
            ]
        )


@pytest.fixture
def conversation(small_tools: dict[str, Tool], tmp_path: Path) -> Conversation:
    (tmp_path / "notes.txt").write_text("first line\nsecond line\n", "utf-8")
    return Conversation(small_tools, tmp_path)


def weather(*cities: str, **more: int) -> list[Call]:
    return [("get_weather", {"city": city, **more}) for city in cities]


def dns(domain: str, *kinds: str) -> list[Call]:
    return [("query_dns", {"domain": domain, "record_type": kind}) for kind in kinds]


def sums(*expressions: str) -> list[Call]:
    return [("calculate", {"expression": expression}) for expression in expressions]


ERRANDS: list[tuple[str, list[Call]]] = [
    ("weather in Beijing and Shanghai", weather("Beijing", "Shanghai")),
    ("北京和上海的天气怎么样", weather("北京", "上海")),
    ("weather in Beijing and London for 2 days", weather("Beijing", "London", days=2)),
    ("What's the weather like in London tomorrow?", weather("London", days=2)),
    ("查一下北京未来三天的天气", weather("北京", days=3)),
    ("look up A and MX of example.com", dns("example.com", "A", "MX")),
    ("查一下 example.com 的 TXT 记录", dns("example.com", "TXT")),
    ("what is the ip of www.example.com?", dns("www.example.com", "A")),
    ("12乘以8等于多少", sums("12 * 8")),
    ("compute 2^10 and 15% of 80", sums("2^10", "15% * 80")),
    ("calc 3*4 and make a QR for https://x.y", [*sums("3*4"), ("generate_qr_code", {"text": "https://x.y"})]),
    ("北京天气如何，顺便算一下 3*4", [*weather("北京"), *sums("3*4")]),
    ("QR code saying hello world", [("generate_qr_code", {"text": "hello world"})]),
    ("生成 https://zeno.dev 的二维码，svg 格式", [("generate_qr_code", {"text": "https://zeno.dev", "format": "svg"})]),
    ("read notes.txt", [("read_file", {"path": "notes.txt"})]),
    ("show the first 1 lines of notes.txt", [("read_file", {"path": "notes.txt", "max_lines": 1})]),
    ("把“你好，世界”写入 hello.txt", [("write_temporary_file", {"path": "hello.txt", "text": "你好，世界"})]),
    ("Save the text 'a, 1+1' into list.txt", [("write_temporary_file", {"path": "list.txt", "text": "a, 1+1"})]),
]

# Written after the rules had settled, and tried once before anything was changed for them.
HELD_OUT: list[tuple[str, list[Call]]] = [
    ("Do I need an umbrella in Shanghai?", weather("Shanghai")),
    ("Is it cold in London right now?", weather("London")),
    ("上海后天会下雨吗？", weather("上海", days=3)),
    ("which mail servers does example.com use", dns("example.com", "MX")),
    ("example.com有没有IPv6地址", dns("example.com", "AAAA")),
    ("how much is (17 + 3) / 4?", sums("(17 + 3) / 4")),
    ("请计算 1,250 的 8%", sums("1,250 * 8%")),
    ("What is (1280 - 950) / 950?", [("calculate", {"expression": "(1280 - 950) / 950"})]),
    ("turn https://zeno.dev/docs into a QR code", [("generate_qr_code", {"text": "https://zeno.dev/docs"})]),
    ("notes.txt 里写了什么", [("read_file", {"path": "notes.txt"})]),
    ("create todo.md with the content: buy milk", [("write_temporary_file", {"path": "todo.md", "text": "buy milk"})]),
]


@pytest.mark.parametrize(("sentence", "calls"), [*ERRANDS, *HELD_OUT])
def test_a_request_becomes_the_calls_it_means_in_one_reply(
    conversation: Conversation, sentence: str, calls: list[Call]
) -> None:
    conversation.say(sentence)
    assert conversation.reply is not None
    assert conversation.reply.turn == "answer"
    assert conversation.batches == [calls]


def test_the_weather_of_two_cities_is_compared(conversation: Conversation) -> None:
    answer = conversation.say("compare the weather of Beijing and London")
    assert answer.startswith("Beijing is 3.3 °C warmer than London (12.3 °C against 9 °C).")


def test_an_answer_in_chinese_has_the_weather_in_chinese_words(conversation: Conversation) -> None:
    answer = conversation.say("上海天气")
    assert "现在 22.5 °C，小雨" in answer


def test_a_file_is_told_in_the_language_of_the_request_and_without_the_words_for_the_model(conversation: Conversation) -> None:
    (conversation.workspace / "empty.txt").touch()
    answer = "notes.txt：\n\nfirst line\nsecond line"
    assert conversation.say("读取 notes.txt").strip() == answer
    assert conversation.say("读取 notes.txt 的前 1 行").strip() == "notes.txt：\n\nfirst line\n\n文件从第 2 行起还有内容。"
    assert conversation.say("读取 empty.txt").strip() == "empty.txt 是空文件。"


def test_records_and_sums_are_told_in_a_sentence(conversation: Conversation) -> None:
    answer = conversation.say("MX of example.com, and what is 7*6?")
    assert "5 mail.example.com, 20 backup.example.com" in answer
    assert "7*6 = 42" in answer


@pytest.mark.parametrize(
    ("request_text", "answer", "call"),
    [
        ("weather please", "London", ("get_weather", {"city": "London"})),
        ("查天气", "北京", ("get_weather", {"city": "北京"})),
        ("make a QR code", "hello", ("generate_qr_code", {"text": "hello"})),
        ("calculate something for me", "3*4", ("calculate", {"expression": "3*4"})),
        ("read missing.txt", "notes.txt", ("read_file", {"path": "notes.txt"})),
        ("weather in Atlantis", "London", ("get_weather", {"city": "London"})),
        ("write 'abc' to notes.txt", "yes", ("write_temporary_file", {"path": "notes.txt", "text": "abc", "overwrite": True})),
        ("write 'abc' to notes.txt", "new.txt", ("write_temporary_file", {"path": "new.txt", "text": "abc"})),
    ],
)
def test_what_is_missing_is_asked_for_and_the_answer_is_put_in_its_place(
    conversation: Conversation, request_text: str, answer: str, call: Call
) -> None:
    question = conversation.say(request_text)
    assert conversation.reply is not None
    assert conversation.reply.turn == "question"
    assert question.endswith(("?", "？"))
    conversation.say(answer)
    assert conversation.reply.turn == "answer"
    assert conversation.calls == [call]


def test_a_request_after_a_question_of_ours_is_a_request_and_not_the_answer(conversation: Conversation) -> None:
    conversation.say("make a QR code")
    conversation.say("no, tell me the weather in London instead")
    assert conversation.calls == weather("London")


def test_one_failure_among_several_calls_is_told_beside_the_other_results(conversation: Conversation) -> None:
    answer = conversation.say("compute 1/0 and 2+2")
    assert conversation.reply is not None
    assert conversation.reply.turn == "answer"
    assert "2+2 = 4" in answer
    assert "divides by zero" in answer


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("hello", "not a language model"),
        ("你好！", "不是语言模型"),
        ("what can you do?", "OPENAI_BASE_URL"),
        ("你能做什么", "OPENAI_API_KEY"),
        ("write me a poem about autumn", "I cannot do this"),
        ("为什么天空是蓝色的", "这个我做不到"),
        ("谢谢", "不客气"),
    ],
)
def test_talk_is_answered_at_once_and_honestly(conversation: Conversation, sentence: str, words: str) -> None:
    assert words in conversation.say(sentence)
    assert conversation.calls == []


def test_the_part_of_a_request_that_is_beyond_it_is_named(conversation: Conversation) -> None:
    answer = conversation.say("weather in London, and write me a poem about it")
    assert "London: 9 °C" in answer
    assert "beyond me" in answer


@pytest.mark.parametrize(
    ("sentence", "call"),
    [
        ("translate 'hello' into French", ("translate_text", {"text": "hello", "target": "French"})),
        (
            "I want to fly from Rome to Oslo on 2026-12-01",
            ("search_flights", {"origin": "Rome", "destination": "Oslo", "day": "2026-12-01"}),
        ),
        ("turn off the light in the kitchen", ("set_light", {"room": "kitchen", "state": "off"})),
        ("how many holidays do we get?", ("search_knowledge", {"query": "how many holidays do we get?"})),
    ],
)
def test_tools_never_seen_before_are_chosen_by_their_description_and_filled_by_their_schema(
    small_tools: dict[str, Tool], tmp_path: Path, sentence: str, call: Call
) -> None:
    tools = {**small_tools, **by_name([translate_text, search_flights, set_light, search_knowledge])}
    conversation = Conversation(tools, tmp_path)
    conversation.say(sentence)
    assert conversation.calls == [call]


def test_a_required_parameter_of_an_unknown_tool_is_asked_for_with_its_description(tmp_path: Path) -> None:
    conversation = Conversation(by_name([search_flights]), tmp_path)
    question = conversation.say("find flights from Rome to Oslo")
    assert "Date of the flight" in question
    answer = conversation.say("2026-12-01")
    assert answer == "3 flights from Rome to Oslo on 2026-12-01."


def test_thinking_says_what_comes_next_in_the_language_of_the_user(conversation: Conversation) -> None:
    conversation.say("北京天气")
    assert conversation.thinking[0] == "接下来调用：get_weather。"
