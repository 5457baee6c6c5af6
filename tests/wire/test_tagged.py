"""Reasoning in tags: the same split however the text is cut, nothing held back that cannot be a tag, code left alone."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeno.core.ports import TextDelta
from zeno.models.tagged import Tagged


def split(*pieces: str) -> tuple[str, str]:
    """The thinking and the text of a reply that comes in these pieces."""
    tagged = Tagged()
    deltas = [delta for piece in pieces for delta in tagged.feed(piece)] + tagged.end()
    assert all(delta.text for delta in deltas)
    told = ["".join(delta.text for delta in deltas if isinstance(delta, TextDelta) is is_text) for is_text in (False, True)]
    return told[0], told[1]


CASES = {
    "plain": ("Hello", "", "Hello"),
    "one chunk": ("<think>a</think>b", "a", "b"),
    "white space after": ("<think>\na\n</think>\n\nb\n", "\na\n", "b\n"),
    "thinking": ("<thinking>a</thinking>b", "a", "b"),
    "reasoning": ("<reasoning>a</reasoning>b", "a", "b"),
    "thought": ("<thought>a</thought>b", "a", "b"),
    "capitals": ("<THINK>a</Think>b", "a", "b"),
    "another name closes": ("<think>a</thinking>b", "a", "b"),
    "again": ("<think>a</think>b<think>c</think>d", "ac", "bd"),
    "after text": ("Answer <thinking>b</thinking> done", "b", "Answer  done"),
    "harmony": ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>", "a", "b"),
    "harmony without an end": ("<|channel|>analysis<|message|>a<|channel|>final<|message|>b", "a", "b"),
    "never closed": ("<think>a", "a", ""),
    "cut off at the end": ("a <thi", "", "a <thi"),
    "cut off in thinking": ("<think>a</thi", "a</thi", ""),
    "closed first": ("\n</think>\n\nb", "", "\nb"),
    "closed late": ("a</think>b", "", "a</think>b"),
    "comparison": ("a < b and x<th", "", "a < b and x<th"),
    "other tags": ("<thinker>a</thinker><b>", "", "<thinker>a</thinker><b>"),
    "in backticks": ("write `<think>` here, <think>a</think>b", "a", "write `<think>` here, b"),
    "in double backticks": ("``<think>`` x", "", "``<think>`` x"),
    "in a fence": ("```xml\n<think>\nx\n</think>\n```\n<think>a</think>b", "a", "```xml\n<think>\nx\n</think>\n```\nb"),
    "a lonely backtick": ("it`s\n<think>a</think>b", "a", "it`s\nb"),
    "fence before thinking ends": ("<think>```\nx</think>b", "```\nx", "b"),
    "mathematics": ("<think>1 < 2</think>2 > 1", "1 < 2", "2 > 1"),
    "chinese": ("<think>你好</think>世界", "你好", "世界"),
}


@pytest.mark.parametrize("name", CASES)
def test_thinking_and_text_are_told_apart(name: str) -> None:
    whole, thinking, text = CASES[name]
    assert split(whole) == (thinking, text)


@pytest.mark.parametrize("name", CASES)
def test_every_cut_gives_the_same(name: str) -> None:
    whole, thinking, text = CASES[name]
    assert split(*whole) == (thinking, text), "letter by letter"
    for first in range(len(whole) + 1):
        for second in range(first, len(whole) + 1):
            assert split(whole[:first], whole[first:second], whole[second:]) == (thinking, text)


TOKENS = st.lists(
    st.sampled_from(["<think>", "</think>", "<thinking>", "</thought>", "<|end|>", "<|channel|>final<|message|>", "<|"])
    | st.sampled_from(["`", "```", "\n", "<", ">", "/", "a", " ", "think", "你"]),
    max_size=25,
).map("".join)


@given(whole=TOKENS, cuts=st.lists(st.integers(0, 200), max_size=8))
def test_any_text_cut_anywhere_gives_the_same(whole: str, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    assert split(*(whole[begin:end] for begin, end in pairwise(edges))) == split(whole)


@given(whole=TOKENS)
def test_nothing_but_tags_and_white_space_is_lost(whole: str) -> None:
    kept = "".join(split(whole))
    rest = re.sub(r"(?i)</?(think|thinking|reasoning|thought)>|<\|end\|>|<\|channel\|>final<\|message\|>", "", whole)
    for letter in "a你`":
        assert kept.count(letter) >= rest.count(letter)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <", "a "),
        ("a < ", "a < "),
        ("a <b", "a <b"),
        ("x<th", "x"),
        ("x<tho ", "x<tho "),
        ("<|c", ""),
        ("<|x", "<|x"),
        ("`<t", "`<t"),
    ],
)
def test_only_what_may_become_a_tag_is_held_back(text: str, shown: str) -> None:
    assert "".join(delta.text for delta in Tagged().feed(text)) == shown


def test_a_piece_without_tags_is_one_delta() -> None:
    assert len(Tagged().feed("a `b` <c>\nd\n")) == 1
