"""A corpus of arguments as models write them: sound ones are left alone, broken ones are what was meant or are refused."""

from pathlib import Path
from typing import Any

import pytest
from benchmarks import repair

from tests.core.corpus.make_corpus import BROKEN, VALID, made, read, valid
from zeno.core.arguments import Repaired, arguments_of
from zeno.core.errors import ToolFailed
from zeno.core.messages import ToolCall

CORPUS = read(BROKEN)
KINDS = list(dict.fromkeys(line["kind"] for line in CORPUS))
NEVER_READ = ("truncated in a string", "truncated in a key", "truncated between members", "two objects", "NaN or Infinity")


def understood(text: str) -> Repaired | None:
    """The arguments, or `None` when the model is told that they cannot be read."""
    try:
        return arguments_of(ToolCall("1", "tool", text))
    except ToolFailed:
        return None


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [line for line in CORPUS if line["kind"] == kind]


def test_the_corpus_is_large_and_partly_written_by_hand() -> None:
    assert len(CORPUS) >= 300
    assert len(KINDS) >= 15
    assert sum(line["origin"] == "written" for line in CORPUS) >= 60
    assert len(read(VALID)) >= 100
    assert len({line["text"] for line in CORPUS}) == len(CORPUS)


def test_the_corpus_on_disk_is_what_its_generator_makes() -> None:
    assert [line for line in CORPUS if line["origin"] == "made"] == made()
    assert read(VALID) == valid()
    assert {line["origin"] for line in CORPUS} == {"made", "written"}


@pytest.mark.parametrize("line", read(VALID), ids=lambda line: line["text"][:40])
def test_sound_arguments_are_unchanged_and_unmarked(line: dict[str, Any]) -> None:
    assert understood(line["text"]) == Repaired(line["meant"])


@pytest.mark.parametrize("kind", KINDS)
def test_broken_arguments_are_what_was_meant_or_are_refused(kind: str) -> None:
    for line in of_kind(kind):
        if (found := understood(line["text"])) is not None:
            assert found == Repaired(line["meant"], repaired=kind != "empty text"), line["text"]
            assert line["meant"] is not None, line["text"]


@pytest.mark.parametrize("kind", NEVER_READ)
def test_what_nobody_can_know_is_never_read(kind: str) -> None:
    assert [line["text"] for line in of_kind(kind) if understood(line["text"])] == []


def test_only_an_empty_text_stands_for_no_arguments() -> None:
    empty = [line for line in CORPUS if (found := understood(line["text"])) and not found.value]
    assert {line["kind"] for line in empty} == {"empty text"}
    assert all(not line["text"].strip() for line in empty)


def test_the_published_table_is_what_is_measured() -> None:
    published = Path(repair.__file__).with_suffix(".md").read_text("utf-8")
    assert [repair.row(*measured) for measured in repair.counts() if repair.row(*measured) not in published] == []
