"""Text from a sub-model: its own model, its own action kind, its tokens counted."""

import json

from tests.door import Door, call, calls


def test_a_sub_model_writes_and_its_tokens_are_counted(door: Door) -> None:
    writer = door.script(
        {"text": "Sehr geehrte Damen und Herren", "usage": {"output_tokens": 7}, "expect": ["Dear all"]}, name="w"
    )
    door.env["ZENO_TEXT_MODEL"] = writer
    wanted = calls(call("generate_text", instruction="Translate into German", text="Dear all"), usage={"output_tokens": 5})
    outcome = door.run("translate", "--model", door.script(wanted, {"text": "ok", "expect": ["Sehr geehrte"]}))
    assert outcome.code == 0, outcome.err
    assert outcome.of("tool_started")[0]["action"] == "LLM_GENERATE"
    assert outcome.of("tool_finished")[0]["usage"]["output_tokens"] == 7
    steps = json.loads(door.zeno("trace", outcome.events[0]["run_id"], "--json").out)["steps"]
    assert steps[-1]["tokens"] == 12


def test_without_a_sub_model_the_tool_is_not_offered(door: Door) -> None:
    assert "generate_text" not in door.zeno("tools").out


def test_a_sub_model_that_fails_is_a_result_for_the_model(door: Door) -> None:
    door.env["ZENO_TEXT_MODEL"] = door.script({"fails": "reply_incomplete"}, name="w")
    script = door.script(
        calls(call("generate_text", instruction="Write")), {"text": "ok", "expect": ["Write the text yourself"]}
    )
    outcome = door.run("write", "--model", script)
    assert outcome.of("tool_finished")[0]["code"] == "text_model_failed"
    assert outcome.code == 0
