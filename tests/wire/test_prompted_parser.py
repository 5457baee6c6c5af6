"""Replies of the prompted protocol cut anywhere, and what is shown of them while they are written."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire.prompted import HELLO, PARIS, ROME, acts, hear
from zeno.core.errors import ModelUnavailable
from zeno.core.messages import ThinkingPart
from zeno.core.ports import Delta, TextDelta, ThinkingDelta
from zeno.models.prompted.parser import Parser

# Cut anywhere

CORPUS = [
    acts(HELLO, thinking="a < b, x<th and <b>bold</b> <tool>"),
    f"chatter <thinking>one</thinking> Now:\n<thinking>two</thinking> ```json\n{json.dumps({'actions': [PARIS, ROME]})}\n```",
    r'{"thinking": "caf\u00e9 \ud83d\ude00 \"q\" \\ \n", "actions": '
    r'[{"text": "\ud83d\ude00 \u4f60\u597d \ud83d!", "type": "DIRECT_RESPONSE"}]}',
    r'<think>C:\data</think>{"actions":[{"type":"DIRECT_RESPONSE","isComplete":false,"text":"D:\data \u12 \q"},'
    rf"{json.dumps(PARIS)}]}}",
    'A plain answer: {1, 2}, `{"name": 1}`, [see] and a <th of it < {',
    "thinking without a beginning</think>42",
    f"<thinking>never closed <actions>{json.dumps([PARIS])}</actions> thank you",
    "<thinking>an <actions> block follows</thinking><ACTIONS>" + json.dumps({"actions": [HELLO, HELLO | {"text": "你好，"}]}),
    "{'actions': [{'type': 'tool_call', 'tool_name': 'weather', 'args': {'city': 'O\\'Hare',}},]}",
    acts(HELLO | {"text": 'Write <actions>{}</actions> and </thinking>, then {"actions": []}.'}),
    f"{json.dumps(PARIS)}\n{json.dumps(ROME)}{json.dumps({'type': 'RAG_RETRIEVE', 'query': 'x'})}",
]
RUBBISH = [
    *"{}[]\",:<>\\`' a？",
    *("<thinking>", "</thinking>", "<THINKING_DONE>", "<actions>", "</actions>", "\\u", "d83d", "true"),
    *('"actions"', '"type"', '"DIRECT_RESPONSE"', '"text"', '{"actions":[', '{"type":"DIRECT_RESPONSE","text":"'),
]


@pytest.mark.parametrize("text", CORPUS)
def test_every_single_cut_gives_the_same_result(text: str) -> None:
    whole = hear(text)
    for at in range(1, len(text)):
        cut = hear(text[:at], text[at:])
        assert (cut.order, cut.reply.message, cut.reply.turn) == (whole.order, whole.reply.message, whole.reply.turn), text[:at]


@settings(max_examples=150, deadline=None)
@given(text=st.sampled_from(CORPUS), cuts=st.lists(st.integers(0, 400), max_size=40))
def test_any_cuts_give_the_same_result(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    cut = hear(*(text[start:end] for start, end in pairwise(edges)))
    whole = hear(text)
    assert (cut.order, cut.reply.message) == (whole.order, whole.reply.message)


@settings(max_examples=150, deadline=None)
@given(
    said=st.text(max_size=80), thought=st.text(max_size=40), ascii_only=st.booleans(), form=st.sampled_from(["tags", "object"])
)
def test_any_text_arrives_as_it_was_meant_letter_by_letter(said: str, thought: str, ascii_only: bool, form: str) -> None:
    said, thought = f"{said}.", thought.replace("<", "(")
    actions = {"actions": [HELLO | {"text": said}]}
    if form == "object":
        reply = json.dumps({"thinking": thought} | actions, ensure_ascii=ascii_only)
    else:
        reply = (
            f"<thinking>{thought}</thinking><THINKING_DONE><actions>{json.dumps(actions, ensure_ascii=ascii_only)}</actions>"
        )
    heard = hear(*reply)
    assert heard.text == said == heard.reply.message.text
    assert heard.thinking == thought.lstrip()


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(RUBBISH), max_size=40))
def test_rubbish_is_read_or_refused_and_the_same_however_it_is_cut(pieces: list[str]) -> None:
    assert outcome(*pieces) == outcome("".join(pieces))


def outcome(*pieces: str) -> object:
    """What came of a reply, or why it could not be read."""
    try:
        heard = hear(*pieces)
    except ModelUnavailable as error:
        return error.code, error.params
    return heard.order, heard.reply


# Shown while it is written


def shown(*pieces: str) -> list[Delta]:
    """What is shown when this much has been written and more is to come."""
    parser = Parser()
    return [delta for piece in pieces for delta in parser.feed(piece)]


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("<thinking>I look", "I look"),
        ("<thinking>a < b", "a < b"),
        ("<thinking>a <", "a "),
        ("<thinking>x<th", "x"),
        ("<thinking>x<thi.", "x<thi."),
        ("<thinking>x</thin", "x"),
        ("<thinking>x</thinker", "x</thinker"),
        ("<thinking>x<<", "x<"),
        ("<thinking>x<<thinkin", "x<"),
        ('{"thinking": "so', "so"),
        ('{"thinking": "so \\', "so "),
        ('{"thinking": "so \\u00e', "so "),
        ('{"thinking": "so \\u00e9', "so é"),
        ('{"thinking": "so \\ud83d', "so "),
        ('{"thinking": "so \\ud83d\\ude00', "so 😀"),
        ('{"thinking": "so \\ud83d.', "so \ufffd."),
    ],
)
def test_thinking_is_shown_at_once_but_for_what_may_be_a_tag_or_half_a_letter(written: str, seen: str) -> None:
    assert shown(written) == [ThinkingDelta(seen)]
    assert "".join(delta.text for delta in shown(*written)) == seen


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ('<actions>{"actions":[{"type":"DIRECT_RESPONSE","text":"Hel', "Hel"),
        ('{"actions":[{"isComplete":true,"Type":"direct-response","content":"Hel', "Hel"),
        ('{"actions":[{"text":"Hel', ""),
        ('{"actions":[{"text":"Hello.","type":"DIRECT_RESPONSE"', "Hello."),
        ('{"actions":[{"text":"Hello.","type":"TOOL_CALL","tool":"weather","arguments":{}}', ""),
        (
            '{"actions":[{"type":"TOOL_CALL","text":"no","tool":"weather","arguments":{"text":"no","type":"DIRECT_RESPONSE"}}',
            "",
        ),
        ('[{"type":"DIRECT_RESPONSE","text":"Hel', "Hel"),
        ('{"type":"DIRECT_RESPONSE","text":"Hel', "Hel"),
        ('{"actions":[{"type":"DIRECT_RESPONSE","text":"One."},{"type":"DIRECT_RESPONSE","text":"Two', "One.\n\nTwo"),
        ('chatter {"actions', ""),
        ("<THINKING_DONE>chatter<act", ""),
        ("plain words may be chatter until the end", ""),
    ],
)
def test_words_for_the_user_are_shown_as_soon_as_they_are_known_to_be_for_the_user(written: str, seen: str) -> None:
    assert "".join(delta.text for delta in shown(written) if isinstance(delta, TextDelta)) == seen


@pytest.mark.parametrize("text", CORPUS)
def test_what_is_shown_is_what_the_message_says(text: str) -> None:
    heard = hear(*text)
    assert heard.text == heard.reply.message.text
    own = [part.text for part in heard.reply.message.parts if isinstance(part, ThinkingPart)]
    assert "".join(own) == heard.thinking.rstrip()


def test_nothing_of_tags_and_json_is_ever_shown() -> None:
    text = f"<thinking>Weigh it.</thinking> So: <THINKING_DONE> <actions>{json.dumps({'actions': [HELLO, PARIS]})}</actions> ok"
    for delta in shown(*text):
        assert not set(delta.text) & set('<>{}[]"_'), delta
