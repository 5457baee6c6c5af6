"""Approvals and rules over HTTP: the inbox, the form, the decision that counts, and the rule that spares the next question."""

import asyncio
import sys
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.door import Door, call, calls
from tests.http import HOLD, inside
from tests.scene import scene

pytestmark = pytest.mark.instances

MAIL = {"to": "li@example.com", "text": "[hi] *"}


async def _asked(client: httpx2.AsyncClient, **body: object) -> tuple[str, str]:
    """A run that waits for a decision, and the approval."""
    paused = (await client.post("/api/v1/runs?wait=1", json={"text": "mail li", **body})).json()
    assert paused["ending"] == "awaiting_approval", paused
    return paused["id"], paused["approvals"][0]["id"]


def _mailing(door: Door, times: int = 1, **last: Any) -> str:
    door.with_tools(HOLD)
    return door.script(*([calls(call("send_mail", **MAIL))] * times), {"text": "Done.", **last})


@scene
async def test_an_approval_is_found_in_the_inbox_and_shown_with_its_form(door: Door) -> None:
    script = _mailing(door)
    async with inside(door, model=script) as house, house.own as client:
        run, approval = await _asked(client)
        (listed,) = (await client.get("/api/v1/approvals")).json()["approvals"]
        assert (listed["id"], listed["run_id"], listed["status"], listed["decision"]) == (approval, run, "pending", None)
        assert (await client.get(f"/api/v1/approvals?run={run}&status=pending")).json()["approvals"] == [listed]
        for query in ("status=decided", f"run={'0' * 32}"):
            assert (await client.get(f"/api/v1/approvals?{query}")).json()["approvals"] == []
        form = (await client.get(f"/api/v1/approvals/{approval}")).json()
        assert form["approval"] == listed
        assert form["changed"] is False
        assert form["description"].startswith("Send a mail.")
        assert set(form["parameters"]["properties"]) == {"to", "text"}
        await client.post(f"/api/v1/approvals/{approval}/decision", json={"decision": "approve"})
        await house.ended(run)
        (decided,) = (await client.get("/api/v1/approvals?status=decided")).json()["approvals"]
        assert (await client.get("/api/v1/approvals?status=any")).json()["approvals"] == [decided]
        assert (decided["decision"], decided["decided_by"]) == ({"type": "approve"}, "local")


@scene
async def test_a_tool_that_has_changed_since_is_shown_as_changed(door: Door) -> None:
    script = _mailing(door)
    async with inside(door, model=script) as house, house.own as client:
        _, approval = await _asked(client)
    door.with_tools(HOLD.replace("Send a mail.", "Send a mail to anyone."))
    async with inside(door, model=script) as house, house.own as client:
        form = (await client.get(f"/api/v1/approvals/{approval}")).json()
        assert (form["changed"], form["description"][:20]) == (True, "Send a mail to anyon")
    del door.env["ZENO_TOOLS__MODULES"]
    async with inside(door, model=script) as house, house.own as client:
        form = (await client.get(f"/api/v1/approvals/{approval}")).json()
        assert (form["changed"], form["parameters"]) == (True, None)


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        ({"decision": "approve"}, "sent to li@example.com: [hi] *"),
        (
            {"decision": "edit", "arguments": {"to": "wang@example.com", "text": "你好"}, "reason": "wrong man"},
            "wang@example.com: 你好",
        ),
        ({"decision": "deny", "reason": "not today"}, "not today"),
    ],
)
def test_what_a_person_decides_is_what_happens(door: Door, decision: dict[str, Any], told: str) -> None:
    @scene
    async def decided() -> None:
        script = _mailing(door, expect=[told])
        async with inside(door, model=script) as house, house.own as client:
            run, approval = await _asked(client)
            path = f"/api/v1/approvals/{approval}/decision"
            first = await client.post(path, json=decision)
            assert first.status_code == 200, first.text
            assert first.json()["decided_by_this"] is True
            again = await client.post(path, json=decision)
            assert (again.status_code, again.json()["decided_by_this"]) == (200, False)
            assert again.json()["approval"] == first.json()["approval"]
            other = await client.post(path, json={"decision": "deny", "reason": "too late"})
            assert (other.status_code, other.json()["code"]) == (409, "approval_decided")
            assert other.json()["approval"] == first.json()["approval"]
            assert (await house.ended(run))["answer"] == "Done."
            lines = (await client.get(f"/api/v1/audit?run={run}")).json()["entries"]
            (told_of,) = [line for line in lines if line["action"] == "decide"]
            assert (told_of["decision"], told_of["result"]) == (approval, decision["decision"])

    decided()


@scene
async def test_of_many_who_decide_at_once_one_counts(door: Door) -> None:
    script = _mailing(door)
    async with inside(door, model=script) as house, house.own as client:
        run, approval = await _asked(client)
        path = f"/api/v1/approvals/{approval}/decision"
        wishes = [{"decision": "deny", "reason": f"{number}"} for number in range(8)]
        answers = await asyncio.gather(*(client.post(path, json=wish) for wish in wishes))
        won = [answer.json()["approval"]["decision"] for answer in answers if answer.status_code == 200]
        assert len(won) == 1
        assert {answer.status_code for answer in answers} == {200, 409}
        assert all(answer.json()["approval"]["decision"] == won[0] for answer in answers)
        await house.ended(run)


@scene
async def test_a_question_is_answered(door: Door) -> None:
    asked = call("ask_user", question="Which?", options=["tea", "coffee"], form="single")
    script = door.script(calls(asked), {"text": "Tea it is.", "expect": ["tea"]})
    async with inside(door, model=script) as house, house.own as client:
        run, approval = await _asked(client)
        path = f"/api/v1/approvals/{approval}/decision"
        for wrong in ({"decision": "approve"}, {"decision": "answer", "answer": {"choices": ["milk"]}}):
            assert (await client.post(path, json=wrong)).status_code == 422, wrong
        good = await client.post(path, json={"decision": "answer", "answer": {"choices": ["tea"]}})
        assert good.status_code == 200, good.text
        assert (await house.ended(run))["answer"] == "Tea it is."


@scene
async def test_always_spares_the_next_question_and_only_that_one(door: Door) -> None:
    script = _mailing(door, times=2)
    async with inside(door, model=script) as house, house.own as client:
        run, approval = await _asked(client)
        said = await client.post(f"/api/v1/approvals/{approval}/decision", json={"decision": "approve", "always": True})
        assert said.status_code == 200, said.text
        assert (await house.ended(run))["ending"] == "answered"
        (kept,) = (await client.get("/api/v1/rules")).json()["rules"]
        assert kept["rule"]["verdict"] == "allow"

        async def verdict(**arguments: str) -> str:
            trial = await client.post("/api/v1/rules/test", json={"tool": "send_mail", "arguments": arguments})
            return str(trial.json()["verdict"])

        assert await verdict(**MAIL) == "allow"
        assert await verdict(to="li@example.com", text="h all of it") == "ask"
        assert await verdict(to="wang@example.com", text=MAIL["text"]) == "ask"
        assert await verdict(**MAIL, bcc="wang@example.com") == "ask", "what was not seen is not permitted"
        assert await verdict() == "ask"
        assert (
            await client.post(f"/api/v1/approvals/{approval}/decision", json={"decision": "approve", "always": True})
        ).is_success
        assert len((await client.get("/api/v1/rules")).json()["rules"]) == 1


@scene
async def test_always_may_leave_arguments_open_and_holds_the_others(door: Door) -> None:
    async with inside(door, model=_mailing(door)) as house, house.own as client:
        run, approval = await _asked(client)
        decision = {"decision": "approve", "always": True}
        path = f"/api/v1/approvals/{approval}/decision"
        wrong = await client.post(path, json=decision | {"any": ["text", "bcc"]})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "always_unknown")
        assert wrong.json()["params"] == {"names": "bcc", "known": "text, to"}
        assert (await client.get("/api/v1/rules")).json()["rules"] == []
        assert (await client.post(path, json=decision | {"any": ["text"]})).status_code == 200
        assert (await house.ended(run))["ending"] == "answered"
        (kept,) = (await client.get("/api/v1/rules")).json()["rules"]
        assert kept["rule"]["arguments"] == {"to": MAIL["to"], "text": "*"}

        async def verdict(**arguments: str) -> str:
            trial = await client.post("/api/v1/rules/test", json={"tool": "send_mail", "arguments": arguments})
            return str(trial.json()["verdict"])

        assert await verdict(to=MAIL["to"], text="something else,\nin two lines") == "allow"
        assert await verdict(to="wang@example.com", text=MAIL["text"]) == "ask"
        assert await verdict(**MAIL, bcc="wang@example.com") == "ask"


@scene
async def test_always_is_refused_where_no_rule_could_spare_the_question(door: Door) -> None:
    script = _mailing(door)
    async with inside(door, model=script) as house, house.own as client:
        run, approval = await _asked(client, mode="manual")
        path = f"/api/v1/approvals/{approval}/decision"
        refused = await client.post(path, json={"decision": "approve", "always": True})
        assert (refused.status_code, refused.json()["code"]) == (422, "always_not_possible")
        assert (await client.get("/api/v1/rules")).json()["rules"] == []
        assert (await client.post(path, json={"decision": "deny"})).status_code == 200
        await house.ended(run)


@scene
async def test_always_that_cannot_be_kept_decides_nothing(door: Door) -> None:
    script = _mailing(door)
    async with inside(door, model=script) as house, house.own as client:
        run, approval = await _asked(client)
        while (added := await client.post("/api/v1/rules", json={"verdict": "deny", "tool": uuid4().hex})).status_code == 201:
            pass
        assert (added.status_code, added.json()["code"]) == (409, "rules_full")
        path = f"/api/v1/approvals/{approval}"
        refused = await client.post(f"{path}/decision", json={"decision": "approve", "always": True})
        assert (refused.status_code, refused.json()["code"]) == (409, "rules_full")
        assert (await client.get(path)).json()["approval"]["status"] == "pending"
        await client.post(f"{path}/decision", json={"decision": "deny"})
        await house.ended(run)


@pytest.mark.parametrize(
    ("verdict", "told"), [("allow", "sent to li@example.com"), ("deny", "a rule of this installation forbids")]
)
def test_a_rule_that_comes_while_a_run_is_at_work_counts_for_its_next_call(door: Door, verdict: str, told: str) -> None:
    @scene
    async def ruled() -> None:
        door.with_tools(HOLD)
        script = door.script(
            calls(call("hold", word="x")), calls(call("send_mail", **MAIL)), {"text": "Done.", "expect": [told]}
        )
        async with inside(door, model=script) as house, house.own as client:
            run = (await client.post("/api/v1/runs", json={"text": "go"})).json()["run_id"]
            await sys.modules["zeno_tools_own_tools"].entered.wait()
            made = await client.post("/api/v1/rules", json={"verdict": verdict, "tool": "send_mail"})
            assert (await client.post("/api/v1/rules", json={"verdict": verdict, "tool": "send_mail"})).json() == made.json()
            sys.modules["zeno_tools_own_tools"].release.set()
            assert (await house.ended(run))["ending"] == "answered"

    ruled()


WRONG: list[dict[str, Any]] = [
    {},
    {"decision": "maybe"},
    {"decision": "edit"},
    {"decision": "approve", "arguments": {}},
    {"decision": "edit", "arguments": []},
    {"decision": "edit", "arguments": {"to": "x"}},
    {"decision": "edit", "arguments": {"to": "x", "text": "y", "cc": "z"}},
    {"decision": "answer"},
    {"decision": "answer", "answer": {"choices": ["x"]}},
    {"decision": "deny", "always": True},
    {"decision": "approve", "any": ["text"]},
    {"decision": "deny", "reason": "x" * 10_001},
]


@scene
async def test_a_decision_that_does_not_fit_decides_nothing(door: Door) -> None:
    script = _mailing(door)
    async with inside(door, model=script) as house, house.own as client:
        run, approval = await _asked(client)
        for body in WRONG:
            refused = await client.post(f"/api/v1/approvals/{approval}/decision", json=body)
            assert refused.status_code == 422, body
        surrogate = await client.post(
            f"/api/v1/approvals/{approval}/decision",
            content=rb'{"decision": "edit", "arguments": {"to": "\ud800", "text": "x"}}',
            headers={"Content-Type": "application/json"},
        )
        assert surrogate.status_code == 422
        assert (await client.get("/api/v1/approvals/none")).status_code == 404
        assert (await client.post("/api/v1/approvals/none/decision", json={"decision": "approve"})).status_code == 404
        elsewhere = {"type": "decide", "approval_id": approval, "decision": {"decision": "approve"}}
        assert (await client.post(f"/api/v1/runs/{'0' * 32}/commands", json=elsewhere)).status_code == 404
        assert (await client.get(f"/api/v1/approvals/{approval}")).json()["approval"]["status"] == "pending"
        await client.post(f"/api/v1/approvals/{approval}/decision", json={"decision": "deny"})
        await house.ended(run)


@scene
async def test_rules_are_kept_tried_out_and_forgotten(door: Door) -> None:
    door.with_tools(HOLD)
    forbidden = {"verdict": "deny", "tool": "send_mail", "arguments": {"to": "*@evil.example"}}
    async with inside(door, rules=[forbidden]) as house, house.own as client:
        await _try_rules(client)
        (told,) = (await client.get("/api/v1/rules")).json()["settings"]
        assert told == forbidden | {"approver": "owner", "exact": False}


async def _try_rules(client: httpx2.AsyncClient) -> None:
    async def verdict(to: str) -> tuple[str, str]:
        trial = await client.post("/api/v1/rules/test", json={"tool": "send_mail", "arguments": {"to": to, "text": "x"}})
        return trial.json()["verdict"], trial.json()["cause"]

    assert await verdict("li@example.com") == ("ask", "danger")
    kept = await client.post("/api/v1/rules", json={"verdict": "allow", "tool": "send_*", "arguments": {"to": "*@example.com"}})
    assert kept.status_code == 201
    assert kept.headers["location"] == f"/api/v1/rules/{kept.json()['id']}"
    assert (await client.get("/api/v1/rules")).json()["rules"] == [kept.json()]
    assert await verdict("li@example.com") == ("allow", "")
    assert await verdict("li@example.org") == ("ask", "danger")
    everything = await client.post("/api/v1/rules", json={"verdict": "allow", "tool": "*"})
    assert everything.status_code == 201
    # What the operator forbids no rule of a user's permits.
    assert await verdict("x@evil.example") == ("deny", "denied_by_rule")
    for rule in (kept, everything):
        assert (await client.delete(rule.headers["location"])).status_code == 204
        assert (await client.delete(rule.headers["location"])).status_code == 404
    assert await verdict("li@example.com") == ("ask", "danger")
    wrong: list[dict[str, Any]] = [
        {},
        {"verdict": "perhaps", "tool": "x"},
        {"verdict": "allow", "tool": ""},
        {"verdict": "allow", "tool": "x", "arguments": {"a": 1}},
        {"verdict": "allow", "tool": "x", "approver": "admin"},
    ]
    for body in wrong:
        assert (await client.post("/api/v1/rules", json=body)).status_code == 422, body
    missing = await client.post("/api/v1/rules/test", json={"tool": "no_such_tool", "arguments": {}})
    assert (missing.status_code, missing.json()["code"]) == (404, "tool_not_found")
    nobody = await client.post("/api/v1/rules/test", json={"tool": "send_mail", "arguments": {}, "agent": "nobody"})
    assert (nobody.status_code, nobody.json()["code"]) == (422, "agent_unknown")
    actions = [entry["action"] for entry in (await client.get("/api/v1/audit")).json()["entries"]]
    assert actions.count("rule_added") == 2
    assert actions.count("rule_removed") == 4, "also those that were refused"
