"""Runs over HTTP: begun once, waited for, queued, steered, refused, listed, shown, cancelled."""

import asyncio
import sys
from typing import Any

import httpx2
import pytest

from tests.door import Door, call, calls
from tests.http import HOLD, Inside, inside
from tests.scene import scene

pytestmark = pytest.mark.instances


@scene
async def test_a_task_is_taken_at_once_and_done_afterwards(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        taken = await client.post("/api/v1/runs", json={"text": "what is 6*7?"})
        assert taken.status_code == 202
        run = taken.json()
        assert taken.headers["location"] == f"/api/v1/runs/{run['run_id']}"
        assert run["queued_behind"] is None
        report = await house.ended(run["run_id"])
        assert (report["ending"], report["code"], report["session_id"]) == ("answered", "answered", run["session_id"])
        assert "42" in report["answer"]
        assert [step["tool"] for step in report["steps"]] == ["calculate", ""]
        assert report["events"] == 9
        assert report["ended_at"] >= report["created_at"]


@scene
async def test_the_answer_can_be_waited_for(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        for wait in (1, 30):
            done = await client.post(f"/api/v1/runs?wait={wait}", json={"text": "what is 6*7?"})
            assert done.status_code == 200
            assert "42" in done.json()["answer"]
            assert done.headers["location"].endswith(done.json()["id"])
        for wait in ("-1", "601", "long"):
            assert (await client.post(f"/api/v1/runs?wait={wait}", json={"text": "x"})).status_code == 422


@scene
async def test_who_waits_in_vain_is_told_where_to_look(door: Door) -> None:
    door.with_tools(HOLD)
    script = door.script(calls(call("hold", word="x")), {"text": "ok"})
    async with inside(door, model=script) as house, house.own as client:
        taken = await client.post("/api/v1/runs?wait=2", json={"text": "go"})
        assert taken.status_code == 202
        assert set(taken.json()) == {"run_id", "session_id", "queued_behind"}
        sys.modules["zeno_tools_own_tools"].release.set()
        await house.ended(taken.json()["run_id"])


@scene
async def test_a_run_that_pauses_is_settled_too_and_shows_what_it_waits_for(door: Door) -> None:
    door.with_tools(HOLD)
    script = door.script(calls(call("send_mail", to="li", text="hi")), {"text": "Sent."})
    async with inside(door, model=script) as house, house.own as client:
        paused = (await client.post("/api/v1/runs?wait=1", json={"text": "mail li"})).json()
        assert (paused["ending"], paused["ended_at"], paused["answer"]) == ("awaiting_approval", None, None)
        (approval,) = paused["approvals"]
        assert (approval["tool"], approval["status"]) == ("send_mail", "pending")
        told = await client.post(
            f"/api/v1/runs/{paused['id']}/commands",
            json={"type": "decide", "approval_id": approval["id"], "decision": {"decision": "approve"}},
        )
        assert told.status_code == 202
        assert (await house.ended(paused["id"]))["answer"] == "Sent."


@scene
async def test_the_same_request_makes_one_run(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        session = (await client.post("/api/v1/sessions")).json()["id"]
        for path in ("/api/v1/runs", f"/api/v1/sessions/{session}/runs"):
            key = {"Idempotency-Key": f"first-{len(path)}"}
            body = {"text": "what is 6*7?"}
            asked = await asyncio.gather(*(client.post(path, json=body, headers=key) for _ in range(5)))
            assert {answer.status_code for answer in asked} == {202}
            (run,) = {answer.json()["run_id"] for answer in asked}
            report = await house.ended(run)
            again = await client.post(f"{path}?wait=1", json=body, headers=key)
            assert again.json() == report
            other = await client.post(path, json={"text": "what is 6*8?"}, headers=key)
            assert (other.status_code, other.json()["code"]) == (409, "request_key_reused")
            fresh = await client.post(path, json=body, headers={"Idempotency-Key": f"second-{len(path)}"})
            assert fresh.json()["run_id"] != run
            await house.ended(fresh.json()["run_id"])
        for key in ("", "x" * 129, "two words"):
            refused = await client.post("/api/v1/runs", json={"text": "x"}, headers={"Idempotency-Key": key})
            assert refused.status_code == 422


@scene
async def test_the_same_request_is_known_while_its_run_is_on_whatever_it_says_of_busy_times(door: Door) -> None:
    door.with_tools(HOLD)
    script = door.script(calls(call("hold", word="x")), {"text": "ok"})
    async with inside(door, model=script) as house, house.own as client:
        path = (await client.post("/api/v1/sessions")).headers["location"]
        await client.put(f"{path}/files/a.txt", content=b"a")
        body = {"text": "go", "when_busy": "reject", "files": ["./a.txt"]}
        first = await client.post(f"{path}/runs", json=body, headers={"Idempotency-Key": "k"})
        await sys.modules["zeno_tools_own_tools"].entered.wait()
        again = await client.post(f"{path}/runs", json=body, headers={"Idempotency-Key": "k"})
        assert again.json() == first.json()
        other = await client.post(f"{path}/runs", json=body | {"files": []}, headers={"Idempotency-Key": "k"})
        assert other.status_code == 409
        sys.modules["zeno_tools_own_tools"].release.set()
        await house.ended(first.json()["run_id"])


async def _busy(house: Inside, client: httpx2.AsyncClient, **first: object) -> tuple[str, str]:
    """A session in which a run holds: its path, and the run."""
    path = (await client.post("/api/v1/sessions")).headers["location"]
    run = (await client.post(f"{path}/runs", json={"text": "hold", **first})).json()["run_id"]
    await sys.modules["zeno_tools_own_tools"].entered.wait()
    return path, run


@scene
async def test_a_second_task_waits_its_turn(door: Door) -> None:
    door.with_tools(HOLD)
    script = door.script(calls(call("hold", word="x")), {"text": "one"}, {"text": "two", "expect": ["second"]})
    async with inside(door, model=script) as house, house.own as client:
        path, first = await _busy(house, client)
        second = (await client.post(f"{path}/runs", json={"text": "second"})).json()
        assert second["queued_behind"] == first
        third = (await client.get(f"/api/v1/runs/{second['run_id']}")).json()
        assert (third["ending"], third["events"]) == (None, 0)
        sys.modules["zeno_tools_own_tools"].release.set()
        assert (await house.ended(second["run_id"]))["answer"] == "two"
        assert (await house.ended(first))["answer"] == "one"


@scene
async def test_words_can_go_to_the_run_that_is_on(door: Door) -> None:
    door.with_tools(HOLD)
    script = door.script(calls(call("hold", word="x")), {"text": "both", "expect": ["faster please", "and shorter"]})
    async with inside(door, model=script) as house, house.own as client:
        path, first = await _busy(house, client)
        steered = await client.post(f"{path}/runs", json={"text": "faster please", "when_busy": "steer"})
        assert steered.json() == {"run_id": first, "session_id": path.rpartition("/")[2], "queued_behind": None}
        said = await client.post(f"/api/v1/runs/{first}/commands", json={"type": "say", "text": "and shorter"})
        assert said.json() == {"run_id": first}
        sys.modules["zeno_tools_own_tools"].release.set()
        assert (await house.ended(first))["answer"] == "both"


@scene
async def test_a_busy_session_can_refuse(door: Door) -> None:
    door.with_tools(HOLD)
    script = door.script(calls(call("hold", word="x")), {"text": "one"}, {"text": "two"})
    async with inside(door, model=script) as house, house.own as client:
        path, first = await _busy(house, client)
        refused = await client.post(f"{path}/runs", json={"text": "second", "when_busy": "reject"})
        assert (refused.status_code, refused.json()["code"]) == (409, "session_busy")
        sys.modules["zeno_tools_own_tools"].release.set()
        await house.ended(first)
        taken = await client.post(f"{path}/runs?wait=1", json={"text": "second", "when_busy": "reject"})
        assert taken.json()["answer"] == "two"


@scene
async def test_a_run_is_cancelled_and_hears_nothing_afterwards(door: Door) -> None:
    door.with_tools(HOLD)
    async with inside(door, model=door.script(calls(call("hold", word="x")))) as house, house.own as client:
        _, run = await _busy(house, client)
        commands = f"/api/v1/runs/{run}/commands"
        assert (await client.post(commands, json={"type": "cancel"})).status_code == 202
        report = await house.ended(run)
        assert (report["ending"], report["code"]) == ("cancelled", "cancelled")
        assert report["steps"][0]["outcome"] == "cancelled"
        for body in ({"type": "cancel"}, {"type": "say", "text": "wait"}):
            late = await client.post(commands, json=body)
            assert (late.status_code, late.json()["code"]) == (409, "run_ended"), body
        lines = (await client.get(f"/api/v1/audit?run={run}")).json()["entries"]
        told = [(each["decision"], each["result"]) for each in lines if each["action"] == "run_cancelled"]
        assert told == [("refused", "run_ended"), ("", "done")]


@scene
async def test_events_are_read_page_by_page_and_one_by_one(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        run = (await client.post("/api/v1/runs?wait=1", json={"text": "what is 6*7?"})).json()["id"]
        path = f"/api/v1/runs/{run}/events"
        whole = (await client.get(f"{path}?format=json")).json()
        assert whole["next"] is None
        assert [event["seq"] for event in whole["events"]] == list(range(1, 10))
        assert whole["events"][0]["type"] == "run_started"
        assert (await client.get(path, headers={"Accept": "application/json"})).json() == whole
        paged: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            page = (await client.get(f"{path}?format=json&limit=4&after={after}")).json()
            paged, after = paged + page["events"], page["next"]
        assert paged == whole["events"]
        for event in whole["events"]:
            assert (await client.get(f"{path}/{event['seq']}")).json() == event
        for seq in (0, 10, 2**63):
            assert (await client.get(f"{path}/{seq}")).status_code == 404
        assert (await client.get(f"{path}?format=json&after=x")).json()["code"] == "cursor_invalid"


@scene
async def test_a_stream_of_a_run_that_is_over_tells_all_and_ends(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        run = (await client.post("/api/v1/runs?wait=1", json={"text": "what is 6*7?"})).json()["id"]
        told = await client.get(f"/api/v1/runs/{run}/events")
        assert told.headers["content-type"].startswith("text/event-stream")
        assert "x-request-id" in told.headers
        kinds = [line.removeprefix("event: ") for line in told.text.splitlines() if line.startswith("event: ")]
        assert kinds[0] == "run_started"
        assert kinds[-1] == "run_ended"
        rest = await client.get(f"/api/v1/runs/{run}/events", headers={"Last-Event-ID": "8"})
        assert rest.text.count("event: ") == 1


@scene
async def test_runs_are_listed_by_session_and_ending(door: Door) -> None:
    door.with_tools(HOLD)
    script = door.script(calls(call("send_mail", to="li", text="hi")))
    async with inside(door) as house, house.own as client:
        done = [(await client.post("/api/v1/runs?wait=1", json={"text": f"what is {n}*7?"})).json() for n in (6, 7, 8)]
        paused = (await client.post("/api/v1/runs?wait=1", json={"text": "mail " * 200, "model": script})).json()

        async def listed(query: str = "") -> list[str]:
            return [run["id"] for run in (await client.get(f"/api/v1/runs?{query}")).json()["runs"]]

        assert await listed() == [paused["id"], *(run["id"] for run in reversed(done))]
        assert await listed("ending=answered") == [run["id"] for run in reversed(done)]
        assert await listed("ending=awaiting_approval") == [paused["id"]]
        assert await listed("ending=open") == []
        assert await listed(f"session={done[1]['session_id']}") == [done[1]["id"]]
        page = (await client.get("/api/v1/runs?limit=2")).json()
        assert [run["id"] for run in page["runs"]] == [paused["id"], done[2]["id"]]
        assert await listed(f"before={page['next']}") == [done[1]["id"], done[0]["id"]]
        assert len(page["runs"][0]["task"]) == 500
        assert (await client.get("/api/v1/runs?ending=happy")).status_code == 422
        await client.post(f"/api/v1/runs/{paused['id']}/commands", json={"type": "cancel"})
        await house.ended(paused["id"])


BAD_TASKS: list[tuple[dict[str, Any], int, str]] = [
    ({}, 422, "request_invalid"),
    ({"text": ""}, 422, "request_invalid"),
    ({"text": " \n"}, 422, "task_empty"),
    ({"text": "x" * 100_001}, 422, "request_invalid"),
    ({"text": 7}, 422, "request_invalid"),
    ({"text": "x", "agent": "nobody"}, 422, "agent_unknown"),
    ({"text": "x", "model": "nothing:at-all"}, 422, "model_unknown"),
    ({"text": "x", "model": "openai:"}, 422, "model_name_missing"),
    ({"text": "x", "mode": "wild"}, 422, "request_invalid"),
    ({"text": "x", "allow_danger": True}, 422, "request_invalid"),
    ({"text": "x", "files": ["none.csv"]}, 404, "file_not_found"),
    ({"text": "x", "files": ["../zeno.db"]}, 422, "path_invalid"),
    ({"text": "x", "files": [".hidden"]}, 422, "path_invalid"),
]


@pytest.mark.parametrize(("body", "status", "code"), BAD_TASKS)
def test_a_task_that_does_not_fit_begins_nothing(door: Door, body: dict[str, Any], status: int, code: str) -> None:
    @scene
    async def tried() -> None:
        async with inside(door) as house, house.own as client:
            path = (await client.post("/api/v1/sessions")).headers["location"]
            refused = await client.post(f"{path}/runs", json=body)
            assert (refused.status_code, refused.json()["code"]) == (status, code)
            assert (await client.get("/api/v1/runs")).json()["runs"] == []

    tried()


@scene
async def test_what_is_not_there_is_not_found(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        run = (await client.post("/api/v1/runs?wait=1", json={"text": "what is 6*7?"})).json()["id"]
        for other in (run[:8], run.upper(), "f" * 32, "x", f"{run}0"):
            if other == run:
                continue
            for path in (f"/api/v1/runs/{other}", f"/api/v1/runs/{other}/events", f"/api/v1/runs/{other}/events/1"):
                missing = await client.get(path)
                assert (missing.status_code, missing.json()["code"]) == (404, "run_not_found"), path
            told = await client.post(f"/api/v1/runs/{other}/commands", json={"type": "cancel"})
            assert told.status_code == 404
        assert (await client.post("/api/v1/sessions/none/runs", json={"text": "x"})).status_code == 404
        wrong: list[dict[str, object]] = [
            {},
            {"type": "dance"},
            {"type": "say"},
            {"type": "cancel", "why": "x"},
            {"type": "decide"},
        ]
        for body in wrong:
            assert (await client.post(f"/api/v1/runs/{run}/commands", json=body)).status_code == 422, body


@scene
async def test_the_language_of_a_run_is_asked_for_or_that_of_the_caller(door: Door) -> None:
    async with inside(door) as house, house.own as client:

        async def spoken(body: dict[str, str], **headers: str) -> str:
            done = await client.post("/api/v1/runs?wait=1", json={"text": "what is 6*7?"} | body, headers=headers)
            return str(done.json()["language"])

        assert await spoken({}) == "en-US"
        assert await spoken({}, **{"Accept-Language": "zh-TW,zh;q=0.9,en;q=0.8"}) == "zh-CN"
        assert await spoken({}, **{"Accept-Language": "fr;q=0.9, en;q=0.2, zh;q=0.5"}) == "zh-CN"
        assert await spoken({"language": "en-US"}, **{"Accept-Language": "zh"}) == "en-US"
