"""A run, from the sentence to its ending, with a scripted model."""

import json
import re
import time

import pytest

from tests.door import Door, call, calls, texts

GREETING = {"text": "Hello."}


def test_small_talk_costs_one_model_call(door: Door) -> None:
    outcome = door.run("hi", "--model", door.script(GREETING))
    assert outcome.code == 0
    assert [event["type"] for event in outcome.events] == [
        "run_started",
        "user_said",
        "step_started",
        "model_replied",
        "run_ended",
    ]
    assert texts(outcome) == ["Hello."]


def test_the_result_of_a_tool_reaches_the_model(door: Door) -> None:
    script = door.script(calls(call("calculate", expression="6*7")), {"text": "It is 42.", "expect": ["42"]})
    outcome = door.run("what is 6*7?", "--model", script)
    assert outcome.code == 0
    (finished,) = outcome.of("tool_finished")
    assert finished["result"]["outcome"] == "done"
    assert "42" in finished["result"]["text"]
    assert "[source: " in finished["result"]["text"]


def test_a_question_hands_control_to_the_user(door: Door) -> None:
    outcome = door.run("weather", "--model", door.script({"text": "Which city?", "turn": "question"}))
    assert outcome.code == 10
    assert outcome.events[-1]["ending"] == "asked_user"


def test_a_progress_note_does_not_end_the_run(door: Door) -> None:
    outcome = door.run("go", "--model", door.script({"text": "Looking.", "turn": "note"}, {"text": "Done."}))
    assert texts(outcome) == ["Looking.", "Done."]


PROBES = '''
import asyncio, threading
meeting = asyncio.Barrier(3)
gate = threading.Barrier(2)

@tool()
async def meet(name: str) -> str:
    """Wait for the others. Use in tests.

    Args:
        name: who comes
    """
    await asyncio.wait_for(meeting.wait(), 10)
    return f"{name} met the others"

@tool()
def meet_in_thread(name: str) -> str:
    """Wait for the other. Use in tests.

    Args:
        name: who comes
    """
    gate.wait(10)
    return f"{name} met the other"

@tool()
async def fail(how: str) -> str:
    """Fail. Use in tests.

    Args:
        how: the way to fail
    """
    if how == "cancel":
        raise asyncio.CancelledError
    if how == "exit":
        raise SystemExit(3)
    raise RuntimeError("the disk is on fire")

log = []

@tool(effect="write")
async def note(word: str) -> str:
    """Note a word. Use in tests.

    Args:
        word: the word
    """
    log.append(f"{word} begins")
    await asyncio.sleep(0)
    log.append(f"{word} ends")
    return " ".join(log)
'''


def test_reads_of_one_reply_run_at_the_same_time_and_keep_their_order(door: Door) -> None:
    door.with_tools(PROBES)
    wanted = [call("meet", name=name) for name in ("a", "b", "c")] + [call("meet_in_thread", name=name) for name in ("d", "e")]
    script = door.script(calls(*wanted), {"text": "ok", "expect": ["a met", "e met"]})
    outcome = door.run("meet", "--model", script)
    assert [event["result"]["outcome"] for event in outcome.of("tool_finished")] == ["done"] * 5
    trace = json.loads(door.zeno("trace", outcome.events[0]["run_id"], "--json").out)
    assert {step["outcome"] for step in trace["steps"]} == {"done"}


def test_writes_of_one_reply_run_one_after_the_other(door: Door) -> None:
    door.with_tools(PROBES)
    script = door.script(calls(call("note", word="one"), call("note", word="two")), {"text": "ok"})
    results = door.run("note", "--model", script).of("tool_finished")
    assert results[-1]["result"]["text"].startswith("one begins one ends two begins two ends")


def test_a_failing_call_does_not_hurt_its_siblings(door: Door) -> None:
    door.with_tools(PROBES)
    ways = [call("fail", how=how) for how in ("raise", "cancel", "exit")]
    wanted = calls(*ways, call("calculate", expression="1+1"))
    outcome = door.run("go", "--model", door.script(wanted, {"text": "ok", "expect": ["RuntimeError", "the disk is on fire"]}))
    assert outcome.code == 0
    by_call = {event["result"]["call_id"]: event for event in outcome.of("tool_finished")}
    assert [by_call[f"call_1_{n}"]["result"]["outcome"] for n in (1, 2, 3, 4)] == ["failed", "failed", "failed", "done"]
    assert outcome.events[-1]["failed"] == ["fail"]


def test_a_tool_that_takes_too_long_is_given_up(door: Door) -> None:
    door.with_tools('''
import asyncio
@tool(timeout=0.05)
async def dawdle() -> str:
    """Never end. Use in tests."""
    await asyncio.Event().wait()

@tool(effect="write", timeout=0.05)
async def dawdle_writing() -> str:
    """Never end. Use in tests."""
    await asyncio.Event().wait()
''')
    outcome = door.run("go", "--model", door.script(calls(call("dawdle"), call("dawdle_writing")), {"text": "ok"}))
    first, second = outcome.of("tool_finished")
    assert (first["result"]["outcome"], first["code"]) == ("failed", "tool_timeout")
    assert second["result"]["outcome"] == "unknown", "it may have written before it was given up"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("{}", "missing: expression"),
        ('{"expression": 3}', "Expected `str`, got `int`"),
        ('{"expression": "1", "mode": "x"}', "not known: mode"),
        ('{"expression": "1"', "not valid JSON"),
        ("[1]", "must be one JSON object"),
        ("null", "must be one JSON object"),
        ("x" * 5000, "(5000 characters)"),
    ],
)
def test_wrong_arguments_never_reach_the_tool(door: Door, arguments: str, complaint: str) -> None:
    script = door.script(calls({"name": "calculate", "arguments": arguments}), {"text": "ok"})
    (finished,) = door.run("go", "--model", script).of("tool_finished")
    assert finished["code"] == "bad_arguments"
    assert complaint in finished["result"]["text"]
    assert "The tool has not run" in finished["result"]["text"]
    assert len(finished["result"]["text"]) < 700


def test_an_unknown_tool_is_refused_with_the_permitted_names(door: Door) -> None:
    outcome = door.run("go", "--model", door.script(calls(call("rm_rf", path="/")), {"text": "ok", "expect": ["calculate"]}))
    (finished,) = outcome.of("tool_finished")
    assert finished["code"] == "unknown_tool"
    assert outcome.code == 0


MAIL = '''
from pathlib import Path
@tool(effect="danger")
def send_mail(to: str, ctx: ToolContext) -> str:
    """Send a mail. Use when the user asks for it.

    Args:
        to: the address
    """
    with (ctx.workspace / "sent.txt").open("a") as sent:
        sent.write(to)
    return f"sent to {to}"
'''


def test_danger_waits_for_consent_and_is_done_with_it(door: Door) -> None:
    door.with_tools(MAIL)
    outcome = door.run("mail", "--model", door.script(calls(call("send_mail", to="a@b.c")), {"text": "Sent."}))
    assert outcome.code == 11
    assert [event["type"] for event in outcome.events[-2:]] == ["approval_requested", "run_paused"]
    assert not outcome.of("tool_started")
    assert not list(door.home.rglob("sent.txt"))
    approved = door.zeno("approve", outcome.events[0]["run_id"])
    assert approved.code == 0
    (sent,) = door.home.rglob("sent.txt")
    assert sent.read_text() == "a@b.c"


def test_danger_is_done_with_consent(door: Door) -> None:
    door.with_tools(MAIL)
    outcome = door.run("mail", "--yes", "--model", door.script(calls(call("send_mail", to="a@b.c")), {"text": "Sent."}))
    assert outcome.of("tool_finished")[0]["result"]["outcome"] == "done"
    (sent,) = door.home.rglob("sent.txt")
    assert sent.read_text() == "a@b.c"


def test_at_the_limit_the_model_answers_without_tools_and_the_user_gets_an_account(door: Door) -> None:
    more = [calls(call("calculate", expression=f"{n}+1")) for n in range(2)]
    last = {"text": "Got two of three.", "expect": ["No tool calls are left"]}
    outcome = door.run("go", "--max-steps", "2", "--model", door.script(*more, last))
    ended = outcome.events[-1]
    assert outcome.code == 13
    assert (ended["ending"], ended["code"], ended["steps"], ended["done"]) == ("limit_reached", "max_steps", 3, ["calculate"])
    drawn = door.zeno("run", "go", "--max-steps", "2", "--model", door.script(*more, last))
    assert "Got two of three." in drawn.out
    assert "Rounds: 3" in drawn.out
    assert "--max-steps" in drawn.out


def test_a_model_that_only_calls_tools_is_stopped_at_the_limit(door: Door) -> None:
    endless = [calls(call("calculate", expression="1")) for _ in range(3)]
    outcome = door.run("go", "--max-steps", "2", "--model", door.script(*endless))
    assert outcome.events[-1]["ending"] == "limit_reached"
    assert len(outcome.of("tool_started")) == 2, "the calls of the last round are not carried out"


def test_empty_replies_are_asked_again_and_end_in_a_typed_failure(door: Door) -> None:
    recovered = door.run("go", "--model", door.script({}, {"text": "Here.", "expect": ["Your last reply was empty"]}))
    assert recovered.code == 0
    given_up = door.run("go", "--model", door.script({}, {}, {}))
    assert given_up.code == 17
    assert given_up.events[-1]["code"] == "empty_reply"


def test_a_model_that_fails_ends_the_run_with_its_cause(door: Door) -> None:
    outcome = door.run("go", "--model", door.script({"fails": "reply_incomplete"}))
    assert outcome.code == 17
    assert outcome.events[-1]["code"] == "reply_incomplete"


def test_repeated_call_ids_are_told_apart(door: Door) -> None:
    same = [{"id": "0", "name": "calculate", "arguments": {"expression": text}} for text in ("1+1", "2+2")]
    outcome = door.run("go", "--model", door.script(calls(*same), calls(same[0]), {"text": "ok"}))
    ids = [event["result"]["call_id"] for event in outcome.of("tool_finished")]
    assert len(set(ids)) == 3
    assert outcome.code == 0


RECITE = '''
@tool(effect="write")
def recite(ctx: ToolContext) -> str:
    """Recite. Use in tests."""
    with (ctx.workspace / "recited").open("a") as book:
        book.write("once ")
    return "begin " + "x" * 50_000 + " end"


@tool(effect="write")
def link_out(ctx: ToolContext) -> str:
    """Make the folder of results a link that leads out. Use in tests."""
    (ctx.workspace / "results").symlink_to("/tmp")
    return "linked"
'''


@pytest.mark.parametrize("call_id", ["call_1", "functions.recite:0", "../" * 20])
def test_a_long_result_is_capped_and_stays_readable(door: Door, call_id: str) -> None:
    door.with_tools(RECITE)
    door.env["ZENO_TOOLS__RESULT_CHARACTERS"] = "1000"
    script = door.script(calls({**call("recite"), "id": call_id}), {"text": "ok", "expect": ["left out"]})
    (finished,) = door.run("go", "--model", script).of("tool_finished")
    text = finished["result"]["text"]
    assert len(text) < 1300
    assert text.startswith("begin")
    assert " end" in text
    (workspace,) = (door.home / "workspaces").iterdir()
    (path,) = re.findall("the whole text is in the file (results/[^/ ]+) ", text)
    assert (workspace / path).read_text() == "begin " + "x" * 50_000 + " end"


def test_what_was_done_is_done_although_its_long_result_cannot_be_kept(door: Door) -> None:
    door.with_tools(RECITE)
    door.env["ZENO_TOOLS__RESULT_CHARACTERS"] = "1000"
    (door.here / "results").write_text("no folder")
    script = door.script(calls(call("recite")), calls(call("recite")), {"text": "ok", "expect": ["could not be kept"]})
    outcome = door.run("go", "--model", script, "--file", "results")
    assert [(each["result"]["outcome"], each["code"]) for each in outcome.of("tool_finished")] == [
        ("done", ""),
        ("done", "already_done"),
    ], outcome.err
    (workspace,) = (door.home / "workspaces").iterdir()
    assert ((workspace / "recited").read_text(), (workspace / "results").read_text()) == ("once ", "no folder")
    script = door.script(calls(call("link_out")), calls(call("recite")), {"text": "ok"}, name="second.jsonl")
    linked = door.run("go", "--model", script)
    assert [each["result"]["outcome"] for each in linked.of("tool_finished")] == ["done", "done"], linked.err


def test_scripts_are_strict(door: Door) -> None:
    unused = door.run("go", "--model", door.script(GREETING, GREETING))
    assert unused.code == 3
    assert "script_unused" in unused.err
    exhausted = door.run("go", "--model", door.script(calls(call("calculate", expression="1"))))
    assert exhausted.events[-1]["code"] == "script_exhausted"
    mismatch = door.run("go", "--model", door.script({"text": "x", "expect": ["not there"]}))
    assert mismatch.events[-1]["code"] == "script_mismatch"


def test_runs_are_listed_and_traced_in_both_languages(door: Door) -> None:
    script = door.script(calls(call("calculate", expression="1+1"), text="Let me see."), {"text": "2"})
    run_id = door.run("add it up", "--model", script).events[0]["run_id"]
    assert len(run_id) == 32
    for lang, words in (("en-US", ("answered", "Arguments")), ("zh-CN", ("已回答", "参数"))):
        listed = door.zeno("runs", lang=lang)
        assert run_id[:12] in listed.out
        assert words[0] in listed.out
        traced = door.zeno("trace", run_id[:8], lang=lang)
        assert words[1] in traced.out
        assert "calculate" in traced.out
    steps = json.loads(door.zeno("trace", run_id, "--json").out)["steps"]
    assert [step["action"] for step in steps] == ["DIRECT_RESPONSE", "TOOL_CALL", "DIRECT_RESPONSE"]
    assert steps[1]["arguments"] == '{"expression":"1+1"}'


def test_an_agent_may_call_only_its_own_tools(door: Door) -> None:
    (door.here / "zeno.toml").write_text('[agents.clerk]\ninstructions = "Be brief."\ntools = ["read_file"]\n')
    script = door.script(calls(call("calculate", expression="1")), {"text": "no"})
    outcome = door.run("go", "--agent", "clerk", "--model", script)
    assert outcome.events[0]["tools"] == ["read_file"]
    assert outcome.of("tool_finished")[0]["code"] == "unknown_tool"


def test_files_named_in_the_task_are_taken_along_and_others_are_not(door: Door) -> None:
    (door.here / "notes.txt").write_text("remember the milk")
    (door.here.parent / "secret.txt").write_text("secret")
    script = door.script(calls(call("read_file", path="notes.txt"), call("read_file", path="secret.txt")), {"text": "ok"})
    outcome = door.run("读一下notes.txt，再看 ../secret.txt", "--model", script)
    inside, outside = sorted(outcome.of("tool_finished"), key=lambda event: event["result"]["call_id"])
    assert "remember the milk" in inside["result"]["text"]
    assert outside["code"] == "file_not_found"
    assert "notes.txt" in outcome.err


def test_produced_files_go_where_the_user_wants_them_and_replace_nothing(door: Door) -> None:
    (door.here / "out").mkdir()
    (door.here / "out" / "a.txt").write_text("mine")
    script = door.script(calls(call("write_temporary_file", path="a.txt", text="new")), {"text": "ok"})
    outcome = door.run("write", "--out", door.here / "out", "--model", script)
    assert (door.here / "out" / "a.txt").read_text() == "mine"
    (other,) = [path for path in (door.here / "out").iterdir() if path.name != "a.txt"]
    assert other.read_text() == "new"
    assert outcome.events[0]["run_id"][:8] in other.name


def test_a_conversation_remembers_what_was_said(door: Door) -> None:
    script = door.script({"text": "Hello Ada."}, {"text": "You are Ada.", "expect": ["I am Ada", "Hello Ada."]})
    outcome = door.zeno("chat", "--model", script, stdin="I am Ada\n\nwho am I?\n/exit\n")
    assert outcome.code == 0
    assert "You are Ada." in outcome.out


def test_terminal_escapes_from_tools_are_not_passed_on(door: Door) -> None:
    door.with_tools('''
@tool()
def evil() -> str:
    """Be evil. Use in tests."""
    return "\\x1b]0;owned\\x07\\x1b[2Jhello"
''')
    outcome = door.zeno("run", "go", "--model", door.script(calls(call("evil")), {"text": "\x1b[31mred"}))
    assert "\x1b" not in outcome.out
    assert "hello" in outcome.out


def test_a_run_started_now_is_dated_now(door: Door) -> None:
    before = time.time()
    first = door.run("hi", "--model", door.script(GREETING)).events[0]
    assert before - 1 <= first["at"] / 1000 <= time.time()


def test_a_model_that_repeats_itself_is_told_then_loses_the_tool_then_must_answer(door: Door) -> None:
    same = calls(call("read_file", path="nothing.txt"))
    last = {"text": "I could not read it.", "expect": ["No tool calls are left"]}
    outcome = door.run("read it", "--max-steps", "50", "--model", door.script(*[same] * 7, last))
    assert outcome.code == 15
    assert (outcome.events[-1]["ending"], outcome.events[-1]["code"]) == ("loop_guard", "no_progress")
    assert texts(outcome)[-1] == "I could not read it."
    assert outcome.of("step_started")[-1]["final"] is True


def test_polling_is_not_taken_for_repetition(door: Door) -> None:
    door.with_tools('''
count = 0
@tool(volatile=True)
def progress() -> str:
    """Tell how far it is. Use in tests."""
    global count
    count += 1
    return f"{count} of 9"
''')
    poll = [calls(call("progress"))] * 9
    outcome = door.run("wait", "--max-steps", "50", "--model", door.script(*poll, {"text": "Finished."}))
    assert outcome.code == 0
    assert len(outcome.of("tool_finished")) == 9


def test_mended_arguments_are_marked_and_cut_ones_are_not_dispatched(door: Door) -> None:
    mended = {"name": "calculate", "arguments": "```json\n{'expression': '6*7',}\n```"}
    cut = {"name": "calculate", "arguments": '{"expression": "6*'}
    outcome = door.run("go", "--model", door.script(calls(mended), calls(cut), {"text": "ok"}))
    assert [event["repaired"] for event in outcome.of("tool_started")] == [True, False]
    done, refused = outcome.of("tool_finished")
    assert done["result"]["outcome"] == "done"
    assert refused["code"] == "bad_arguments"
