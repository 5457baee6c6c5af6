"""The prompted protocol in every form that models write it, and what is said of a reply that cannot be read."""

import json

import pytest

from tests.wire.prompted import HELLO, PARIS, ROME, TOOLS, acts, hear, refused
from zeno.core.messages import ThinkingPart, ToolCall
from zeno.core.ports import TextDelta, ThinkingDelta

# Every form that models write


@pytest.mark.parametrize(
    "text",
    [
        acts(PARIS, ROME),
        json.dumps({"thinking": "I see.", "actions": [PARIS, ROME]}),
        "<think>I see.</think>" + json.dumps([PARIS, ROME]),
        "<Thinking>I see.<Thinking_Done>Let me act.<Actions>" + json.dumps([PARIS, ROME]),
        "<thinking>I see.</thinking>```json\n" + json.dumps({"actions": [PARIS, ROME]}, indent=2) + "\n```\nDone!",
        "<thinking>I see.</thinking><actions>```\n" + json.dumps({"actions": [PARIS, ROME]}) + "\n```</actions>",
        "<thinking>I see.</thinking>" + json.dumps(PARIS) + "\n" + json.dumps(ROME),
        "<thinking>I see.</thinking><actions>" + json.dumps({"actions": [PARIS]}) + json.dumps({"actions": [ROME]}),
        "I see.</think>" + json.dumps({"actions": [PARIS, ROME]}),
        acts({"action": "tool_call", "name": "weather", "input": {"city": "Paris"}}, ROME | {"type": "TOOL", "id": "1"}),
        acts({"type": "weather", "parameters": {"city": "Paris"}}, {"tool_name": "weather", "args": '{"city": "Rome"}'}),
        acts({"type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}, ROME),
        acts(PARIS, ROME)[: -len("]}</actions>")] + "</actions>",
        acts(PARIS, ROME).replace("}, {", "}}, {"),
        acts(PARIS, ROME).replace('"', "'"),
        acts(PARIS, ROME).replace("]}", ",],}"),
        acts(PARIS, ROME).replace("<actions>", "<actions>" + json.dumps({"actions": [PARIS, ROME]}) + "\n"),
    ],
)
def test_two_calls_are_understood_in_every_form(text: str) -> None:
    heard = hear(text)
    assert heard.thinking.strip() == "I see."
    assert heard.calls == [("weather", {"city": "Paris"}), ("weather", {"city": "Rome"})]
    assert [call.id for call in heard.reply.message.calls] == ["p1", "p2"]
    assert heard.text == ""


@pytest.mark.parametrize(
    ("text", "said", "turn"),
    [
        (acts(HELLO), "Hello.", "answer"),
        (acts({"type": "DIRECT_RESPONSE", "content": "Hello."}), "Hello.", "answer"),
        (acts(HELLO | {"text": "Which city?", "isComplete": False}), "Which city?", "question"),
        (acts(HELLO | {"text": "哪个城市？ "}), "哪个城市？ ", "question"),
        (acts(HELLO | {"isComplete": False}), "Hello.", "note"),
        (acts(HELLO | {"isComplete": "False"}), "Hello.", "note"),
        (acts(HELLO, HELLO | {"text": "And more."}), "Hello.\n\nAnd more.", "answer"),
        ("Hello.", "Hello.", "answer"),
        ('{"response": "Hello."}', "Hello.", "answer"),
        ("<thinking>Hm.</thinking>\nHello. Which one?", "Hello. Which one?", "question"),
        ('Use ```json\n{"name": 1}\n```', 'Use ```json\n{"name": 1}\n```', "answer"),
        ('{"type": "object", "properties": {"a": {"type": "string"}}}',) * 2 + ("answer",),
    ],
)
def test_words_are_an_answer_a_question_or_a_note(text: str, said: str, turn: str) -> None:
    heard = hear(text)
    assert (heard.text, heard.reply.message.text, heard.reply.turn) == (said, said, turn)
    assert not heard.calls


def test_knowledge_and_writing_reach_the_tool_of_their_kind() -> None:
    heard = hear(acts({"type": "RAG_RETRIEVE", "query": "tax", "top": 3}, {"type": "LLM_GENERATE", "prompt": "Polish: hi"}))
    assert heard.calls == [("search", {"query": "tax", "top": 3}), ("draft", {"instruction": "Polish: hi"})]
    polish = hear(
        acts({"type": "LLM_GENERATE", "prompt": "Polish.", "input": "hi"}, {"type": "LLM_GENERATE", "input": {"prompt": "X"}})
    )
    assert polish.calls == [("draft", {"instruction": "Polish.", "text": "hi"}), ("draft", {"instruction": "X"})]
    nested = hear(acts({"type": "RAG_RETRIEVE", "arguments": {"query": "tax"}}))
    assert nested.calls == [("search", {"query": "tax"})]


def test_thinking_and_calls_in_the_provider_s_own_form_are_kept() -> None:
    heard = hear("Let me look.", thinking="Sealed thought.", calls=[ToolCall("c1", "weather", "{}")])
    assert heard.order == [ThinkingDelta("Sealed thought."), TextDelta("Let me look.")]
    assert [part.provider for part in heard.reply.message.parts if isinstance(part, ThinkingPart)] == ["inner"]
    assert [call.id for call in heard.reply.message.calls] == ["c1"]
    both = hear(acts(PARIS), calls=[ToolCall("c1", "weather", "{}")])
    assert [call.id for call in both.reply.message.calls] == ["c1", "p1"]


def test_what_was_only_thought_is_not_done() -> None:
    musing = json.dumps({"actions": [PARIS]})
    assert hear(f"<thinking>I could write {musing} now.</thinking>{acts(ROME)}").calls == [("weather", {"city": "Rome"})]
    assert hear(f"I could write {musing} but no.</think>Hello.").calls == []


# What cannot be read is refused with the reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (acts({"type": "FLY"}), 'actions[0]: "type" must be TOOL_CALL'),
        (acts(PARIS, {"type": "TOOL_CALL", "arguments": {}}), 'actions[1]: "tool" must be'),
        (acts({"type": "TOOL_CALL", "tool": "weather", "city": "Paris"}), "put the arguments of weather into"),
        (acts(PARIS, HELLO | {"text": ""}), 'actions[1]: "text" must be'),
        (acts(PARIS, HELLO | {"isComplete": "maybe"}), '"isComplete" must be true or false'),
        (acts(), '"actions" is missing or empty'),
        (acts(7), "actions[0] must be a JSON object"),
        ('{"thinking": "Only this."}', '"actions" is missing or empty'),
        ("<thinking>Only this.</thinking>", "it ends after the thinking"),
        ("<actions>Hello.</actions>", "holds no JSON object"),
        (acts(PARIS)[:-20], "The JSON is not complete"),
        ('{"ac', "The JSON is not complete"),
        (acts(PARIS | {"arguments": {"city": "X"}}).replace("X", 'a "b" c'), "line 1 column"),
    ],
)
def test_a_broken_reply_is_refused_with_what_is_wrong_and_where(text: str, reason: str) -> None:
    assert reason in refused(text)


def test_a_kind_without_a_tool_is_refused() -> None:
    assert "there is no tool for RAG_RETRIEVE" in refused(acts({"type": "RAG_RETRIEVE", "query": "x"}), tools=TOOLS[:1])


def test_a_half_argument_never_reaches_a_tool_and_the_limit_is_named() -> None:
    for length in range(len("<thinking>I"), len(acts(PARIS)) - len("</actions>")):
        assert "limit of tokens" in refused(acts(PARIS)[:length], finish_reason="length")


def test_an_answer_that_was_read_to_its_end_is_taken_although_the_rest_is_broken() -> None:
    heard = hear('<actions>{"actions":[{"type":"DIRECT_RESPONSE","text":"All of it."} oops ;;')
    assert (heard.text, heard.reply.turn) == ("All of it.", "answer")
    assert "cannot be read" in refused('{"actions":[{"type":"DIRECT_RESPONSE","text":"A note."},{"type":"TOOL_CALL" oops ;;]}')


def test_unknown_tools_and_strange_arguments_are_left_to_the_loop() -> None:
    heard = hear(acts({"type": "TOOL_CALL", "tool": "fly", "arguments": [1]}, {"type": "TOOL_CALL", "tool": "weather"}))
    assert [(call.name, call.arguments) for call in heard.reply.message.calls] == [("fly", "[1]"), ("weather", "")]


def test_an_empty_reply_is_passed_on_as_empty() -> None:
    assert hear("").reply.message.parts == ()


def test_deep_and_long_rubbish_is_refused_and_does_not_crash() -> None:
    for text in ('{"actions":' + "[" * 5_000 + "}" * 5_000, '{"actions":[' + '{"a":' * 5_000):
        assert refused(text)
