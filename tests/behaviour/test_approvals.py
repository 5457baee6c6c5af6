"""What a person has to permit: asked durably, decided once, done as decided; and what goes wrong around it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.databases import cut_off
from tests.door import call, calls
from tests.house import House, furnished, served
from tests.scene import scene
from zeno.runs.clock import now
from zeno.runs.jobs import ProcrastinateDispatcher
from zeno.stores.gauges import Gauges

pytestmark = pytest.mark.databases

CHARGE = '''
@tool(effect="danger")
async def charge(account: str, amount: int, ctx: ToolContext) -> str:
    """Charge an account. Use when the user asks for it.

    Args:
        account: The account.
        amount: The sum.
    """
    with (ctx.workspace / "charged").open("a") as book:
        book.write(f"{account} {amount}\\n")
    return f"charged {account} with {amount}"


@tool(effect="write")
def tip(account: str, ctx: ToolContext, amount: int = 1, notes: list[str] = []) -> str:
    """Leave a tip. Use in tests.

    Args:
        account: To whom.
        amount: The sum.
        notes: What to say.
    """
    with (ctx.workspace / "charged").open("a") as book:
        book.write(f"{account} {amount}\\n")
    return "thanks"


@tool()
def look(place: str, ctx: ToolContext) -> str:
    """Look somewhere. Use in tests.

    Args:
        place: Where.
    """
    with (ctx.workspace / "looked").open("a") as book:
        book.write(f"{place}\\n")
    return f"looked at {place}"
'''
ONE = [calls(call("charge", account="a", amount=1)), {"text": "Done."}]
THREE = [calls(*(call("charge", account=name, amount=1) for name in "abc")), {"text": "Done."}]


def charged(house: House) -> list[str]:
    """What was really done."""
    return [line for book in house.home.rglob("charged") for line in book.read_text().splitlines()]


async def paused(house: House, **more: Any) -> tuple[str, list[dict[str, Any]]]:
    """A run that waits, and its approvals."""
    run = await house.run(**more)
    await house.settled(run, "awaiting_approval")
    return run, await house.waiting(run)


def change_tool(home: Path) -> None:
    """Make another tool of the one that was asked about."""
    own = home / "own_tools.py"
    own.write_text(own.read_text().replace("Charge an account.", "Charge an account twice."))


async def asked_anew(house: House, run: str, approval: dict[str, Any]) -> dict[str, Any]:
    """The approval that takes the place of an earlier one, once there is one."""
    while not (fresh := [each for each in await house.waiting(run) if each["id"] != approval["id"]]):
        await asyncio.sleep(0.01)
    return fresh[0]


@scene
async def test_a_call_waits_for_consent_and_is_then_done_once(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, ONE, CHARGE)) as house:
        run, (approval,) = await paused(house)
        assert (approval["tool"], approval["status"], approval["cause"]) == ("charge", "pending", "danger")
        assert not charged(house)
        answer = await house.decide(approval["id"], "approve")
        assert (answer.status_code, answer.json()["decided_by_this"]) == (200, True)
        report = await house.settled(run, "answered")
        assert charged(house) == ["a 1"]
        assert report["answer"] == "Done."


@scene
async def test_ids_of_calls_that_no_column_takes_are_cut_and_stay_apart(tmp_path: Path) -> None:
    ids = ["x" * 300 + "a", "x" * 300 + "b", "nul\x00"]
    wanted = [{**call("charge", account=name, amount=1), "id": own} for name, own in zip("abc", ids, strict=True)]
    again, nothing = {**call("look", place="p"), "id": ids[0]}, call("nul\x00")
    async with served(furnished(tmp_path, [calls(*wanted), calls(again, nothing), {"text": "Done."}], CHARGE)) as house:
        run, waiting = await paused(house)
        for approval in waiting:
            await house.decide(approval["id"], "approve")
        await house.settled(run, "answered")
        told = [event["result"]["call_id"] for event in await house.of(run, "tool_finished")]
        assert len(set(told)) == 5
        assert all(len(each) <= 100 and each.isprintable() for each in told)
        assert sorted(charged(house)) == ["a 1", "b 1", "c 1"]


@scene
async def test_a_paused_run_holds_no_task_and_no_lease(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, ONE, CHARGE)) as house:
        for _ in range(20):
            await paused(house)
        # The last one is on its way out; were one held, the scene would run out of time.
        while [task for task in asyncio.all_tasks() if task.get_name().startswith(("session ", "pulse"))]:
            await asyncio.sleep(0.01)
        load = await Gauges(database=house.app.runs.database).load(now())
        assert (load.driven, load.paused) == (0, 20)


@scene
async def test_connections_that_were_cut_while_they_lay_idle_go_unnoticed(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, ONE, CHARGE)) as house:
        await asyncio.to_thread(cut_off)
        run, (approval,) = await paused(house)
        await asyncio.to_thread(cut_off)
        assert await house.waiting() == [approval]
        await asyncio.to_thread(cut_off)
        assert (await house.decide(approval["id"], "approve")).status_code == 200
        await house.settled(run, "answered")
        assert charged(house) == ["a 1"]


@scene
async def test_a_restart_keeps_what_waits(tmp_path: Path) -> None:
    settings = furnished(tmp_path, ONE, CHARGE)
    async with served(settings) as house:
        run, (approval,) = await paused(house)
    async with served(settings) as house:
        assert [each["id"] for each in await house.waiting()] == [approval["id"]]
        await house.decide(approval["id"], "approve")
        await house.settled(run, "answered")
        assert charged(house) == ["a 1"]


@scene
async def test_a_decision_made_while_nobody_drives_is_carried_out_at_the_next_start(tmp_path: Path) -> None:
    from zeno.app import opened
    from zeno.core.decisions import Approved
    from zeno.core.scope import LOCAL

    settings = furnished(tmp_path, ONE, CHARGE)
    async with served(settings) as house:
        run, (approval,) = await paused(house)
    async with opened(settings) as idle:
        await idle.decide(LOCAL, approval["id"], Approved())
    async with served(settings) as house:
        await house.settled(run, "answered")
        assert charged(house) == ["a 1"]


@scene
async def test_three_approvals_answered_in_reverse_order_reach_their_own_calls(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, THREE, CHARGE)) as house:
        run, waiting = await paused(house)
        assert [json.loads(each["arguments"])["account"] for each in waiting] == ["a", "b", "c"]
        await house.decide(waiting[2]["id"], "edit", arguments={"account": "c", "amount": 3}, reason="three for c")
        await house.decide(waiting[1]["id"], "deny", reason="b owes nothing")
        await house.decide(waiting[0]["id"], "approve")
        await house.settled(run, "answered")
        results = [event["result"] for event in await house.of(run, "tool_finished")]
        assert charged(house) == ["a 1", "c 3"]
        assert [result["outcome"] for result in results] == ["done", "rejected", "done"]
        assert "b owes nothing" in results[1]["text"]
        assert "A person changed the arguments" in results[2]["text"]
        assert "three for c" in results[2]["text"]


@scene
async def test_of_fifty_decisions_at_once_exactly_one_wins(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, ONE, CHARGE)) as house:
        run, (approval,) = await paused(house)
        verdicts = ["approve" if number % 2 else "deny" for number in range(50)]
        answers = await asyncio.gather(*(house.decide(approval["id"], verdict) for verdict in verdicts))
        won = [verdict for verdict, answer in zip(verdicts, answers, strict=True) if answer.json().get("decided_by_this")]
        assert len(won) == 1
        for verdict, answer in zip(verdicts, answers, strict=True):
            assert answer.status_code == (200 if verdict == won[0] else 409)
        await house.settled(run, "answered")
        assert charged(house) == (["a 1"] if won == ["approve"] else [])
        assert len(await house.of(run, "approval_decided")) == 1


@scene
async def test_a_second_click_gets_the_same_answer_and_does_nothing(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, ONE, CHARGE)) as house:
        run, (approval,) = await paused(house)
        first = await house.decide(approval["id"], "approve")
        await house.settled(run, "answered")
        second = await house.decide(approval["id"], "approve")
        assert (first.status_code, second.status_code) == (200, 200)
        assert (second.json()["decided_by_this"], second.json()["approval"]["status"]) == (False, "decided")
        other = await house.decide(approval["id"], "deny")
        assert (other.status_code, other.json()["code"]) == (409, "approval_decided")
        assert charged(house) == ["a 1"]


@scene
async def test_no_answer_in_time_means_no(tmp_path: Path) -> None:
    settings = furnished(tmp_path, [*ONE[:1], {"text": "Nobody said yes.", "expect": ["nobody consented"]}], CHARGE)
    async with served(settings.model_copy(update={"approval_hours": 0.2 / 3600})) as house:
        run = await house.run()
        report = await house.settled(run, "answered")
        assert report["answer"] == "Nobody said yes."
        assert not charged(house)
        (approval,) = (await house.client.get("/api/v1/approvals", params={"status": "expired"})).json()["approvals"]
        late = await house.decide(approval["id"], "approve")
        assert (late.status_code, late.json()["code"]) == (409, "approval_expired")


@scene
async def test_cancelling_closes_the_approvals_and_the_conversation_goes_on(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, [*ONE[:1], {"text": "Good day."}], CHARGE)) as house:
        session = await house.session()
        run = await house.say(session)
        await house.settled(run, "awaiting_approval")
        (approval,) = await house.waiting(run)
        assert (await house.command(run, type="cancel")).status_code == 202
        await house.settled(run, "cancelled")
        assert not await house.waiting()
        assert [event["result"]["outcome"] for event in await house.of(run, "tool_finished")] == ["cancelled"]
        late = await house.decide(approval["id"], "approve")
        assert (late.status_code, late.json()["code"]) == (409, "approval_cancelled")
        following = await house.say(session, "good morning")
        assert (await house.settled(following, "answered"))["answer"] == "Good day."
        assert not charged(house)


@scene
async def test_a_run_behind_one_that_waits_is_not_due_and_is_cancelled_at_once(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, ONE, CHARGE)) as house:
        session = await house.session()
        first = await house.say(session)
        await house.settled(first, "awaiting_approval")
        second = await house.say(session, "and then this")
        told = (await house.client.get("/metrics")).text
        assert 'zeno_installation_runs{state="due"} 0' in told
        assert await house.app.runs.stranded(older_than=2**50, now=now()) == []
        if isinstance(house.app.dispatcher, ProcrastinateDispatcher):
            assert await house.app.dispatcher.jobs.sweep(stalled_after=60, older_than=2**50, now=now()) == 0
        assert (await house.command(second, type="cancel")).status_code == 202
        assert (await house.report(second))["ending"] == "cancelled"
        assert [event["type"] for event in await house.events(second)] == ["user_said", "cancel_requested", "run_ended"]
        await house.decide((await house.waiting(first))[0]["id"], "approve")
        await house.settled(first, "answered")
        assert charged(house) == ["a 1"]


@scene
async def test_a_changed_tool_makes_an_old_consent_void_and_is_asked_about_anew(tmp_path: Path) -> None:
    settings = furnished(tmp_path, ONE, CHARGE)
    async with served(settings) as house:
        run, (approval,) = await paused(house)
    change_tool(tmp_path)
    async with served(settings) as house:
        await house.decide(approval["id"], "approve")
        fresh = await asked_anew(house, run, approval)
        assert not charged(house)
        await house.settled(run, "awaiting_approval")
        await house.decide(fresh["id"], "approve")
        await house.settled(run, "answered")
        assert charged(house) == ["a 1"]


@scene
async def test_what_a_person_changed_stays_changed_when_it_is_asked_about_anew(tmp_path: Path) -> None:
    settings = furnished(tmp_path, ONE, CHARGE)
    async with served(settings) as house:
        run, (approval,) = await paused(house)
    change_tool(tmp_path)
    async with served(settings) as house:
        await house.decide(approval["id"], "edit", arguments={"account": "b", "amount": 2})
        fresh = await asked_anew(house, run, approval)
        assert json.loads(fresh["arguments"]) == {"account": "b", "amount": 2}
        await house.settled(run, "awaiting_approval")
        await house.decide(fresh["id"], "approve")
        await house.settled(run, "answered")
        assert charged(house) == ["b 2"]
        (finished,) = await house.of(run, "tool_finished")
        assert "A person changed the arguments" in finished["result"]["text"]


@scene
async def test_edited_arguments_must_fit_the_tool_and_the_rules(tmp_path: Path) -> None:
    rules = [{"verdict": "deny", "tool": "charge", "arguments": {"account": "king"}}]
    async with served(furnished(tmp_path, ONE, CHARGE, rules=rules)) as house:
        run, (approval,) = await paused(house)
        for arguments in ({"account": "a"}, {"account": "a", "amount": "much"}, {"account": "a", "amount": 1, "tip": 2}):
            refused = await house.decide(approval["id"], "edit", arguments=arguments)
            assert (refused.status_code, refused.json()["code"]) == (422, "decision_arguments")
        await house.decide(approval["id"], "edit", arguments={"account": "king", "amount": 1})
        await house.settled(run, "answered")
        (finished,) = await house.of(run, "tool_finished")
        assert (finished["result"]["outcome"], finished["code"]) == ("rejected", "denied_by_rule")
        assert not charged(house)


@scene
async def test_arguments_that_do_not_fit_are_not_worth_a_persons_time(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, [calls(call("charge", account="a")), {"text": "I see."}], CHARGE)) as house:
        run = await house.run()
        await house.settled(run, "answered")
        assert not await house.of(run, "approval_requested")
        assert (await house.of(run, "tool_finished"))[0]["code"] == "bad_arguments"


@scene
async def test_reads_go_ahead_of_what_waits(tmp_path: Path) -> None:
    script = [calls(call("look", place="x"), call("charge", account="a", amount=1), call("look", place="y")), {"text": "Done."}]
    async with served(furnished(tmp_path, script, CHARGE)) as house:
        run, _ = await paused(house)
        assert [event["result"]["text"].splitlines()[0] for event in await house.of(run, "tool_finished")] == ["looked at x"]


@scene
async def test_by_hand_every_action_is_confirmed(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, [calls(call("look", place="x")), {"text": "Done."}], CHARGE)) as house:
        run, (approval,) = await paused(house, mode="manual")
        assert approval["cause"] == "manual"
        await house.decide(approval["id"], "approve")
        await house.settled(run, "answered")


RULES = {
    "an allow rule lets it through": ([{"verdict": "allow", "tool": "charge", "arguments": {"account": "a"}}], ["a 1"]),
    "an allow rule for other arguments does not": (
        [{"verdict": "allow", "tool": "charge", "arguments": {"account": "b"}}],
        None,
    ),
    "asking beats allowing": ([{"verdict": "allow", "tool": "*"}, {"verdict": "ask", "tool": "charge"}], None),
    "denying beats all": ([{"verdict": "allow", "tool": "*"}, {"verdict": "deny", "tool": "ch*"}], []),
}


@pytest.mark.parametrize("case", RULES)
@scene
async def test_rules_of_the_operator(case: str, tmp_path: Path) -> None:
    rules, expected = RULES[case]
    async with served(furnished(tmp_path, ONE, CHARGE, rules=rules)) as house:
        run = await house.run()
        report = await house.settled(run)
        assert report["ending"] == ("awaiting_approval" if expected is None else "answered")
        assert charged(house) == (expected or [])


LEFT_OUT = {
    "a rule speaks of what the tool receives": (
        [{"verdict": "deny", "tool": "tip", "arguments": {"amount": "1"}}],
        [calls(call("tip", account="a"))],
        [],
    ),
    "what is left out is the same as what is spelled out": (
        [],
        [calls(call("tip", account="a"), call("tip", account="a", amount=1, notes=[]))],
        ["a 1"],
    ),
}


@pytest.mark.parametrize("case", LEFT_OUT)
@scene
async def test_defaults_count_as_if_they_were_given(case: str, tmp_path: Path) -> None:
    rules, asked, expected = LEFT_OUT[case]
    async with served(furnished(tmp_path, [*asked, {"text": "Done."}], CHARGE, rules=rules)) as house:
        await house.settled(await house.run(), "answered")
        assert charged(house) == expected


@scene
async def test_a_request_asks_more_and_never_less(tmp_path: Path) -> None:
    settings = furnished(tmp_path, [calls(call("look", place="here")), {"text": "Seen."}], CHARGE, mode="manual")
    async with served(settings) as house:
        _, (approval,) = await paused(house, mode="auto")
        assert approval["cause"] == "manual"


@scene
async def test_always_allowing_is_remembered_for_this_user(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, ONE, CHARGE)) as house:
        run, (approval,) = await paused(house)
        assert (await house.decide(approval["id"], "approve", always=True)).status_code == 200
        await house.settled(run, "answered")
        again = await house.run()
        await house.settled(again, "answered")
        assert charged(house) == ["a 1", "a 1"]


QUESTION = {"question": "Which colour?", "form": "single", "options": ["red", "blue"]}


@scene
async def test_a_question_waits_for_its_answer(tmp_path: Path) -> None:
    script = [calls(call("ask_user", **QUESTION)), {"text": "Blue it is.", "expect": ["The user chose: blue."]}]
    async with served(furnished(tmp_path, script)) as house:
        run, (approval,) = await paused(house)
        assert approval["kind"] == "question"
        for answer, code in (
            ({"choices": ["green"]}, "answer_not_offered"),
            ({"choices": ["red", "blue"]}, "answer_one_only"),
            ({}, "answer_empty"),
        ):
            refused = await house.decide(approval["id"], "answer", answer=answer)
            assert (refused.status_code, refused.json()["code"]) == (422, code)
        misplaced = await house.decide(approval["id"], "approve")
        assert (misplaced.status_code, misplaced.json()["code"]) == (422, "decision_misplaced")
        await house.decide(approval["id"], "answer", answer={"choices": ["blue"]})
        assert (await house.settled(run, "answered"))["answer"] == "Blue it is."


@scene
async def test_words_answer_a_question(tmp_path: Path) -> None:
    script = [calls(call("ask_user", **QUESTION)), {"text": "Green it is.", "expect": ["The user said: green"]}]
    async with served(furnished(tmp_path, script)) as house:
        run, _ = await paused(house)
        await house.command(run, type="say", text="green, please")
        assert (await house.settled(run, "answered"))["answer"] == "Green it is."


@scene
async def test_words_instead_of_a_click_refuse_the_action_and_are_heard(tmp_path: Path) -> None:
    script = [*ONE[:1], {"text": "Then not.", "expect": ["no, wait for friday", "refused this call"]}]
    async with served(furnished(tmp_path, script, CHARGE)) as house:
        run, _ = await paused(house)
        await house.command(run, type="say", text="no, wait for friday")
        assert (await house.settled(run, "answered"))["answer"] == "Then not."
        kinds = [event["type"] for event in await house.events(run)]
        assert kinds.index("tool_finished") < len(kinds) - 1 - kinds[::-1].index("user_said")
        assert not charged(house)


@scene
async def test_a_persons_time_is_not_the_tools(tmp_path: Path) -> None:
    quick = CHARGE.replace('effect="danger"', 'effect="danger", timeout=0.05')
    async with served(furnished(tmp_path, ONE, quick)) as house:
        run, (approval,) = await paused(house)
        # Longer than the tool may take, and no longer.
        await asyncio.sleep(0.1)
        await house.decide(approval["id"], "approve")
        await house.settled(run, "answered")
        assert charged(house) == ["a 1"]


@scene
async def test_everything_is_in_the_audit_refused_calls_too(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, THREE, CHARGE)) as house:
        run, waiting = await paused(house)
        await house.decide(waiting[0]["id"], "approve")
        await house.decide(waiting[1]["id"], "deny")
        await house.decide(waiting[2]["id"], "deny")
        await house.settled(run, "answered")
        lines = (await house.client.get("/api/v1/audit")).json()["entries"]
        tools = [(line["result"], line["decision"]) for line in lines if line["action"] == "tool"]
        assert sorted(result for result, _ in tools) == ["done", "rejected:denied", "rejected:denied"]
        assert {decision for _, decision in tools} == {each["id"] for each in waiting}
        assert all(line["digest"] and line["effect"] == "danger" for line in lines if line["action"] == "tool")
        assert sorted(line["result"] for line in lines if line["action"] == "decide") == ["approve", "deny", "deny"]
