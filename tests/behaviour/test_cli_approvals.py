"""Deciding from the command line: what waits is listed, decided, and the run goes on."""

import json
import os
import pty
import select
import subprocess

import pytest

from tests.door import ZENO, Door, call, calls
from tests.http import inside
from tests.scene import scene

MAIL = '''
@tool(effect="danger")
def send_mail(to: str, ctx: ToolContext) -> str:
    """Send a mail. Use when the user asks for it.

    Args:
        to: the address
    """
    with (ctx.workspace / "sent.txt").open("a") as sent:
        sent.write(to + "\\n")
    return f"sent to {to}"
'''
STORY = [calls(call("send_mail", to="a@b.c")), {"text": "Done."}]


def sent(door: Door) -> list[str]:
    return [line for file in door.home.rglob("sent.txt") for line in file.read_text().splitlines()]


def paused(door: Door, *story: dict[str, object]) -> str:
    door.with_tools(MAIL)
    outcome = door.run("mail", "--model", door.script(*(story or STORY)))
    assert outcome.code == 11
    return str(outcome.events[0]["run_id"])


@pytest.mark.parametrize(("lang", "words"), [("en-US", "acts on the world outside"), ("zh-CN", "影响外部世界")])
def test_what_waits_is_listed_with_the_reason(door: Door, lang: str, words: str) -> None:
    run = paused(door)
    listed = door.zeno("approvals", lang=lang)
    assert listed.code == 0
    assert f"{run[:12]}.1" in listed.out
    assert words in listed.out
    (approval,) = json.loads(door.zeno("approvals", "--json").out)
    assert (approval["tool"], json.loads(approval["arguments"])) == ("send_mail", {"to": "a@b.c"})


def test_a_call_is_permitted_with_other_arguments(door: Door) -> None:
    run = paused(door)
    outcome = door.zeno("approve", f"{run[:8]}.1", "--arguments", '{"to": "x@y.z"}', "--reason", "wrong address")
    assert outcome.code == 0
    assert sent(door) == ["x@y.z"]
    assert "permitted with other arguments" in outcome.out


def test_a_refusal_is_told_with_its_reason(door: Door) -> None:
    run = paused(door, STORY[0], {"text": "Not sent.", "expect": ["only on fridays"]})
    assert door.zeno("deny", run[:8], "--reason", "only on fridays").code == 0
    assert not sent(door)


def test_a_question_is_answered(door: Door) -> None:
    asked = calls(call("ask_user", question="Which?", form="single", options=["red", "blue"]))
    told = {"text": "Blue.", "expect": ["The user chose: blue."]}
    run = paused(door, asked, told)
    wrong = door.zeno("answer", run[:8], "--choose", "green")
    assert (wrong.code, "answer_not_offered" in wrong.err) == (2, True)
    assert door.zeno("answer", run[:8], "--choose", "blue").code == 0


def test_deciding_twice_does_nothing_more_and_otherwise_is_refused(door: Door) -> None:
    run = paused(door)
    assert door.zeno("approve", f"{run}.1").code == 0
    assert door.zeno("approve", f"{run}.1").code == 0
    other = door.zeno("deny", f"{run}.1", lang="zh-CN")
    assert (other.code, "此前已有不同的决定" in other.err) == (2, True)
    assert sent(door) == ["a@b.c"]


def test_whoever_runs_the_installation_sees_and_decides_what_waits_in_any_team(door: Door) -> None:
    door.with_tools(MAIL)
    door.env |= {"ZENO_SERVER__AUTH": "team"}
    for name, more in (("ada", ["--team", "law"]), ("eve", ["--team", "law", "--admin"])):
        assert door.zeno("users", "add", name, *more, stdin="correct horse battery").code == 0
    rights = {"ada": "read,run", "eve": "read,admin"}
    ada, eve = (door.zeno("keys", "add", "ci", "--user", name, "--rights", own).out.strip() for name, own in rights.items())
    team = {"model": door.script(*STORY), "server": {"auth": "team"}}

    @scene
    async def begun() -> None:
        async with inside(door, **team) as house, house.caller(ada) as client:
            report = (await client.post("/api/v1/runs?wait=1", json={"text": "mail"})).json()
            assert report["ending"] == "awaiting_approval"

    begun()
    (waiting,) = json.loads(door.zeno("approvals", "--json").out)
    assert (waiting["tool"], waiting["user"], waiting["team"]) == ("send_mail", "ada", "law")
    assert "ada" in door.zeno("approvals").out
    run = waiting["run_id"]
    decided = door.zeno("approve", run[:8])
    assert (decided.code, decided.out, "decided for ada (law)" in decided.err) == (0, "", True)
    assert not sent(door), "the run is the server's"

    @scene
    async def gone_on() -> None:
        async with inside(door, **team) as house, house.caller(ada) as client, house.caller(eve) as admin:
            await client.get(f"/api/v1/runs/{run}/events")
            assert (await client.get(f"/api/v1/runs/{run}")).json()["answer"] == "Done."
            lines = (await admin.get(f"/api/v1/audit?run={run}")).json()["entries"]
            (line,) = [line for line in lines if line["action"] == "decide"]
            assert (line["user_id"], line["target"], line["result"]) == ("local", "send_mail", "approve")

    gone_on()
    assert sent(door) == ["a@b.c"]


def test_resuming_a_paused_run_leaves_it_waiting(door: Door) -> None:
    run = paused(door)
    assert door.zeno("run", "--resume", run).code == 11
    assert not sent(door)


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "code", "expected"), [(["y"], 0, ["a@b.c"]), (["n", "no reason"], 0, []), ([""], 11, [])])
def test_at_a_terminal_it_is_asked_there(door: Door, typed: list[str], code: int, expected: list[str]) -> None:
    door.with_tools(MAIL)
    primary, secondary = pty.openpty()
    command = [ZENO, "run", "mail", "--model", door.script(*STORY)]
    process = subprocess.Popen(
        command, cwd=door.here, env=door.environment() | {"TERM": "dumb"}, stdin=secondary, stdout=secondary, stderr=secondary
    )
    os.close(secondary)
    shown, prompts = b"", [b"later:", b"may be empty)"]
    try:
        for words, prompt in zip(typed, prompts, strict=False):
            while prompt not in shown:
                assert select.select([primary], [], [], 30)[0], shown
                shown += os.read(primary, 4096)
            os.write(primary, words.encode() + b"\n")
            shown = b""
        while select.select([primary], [], [], 30)[0]:
            try:
                if not os.read(primary, 4096):
                    break
            except OSError:
                break
        assert process.wait(30) == code
    finally:
        process.kill()
        process.wait()
        os.close(primary)
    assert sent(door) == expected
