"""Settings and the house's foundations: what the operator can get wrong is said clearly."""

import concurrent.futures
import json
import sqlite3

import pytest

from tests.door import Door

HELLO = {"text": "Hello."}


@pytest.mark.parametrize(
    ("toml", "code", "words"),
    [
        ("max_steps = 0", "setting_invalid", "max_steps"),
        ("max_stepz = 3", "setting_invalid", "max_stepz"),
        ("max_steps = \n", "settings_unreadable", "line 1"),
        ("[agents.a]\nmodell = 'x'", "setting_invalid", "agents.a.modell"),
        ("log_level = 'loud'", "setting_invalid", "log_level"),
        ("database_url = 'oracle://x'", "database_unsupported", "oracle"),
        ("database_url = '::'", "database_url_invalid", "sqlite:///"),
        ("[tools]\nmodules = ['no_such_module']", "tool_module_broken", "no_such_module"),
        ("[agents.default]\ntools = ['fly']", None, ""),
    ],
)
def test_a_wrong_setting_is_named(door: Door, toml: str, code: str | None, words: str) -> None:
    (door.here / "zeno.toml").write_text(toml)
    outcome = door.run("hi", "--model", door.script(HELLO))
    assert outcome.code == (3 if code else 0)
    if code:
        assert f"[{code}]" in outcome.err
        assert words in outcome.err


def test_an_agent_with_a_tool_that_is_not_there_is_refused_before_the_run(door: Door) -> None:
    (door.here / "zeno.toml").write_text("[agents.a]\ntools = ['fly']")
    outcome = door.run("hi", "--agent", "a", "--model", door.script(HELLO))
    assert (outcome.code, outcome.out) == (3, "")
    assert "[tool_unknown]" in outcome.err


@pytest.mark.parametrize(
    "wrong", [("--agent", "nobody"), ("--model", "gpt"), ("--model", "openai:"), ("--model", "scripted:no.jsonl")]
)
def test_what_the_command_line_names_must_exist(door: Door, wrong: tuple[str, str]) -> None:
    outcome = door.run("hi", *wrong)
    assert outcome.code == 3
    assert wrong[1].rstrip(":").removeprefix("scripted:") in outcome.err


def test_a_variable_beats_the_file_and_the_file_beats_the_default(door: Door) -> None:
    (door.here / "zeno.toml").write_text("max_steps = 7")
    assert door.run("hi", "--model", door.script(HELLO)).events[0]["max_steps"] == 7
    door.env["ZENO_MAX_STEPS"] = "5"
    assert door.run("hi", "--model", door.script(HELLO)).events[0]["max_steps"] == 5
    assert door.run("hi", "--max-steps", "3", "--model", door.script(HELLO)).events[0]["max_steps"] == 3


def test_the_language_follows_option_then_setting_then_locale(door: Door) -> None:
    assert "Tool" in door.zeno("tools").out
    door.env["LANG"] = "zh_CN.UTF-8"
    assert "工具" in door.zeno("tools").out
    (door.here / "zeno.toml").write_text('language = "en-US"')
    assert "Tool" in door.zeno("tools").out
    assert "工具" in door.zeno("tools", lang="zh-CN").out


def test_tools_are_listed_in_the_words_of_the_language(door: Door) -> None:
    assert "删除对话里的一个文件，无法恢复。" in door.zeno("tools", lang="zh-CN").out
    assert "Deletes a file of the conversation." in door.zeno("tools").out


def test_a_database_of_a_newer_version_is_left_alone(door: Door) -> None:
    door.run("hi", "--model", door.script(HELLO))
    with sqlite3.connect(door.home / "zeno.db") as connection:
        connection.execute("update alembic_version set version_num = '9999'")
    connection.close()
    outcome = door.zeno("runs")
    assert outcome.code == 3
    assert "[database_newer]" in outcome.err


def test_a_file_that_is_no_database_is_said_so(door: Door) -> None:
    door.home.mkdir(parents=True)
    (door.home / "zeno.db").write_bytes(b"not a database at all, but long enough to look at" * 40)
    outcome = door.zeno("runs")
    assert outcome.code == 3
    assert "[database_unusable]" in outcome.err


def test_several_processes_may_start_in_a_fresh_home_at_once(door: Door) -> None:
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(lambda _: door.shell("runs", "--json"), range(4)))
    assert [(outcome.code, outcome.out.strip()) for outcome in outcomes] == [(0, "[]")] * 4


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run", "go", "--file", "missing.csv"), "file_not_found"),
        (("run", "go", "--file", "."), "not_a_file"),
        (("run", "  "), "task_empty"),
        (("run", "x" * 100_001), "task_too_long"),
        (("trace", "nope"), "run_not_found"),
        (("tools", "fly"), "tool_not_found"),
    ],
)
def test_a_request_that_cannot_be_served_says_why(door: Door, arguments: tuple[str, ...], code: str) -> None:
    model = ("--model", door.script(HELLO)) if arguments[0] == "run" else ()
    for lang in ("en-US", "zh-CN"):
        outcome = door.zeno(*arguments, *model, lang=lang)
        assert outcome.code == 2
        assert f"[{code}]" in outcome.err


def test_two_files_of_one_name_are_refused(door: Door) -> None:
    for folder in ("a", "b"):
        (door.here / folder).mkdir()
        (door.here / folder / "x.csv").write_text(folder)
    outcome = door.run("go", "--file", "a/x.csv", "--file", "b/x.csv", "--model", door.script(HELLO))
    assert "[file_twice]" in outcome.err


def test_a_file_that_cannot_be_read_is_said_so(door: Door) -> None:
    # A file of the kernel's that exists for everyone and that nobody can read from its beginning.
    outcome = door.run("go", "--file", "/proc/self/mem", "--model", door.script(HELLO))
    assert outcome.code == 2
    assert "[file_unreadable]" in outcome.err


VAGUE = {
    "tool_description_vague": '@tool()\ndef x() -> str:\n    """Does things."""\n    return ""',
    "tool_parameter_vague": '@tool()\ndef x(var1: str) -> str:\n    """Use it.\n\n    Args:\n        var1: a"""\n    return ""',
    "tool_parameter_undescribed": '@tool()\ndef x(city: str) -> str:\n    """Use it."""\n    return ""',
    "tool_module_empty": "",
    "tool_twice": '@tool()\ndef calculate() -> str:\n    """Use it."""\n    return ""',
    "tool_module_broken": "1/0",
}


@pytest.mark.parametrize("code", VAGUE)
def test_tools_that_a_model_could_not_use_are_refused(door: Door, code: str) -> None:
    door.with_tools(VAGUE[code])
    outcome = door.zeno("tools")
    assert outcome.code == 3
    assert f"[{code}]" in outcome.err


def test_every_line_of_the_log_carries_the_trace_id(door: Door) -> None:
    door.env["ZENO_LOG_LEVEL"] = "info"
    outcome = door.run("hi", "--model", door.script({"fails": "reply_incomplete"}))
    run_id = outcome.events[0]["run_id"]
    lines = [json.loads(line) for line in outcome.err.splitlines() if line.startswith("{")]
    assert lines
    assert {line["trace_id"] for line in lines} == {run_id}
