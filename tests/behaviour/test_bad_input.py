"""Bad input, by the sentence: a clear message, a typed ending, an exit code, and nothing half-written."""

import random

import pytest

from tests.architecture.source import ROOT
from tests.door import Door, texts

ASKED = 10

CASES = {
    "a file that is not there": ("Summarise nothere.csv by channel", "no file nothere.csv"),
    "an empty file": ("Summarise empty.csv by channel and write a Word report", "empty"),
    "a header and no rows": ("Summarise header.csv by a", "no rows"),
    "a binary file that calls itself a table": ("把 noise.csv 按渠道汇总，生成 Word 周报", "binary"),
    "a column that does not exist": (
        "Summarise sales.csv by planet and write a Word report",
        "date, channel, product, orders, amount",
    ),
    "a path above the workspace": ("Read ../../etc/passwd", "outside the workspace"),
    "an absolute path": ("读一下 /etc/passwd", "outside the workspace"),
    "a division by zero": ("calculate 1/0", "zero"),
    "a city that is missing": ("What is the weather like?", "city"),
}


@pytest.fixture
def offline(door: Door) -> Door:
    """A shell with good and bad files, and no language model."""
    door.env["ZENO_MODEL"] = "offline"
    (door.here / "empty.csv").touch()
    (door.here / "header.csv").write_text("a,b\n")
    (door.here / "noise.csv").write_bytes(random.Random(7).randbytes(5000))
    (door.here / "sales.csv").write_bytes((ROOT / "examples" / "sales.csv").read_bytes())
    return door


@pytest.mark.parametrize("case", CASES)
def test_the_user_is_told_what_is_wrong_and_asked(offline: Door, case: str) -> None:
    sentence, told = CASES[case]
    outcome = offline.run(sentence, "--out", offline.here / "out")
    assert outcome.code == ASKED
    assert outcome.events[-1]["ending"] == "asked_user"
    assert told in texts(outcome)[-1]
    assert not (offline.here / "out").exists()
    assert not list(offline.home.rglob("*.part"))
    assert not list(offline.home.rglob("*.docx"))


def test_the_answer_to_a_question_goes_on_with_the_same_job(offline: Door) -> None:
    said = "Summarise sales.csv by planet\nchannel\n/exit\n"
    outcome = offline.zeno("chat", stdin=said)
    assert "Online Store" in outcome.out
    assert "planet" in outcome.out
