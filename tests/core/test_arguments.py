"""What models write as arguments: read as what it plainly means, refused when it could mean two things or nothing."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zeno.core.arguments import MOST_CHARACTERS, Repaired, arguments_of, repaired
from zeno.core.errors import ToolFailed
from zeno.core.lenient_json import MOST_DEPTH
from zeno.core.messages import ToolCall

LISTED = [{"d": 1}, {"d": 2}, "e", "f"]

MENDED = {
    "a literal backslash-n outside strings": (r'{"a":1, \n"b":2\n}', {"a": 1, "b": 2}),
    "a fence with words around it": ('Sure:\n```json\n{"a": "`"}\n```\nDone.', {"a": "`"}),
    "a fence inside a string": ('```json\n{"text": "```py\\nx\\n```",}\n```', {"text": "```py\nx\n```"}),
    "a fence around null": ("```json\nnull\n```", None),
    "a fence that nobody closed": ('```json\n{"a": 1}', {"a": 1}),
    "an object and a sentence": ('{"a": 1} That is all I need.', {"a": 1}),
    "words with brackets": ('As [the docs] say [1], use {x}: {"a": 1}. See {y}, [2].', {"a": 1}),
    "commas too many": ('{,"a": [,1,,2,],, "b": 3,}', {"a": [1, 2], "b": 3}),
    "commas too few": ('{"a": [1\n2] "b": "x"\n"c": [{"d": 1} {"d": 2}, "e" "f"]}', {"a": [1, 2], "b": "x", "c": LISTED}),
    "a bracket forgotten inside": ('{"a": [1, 2}', {"a": [1, 2]}),
    "an object's bracket forgotten inside": ('{"l": [{"a": 1], "b": 2}', {"l": [{"a": 1}], "b": 2}),
    "a bracket forgotten in a closed fence": ('```\n{"a": [1, 2\n```', {"a": [1, 2]}),
    "another bracket by mistake": ('{"a": [1, 2}, "b": 3}', {"a": [1, 2], "b": 3}),
    "another bracket by mistake in a list": ('[{"a": 1], {"a": 2}]', [{"a": 1}, {"a": 2}]),
    "another bracket at the end": ('{"a": 1]', {"a": 1}),
    "another bracket by mistake, deeper": ('{"x": {"a": [1}, "b": 2}}', {"x": {"a": [1], "b": 2}}),
    "a bracket forgotten deeper": ('{"x": {"a": [1}, "b": 2}', {"x": {"a": [1]}, "b": 2}),
    "a bracket too many inside": ('{"a": [{}}, true]}', {"a": [{}, True]}),
    "a bracket too many, deeper": ('{"a": [["x", {}}, -4.5]]}', {"a": [["x", {}, -4.5]]}),
    "two brackets swapped": ('{"a": [1, 2}]', {"a": [1, 2]}),
    "brackets too many": ('{"a": {"b": 1}}}}', {"a": {"b": 1}}),
    "single quotes": ("{'a': 'it's \"so\"', 'b': '\\''}", {"a": 'it\'s "so"', "b": "'"}),
    "curly quotes": ('{“a”: “say "hi" now”, “b“: ‘c’}', {"a": 'say "hi" now', "b": "c"}),
    "bare keys": ("{a: 1, 城市: 2, content-type: 3, $x: 4}", {"a": 1, "城市": 2, "content-type": 3, "$x": 4}),
    "comments": ('// one\n{"a": 1, /* two, } */ # three }\n "b": "//#/*"}', {"a": 1, "b": "//#/*"}),
    "Python's words": ("{'a': True, 'b': [False, None]}", {"a": True, "b": [False, None]}),
    "full-width punctuation": ("｛“城市”：“北京，上海”，“天”：［1，2］｝", {"城市": "北京，上海", "天": [1, 2]}),
    "raw control characters": ('{"a": "one\ntwo\tthree\x00"}', {"a": "one\ntwo\tthree\x00"}),
    "unknown escapes": (r'{"a": "\d+\.\w \u12", "b": "it\'s"}', {"a": r"\d+\.\w \u12", "b": "it's"}),
    "a Windows path": (r'{"a": "C:\path\new\users", "b": "x\ny"}', {"a": r"C:\path\new\users", "b": "x\ny"}),
    "invisible characters at the ends": ('\ufeff\u200b{"a": 1}\u200b\n', {"a": 1}),
    "half a surrogate pair": (r'{"a": "\ud83d!", "b": "\\ud83d \ud83d\ude00"}', {"a": "\ufffd!", "b": "\\ud83d 😀"}),
    "a surrogate pair of two deltas": ('{"a": "\ud83d\ude00"}', {"a": "😀"}),
    "JSON in a string": (json.dumps('{"a": "b"}'), {"a": "b"}),
    "JSON in a string in a string": (json.dumps(json.dumps('{"a": "b"}')), {"a": "b"}),
    "damaged JSON in a string": (json.dumps("{'a': 1,}"), {"a": 1}),
    "JSON in a string without its end": (r'"{\"a\": \"b\"}', {"a": "b"}),
    "words that begin with an apostrophe": ('\'Tis {"a": 1}', {"a": 1}),
    "a sentence with an open bracket": ('{"a": 1} and so on [', {"a": 1}),
    "quotes around an object": ('"{"a": 1}"', {"a": 1}),
    "escapes without the string": (r"{\"a\": \"say \\\"hi\\\"\"}", {"a": 'say "hi"'}),
    "the same object twice": ('{"a": 1}{"a": 1}\n, {"a":1}', {"a": 1}),
    "the same key twice with the same value": ('{"a": 1, "a": 1,}', {"a": 1}),
    "an empty object in a fence": ("```json\n{}\n```", {}),
}


@pytest.mark.parametrize("case", MENDED)
def test_a_slip_that_leaves_one_meaning_is_mended(case: str) -> None:
    text, value = MENDED[case]
    assert repaired(text) == Repaired(value, repaired=True)


REFUSED = {
    "nothing": ("", "no JSON"),
    "words": ("I cannot do that.", "no JSON"),
    "a number in words": ("It is 5.", "no JSON"),
    "an opened bracket in words": ("I would write {", "no JSON"),
    "different objects": ('{"a": 1}{"a": 2}', "different"),
    "a thousands separator": ('{"a": 1,200}', "key .* line 1 column 9"),
    "a thousands separator before a member": ('{"a": 1,200, "b": 1}', "line 1 column 9"),
    "a space in a number": ("[1 200,]", "comma is missing"),
    "NaN": ('{"a": NaN}', "NaN.* line 1 column 7"),
    "Infinity": ('{"a": -Infinity}', "-Infinity"),
    "a number beyond all bounds": ("[1e999]", "too large"),
    "a leading zero": ('{"zip": 01234}', "01234"),
    "a bare word": ('{\n"a": hello}', "line 2 column 6"),
    "an unquoted word with quotes": ('{"a": "say "hi" now"}', "line 1 column 13"),
    "quotes inside a listed string": ('["say "1" now"]', "comma is missing"),
    "an ellipsis": ("[1, 2, ...]", "line 1 column 8"),
    "a missing colon": ('{"a" 1}', "colon .*line 1 column 6"),
    "a missing value": ('{"a": , "b": 1}', "line 1 column 7"),
    "a missing value in a fence": ('```json\n{"a":\n```', "value is missing"),
    "a key that is a number": ('{1: "a"}', "key"),
    "one key with two values": ('{"a": 1, "a": 2,}', "twice"),
    "members after the end": ('{"a": {"b": 1}}}, "c": 2}', "goes on"),
    "items after the end": ("[[1]]], 2]", "goes on"),
    "a bracket with two readings": ('[[{"a": 1], {"b": 2}', "line 1 column 10"),
    "more wrong brackets than can be understood": ("[" + '{"a": 1],' * 9 + "]", "the bracket } is expected, not ]"),
    "a word after the end": ('{"a": 1}}, true]', "goes on"),
    "no opening bracket": ('"a": {"b": 1}}', "opening { is missing"),
    "an object that breaks off and one inside it": ('{"a": oh {"b": 1}}', "line 1 column 7"),
    "an unreadable object in words with one inside it": ('Calling {a 1, "b": {"c": 2}} now.', "colon"),
    "an unreadable object in a fence": ('```json\n{"a" 1, "b": 2}\n```', "line 2 column 6"),
    "an unreadable array in a fence": ('Here:\n```\n[oh {"a": 1}]\n```', "line 3 column 2"),
    "brackets without end": ("[" * 5000, "more than"),
    "brackets without end in words": ("so " + '{"a":' * 5000, "more than"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_single_meaning_is_refused_with_its_place(case: str) -> None:
    text, complaint = REFUSED[case]
    with pytest.raises(ValueError, match=complaint):
        repaired(text)


CUT = {
    "in a string": ('{"a": "one tw', {"a": "one tw"}),
    "in an escape": ('{"a": "one\\', {"a": "one"}),
    "in a key": ('{"a": 1, "b', {"a": 1}),
    "after a key": ('{"a": 1, "b"', {"a": 1}),
    "before a value": ('{"a": 1, "b":', {"a": 1}),
    "in a word": ('{"a": 1, "b": tru', {"a": 1}),
    "in a number": ('{"a": 1, "b": -', {"a": 1}),
    "in a number that may be whole": ('{"a": 12', {"a": 12}),
    "in nested containers": ('{"a": [{"b": [1, 2', {"a": [{"b": [1, 2]}]}),
    "before the last bracket": ('{"a": "b"', {"a": "b"}),
    "in a comment": ('{"a": "b" /* I', {"a": "b"}),
    "in a fence": ('Here:\n```json\n{"a": "b', {"a": "b"}),
    "before it was put in a string": (json.dumps('{"a": "b'), {"a": "b"}),
    "in a string that holds JSON": (r'"{\"a\": \"b', {"a": "b"}),
}


@pytest.mark.parametrize("case", CUT)
def test_a_text_that_ends_early_is_closed_and_marked(case: str) -> None:
    text, value = CUT[case]
    assert repaired(text) == Repaired(value, repaired=True, truncated=True)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"path": "a.txt", "text": "It was a dark and', "token limit"),
        ('{"path": "a.txt"', "not valid JSON"),
        ("[1]", "must be one JSON object"),
        ("null", "must be one JSON object"),
        ("'x'", "must be one JSON object"),
        ('{"a": NaN}', "line 1 column 7"),
        ("x" * 5000, "(5000 characters)"),
        ('{"a": "' + "x" * 5000, "(5007 characters)"),
        ("[" * (MOST_CHARACTERS + 1), "not valid JSON"),
    ],
)
def test_arguments_that_are_no_whole_object_never_reach_a_tool(text: str, complaint: str) -> None:
    with pytest.raises(ToolFailed, match="The tool has not run") as caught:
        arguments_of(ToolCall("1", "write_file", text))
    assert caught.value.code == "bad_arguments"
    assert "write_file" in caught.value.message
    assert complaint in caught.value.message
    assert len(caught.value.message) < 700


@pytest.mark.parametrize("text", ["", " \n"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    assert arguments_of(ToolCall("1", "today", text)) == Repaired({})


def test_mended_arguments_say_so() -> None:
    assert arguments_of(ToolCall("1", "add", "{'a': 1}")) == Repaired({"a": 1}, repaired=True)
    assert arguments_of(ToolCall("1", "add", '{"a": 1}')) == Repaired({"a": 1})


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4))
OBJECTS = st.dictionaries(st.text(), VALUES, min_size=1, max_size=4)
"""Not empty: a damaged empty object is often nothing at all."""


@given(value=VALUES.filter(lambda value: not isinstance(value, str)), indent=st.none() | st.just(2), ascii_only=st.booleans())
def test_json_is_itself_and_not_repaired(value: object, indent: int | None, ascii_only: bool) -> None:
    assert repaired(json.dumps(value, indent=indent, ensure_ascii=ascii_only)) == Repaired(value)


def dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def outside(pattern: str, replacement: str) -> Callable[[object], str]:
    """Damage that is done outside strings."""
    token = re.compile(rf'"(?:[^"\\]|\\.)*"|({pattern})', re.DOTALL)
    return lambda value: token.sub(lambda found: replacement if found[1] else found[0], dumped(value))


def full_width(value: object) -> str:
    wide = str.maketrans("{}[],:", "｛｝［］，：")
    return re.sub(
        r'"(?:[^"\\]|\\.)*"|[{}\[\],:]',
        lambda found: found[0] if found[0][0] == '"' else found[0].translate(wide),
        dumped(value),
    )


def with_raw_controls(value: object) -> str:
    return re.sub(
        r"\\(?:\\|\"|n|t|u00[01]\w)",
        lambda found: found[0] if found[0][1] in '\\"' else json.loads(f'"{found[0]}"'),
        dumped(value),
    )


def like_python(value: object) -> str:
    words = {"true": "True", "false": "False", "null": "None"}

    def written(found: re.Match[str]) -> str:
        return words.get(found[0]) or "'" + found[0][1:-1].replace("'", "\\'").replace('\\"', '"') + "'"

    return re.sub(r'"(?:[^"\\]|\\.)*"|true|false|null', written, dumped(value))


DAMAGE: dict[str, Callable[[Any], str]] = {
    "fenced": lambda value: f"Here it is.\n\n```json\n{json.dumps(value, indent=2)}\n```\nAnything else?",
    "followed by a sentence": lambda value: f"{dumped(value)}\nThis calls the tool.",
    "literal backslash-n": outside(", ", r", \n"),
    "double commas": outside(", ", ",,"),
    "trailing commas": outside("[}]", ",}"),
    "no commas": outside(", ", "\n"),
    "comments": outside(", ", " /* a, b: {c} */ , // d\n # e\n"),
    "an extra bracket": lambda value: dumped(value) + "}",
    "Python": like_python,
    "full-width": full_width,
    "raw controls": with_raw_controls,
    "invisible ends": lambda value: f"\ufeff{dumped(value)}\u200b",
    "encoded twice": lambda value: json.dumps(dumped(value)),
    "escapes without the string": lambda value: json.dumps(json.dumps(value))[1:-1],
    "written twice": lambda value: dumped(value) + dumped(value),
}


@pytest.mark.parametrize("damage", DAMAGE)
@settings(max_examples=60, deadline=None)
@given(value=OBJECTS)
def test_damaged_json_means_what_it_meant(damage: str, value: dict[str, Any]) -> None:
    read = repaired(DAMAGE[damage](value))
    assert (read.value, read.truncated) == (value, False)
    assert repaired(json.dumps(read.value)) == Repaired(value), "what was mended once is sound"


@given(value=OBJECTS, data=st.data())
def test_json_cut_anywhere_is_never_taken_for_whole(value: dict[str, Any], data: st.DataObject) -> None:
    text = dumped(value)
    read = repaired(text[: data.draw(st.integers(1, len(text) - 1))])
    assert read.truncated
    assert set(read.value) <= set(value), "no half of a key is a key"


NOISE = st.text() | st.lists(
    st.sampled_from(
        [
            '{"a":',
            "{",
            "}",
            "[",
            "]",
            '"',
            "'",
            "“",
            "”",
            ",",
            ":",
            "\\",
            "\\u",
            "d83d",
            "1",
            "-",
            "x",
            "```",
            "/*",
            "//",
            "#",
            "\n",
            "true",
            " ",
        ]
    )
).map("".join)


@settings(max_examples=400)
@given(NOISE)
def test_noise_is_refused_or_read_and_nothing_else(text: str) -> None:
    try:
        read = repaired(text)
    except ValueError:
        return
    assert repaired(json.dumps(read.value)).value == read.value


@pytest.mark.parametrize(
    "piece", ["[", "{", "[{", "[/*", '"', "\\", "[[1", "z [x ", '{"a":[}', '{"', "}", "```", '“" ', "#\n", '\\"', "['a' "]
)
def test_long_garbage_comes_to_an_end(piece: str) -> None:
    text = piece * (MOST_CHARACTERS // len(piece))
    with suppress(ValueError):
        assert repaired(text).repaired


def test_deep_json_is_read_to_the_bound_that_is_told() -> None:
    deep = "[" * MOST_DEPTH + "]" * MOST_DEPTH
    assert repaired(f"{deep},").repaired
    with pytest.raises(ValueError, match=f"more than {MOST_DEPTH}"):
        repaired(f"[{deep}],")
