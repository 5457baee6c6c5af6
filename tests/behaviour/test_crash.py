"""`kill -9` at every boundary of the log, then `--resume`: nothing that finished runs twice, nothing unsafe runs again."""

import json
import signal
from pathlib import Path

import pytest

from tests.door import Door, call, calls

COUNTING = '''
@tool(effect="write")
def append(word: str, ctx: ToolContext) -> str:
    """Append a word to the ledger. Use in tests.

    Args:
        word: the word
    """
    with open(LEDGER, "a") as ledger:
        ledger.write(word + "\\n")
    return f"appended {word}"

@tool()
def look(word: str) -> str:
    """Look and note it. Use in tests.

    Args:
        word: the word
    """
    with open(LEDGER, "a") as ledger:
        ledger.write(word + "\\n")
    return f"looked at {word}"

@tool(effect="write")
def append_and_hang(word: str) -> str:
    """Append a word, say so, then wait for ever. Use in tests.

    Args:
        word: the word
    """
    with open(LEDGER, "a") as ledger:
        ledger.write(word + "\\n")
    open(BELL, "w").write("done")
    open(BELL).read()
    return "never"
'''

STORY = [
    calls(call("append", word="w1"), call("look", word="r1"), call("append", word="w2")),
    calls(call("look", word="r2")),
    {"text": "All done."},
]
BOUNDARIES = 17
"""Events of the whole story: a kill after each of them."""


@pytest.fixture
def ledger(door: Door, tmp_path: Path) -> Path:
    """Where the tools leave a trace of each time they really ran."""
    door.with_tools(f"LEDGER = {str(tmp_path / 'ledger')!r}\nBELL = {str(tmp_path / 'bell')!r}\n{COUNTING}")
    return tmp_path / "ledger"


def test_the_story_has_as_many_boundaries_as_are_tried(door: Door, ledger: Path) -> None:
    assert len(door.run("go", "--model", door.script(*STORY)).events) == BOUNDARIES


@pytest.mark.slow
@pytest.mark.parametrize("boundary", range(1, BOUNDARIES))
def test_killed_behind_any_event_a_run_is_resumed_and_does_nothing_twice(door: Door, ledger: Path, boundary: int) -> None:
    before = []
    with door.running("run", "go", "--json", "--model", door.script(*STORY)) as process:
        assert process.stdout
        for _ in range(boundary):
            before.append(json.loads(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    resumed = door.run("", "--resume", before[0]["run_id"])
    assert resumed.code == 0
    ran = ledger.read_text().split()
    after = {event["result"]["call_id"]: event["result"]["outcome"] for event in resumed.of("tool_finished")}
    finished = {event["result"]["call_id"] for event in before if event["type"] == "tool_finished"}
    assert not finished & set(after), "what had finished is not told again"
    assert ran.count("w1") <= 1
    assert ran.count("w2") <= 1
    for word, call_id in (("w1", "call_1_1"), ("w2", "call_1_3")):
        # Either it ran once, or its fate is openly unknown.
        assert ran.count(word) == 1 or after[call_id] == "unknown"
    whole = json.loads(door.zeno("trace", before[0]["run_id"], "--json").out)["steps"]
    assert {step["outcome"] for step in whole} <= {"done", "unknown"}


def test_a_write_killed_at_work_is_reported_and_not_done_again(door: Door, ledger: Path, tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "bell")
    told = {"text": "I cannot tell whether it was done.", "expect": ["Whether it took effect is unknown"]}
    script = door.script(calls(call("append_and_hang", word="once")), told)
    with door.running("run", "go", "--json", "--model", script) as process:
        assert process.stdout
        run_id = json.loads(process.stdout.readline())["run_id"]
        assert (tmp_path / "bell").read_text() == "done"
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    resumed = door.run("", "--resume", run_id)
    (finished,) = resumed.of("tool_finished")
    assert (finished["result"]["outcome"], finished["code"]) == ("unknown", "interrupted")
    assert ledger.read_text().split() == ["once"]
    assert resumed.events[-1]["failed"] == ["append_and_hang"]


def test_a_run_that_is_being_driven_is_not_driven_twice(door: Door, ledger: Path, tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "bell")
    with door.running("run", "go", "--json", "--model", door.script(calls(call("append_and_hang", word="x")))) as process:
        assert process.stdout
        run_id = json.loads(process.stdout.readline())["run_id"]
        assert (tmp_path / "bell").read_text() == "done"
        second = door.run("", "--resume", run_id)
        assert second.code == 2
        assert "run_driven" in second.err


def test_resuming_a_run_that_has_ended_changes_nothing(door: Door, ledger: Path) -> None:
    run_id = door.run("go", "--model", door.script(*STORY)).events[0]["run_id"]
    again = door.run("", "--resume", run_id)
    assert (again.code, again.events) == (0, [])
    assert len(ledger.read_text().split()) == 4


def test_resuming_what_never_was_is_a_clear_error(door: Door) -> None:
    outcome = door.zeno("run", "--resume", "feed", lang="zh-CN")
    assert outcome.code == 2
    assert "没有运行 feed" in outcome.err


DAWDLING = {
    "a coroutine": "import asyncio\n@tool()\nasync def dawdle() -> str:\n    'Use it.'\n    await asyncio.Event().wait()\n",
    "a function": "import threading\n@tool()\ndef dawdle() -> str:\n    'Use it.'\n    threading.Event().wait(600)\n",
}


@pytest.mark.parametrize("kind", DAWDLING)
def test_interrupting_cancels_cleanly(door: Door, kind: str) -> None:
    door.with_tools(DAWDLING[kind])
    with door.running("run", "go", "--json", "--model", door.script(calls(call("dawdle")))) as process:
        assert process.stdout
        events = []
        for line in process.stdout:
            events.append(json.loads(line))
            if events[-1]["type"] == "tool_started":
                process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
    kinds = [event["type"] for event in events[-3:]]
    assert kinds == ["cancel_requested", "tool_finished", "run_ended"]
    assert events[-2]["result"]["outcome"] == "cancelled"
    assert events[-1]["ending"] == "cancelled"
