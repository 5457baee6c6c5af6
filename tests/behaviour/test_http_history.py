"""The history of a conversation over HTTP: its runs with their events, page by page; and runs found by what they were."""

import json
import sys
from typing import Any

import httpx2
import pytest

from tests.door import Door, call, calls
from tests.house import House, furnished, served
from tests.http import HOLD, inside, parsed
from tests.scene import scene
from zeno.server.routes.history import MOST_EVENTS

pytestmark = pytest.mark.instances

Page = dict[str, Any]


async def _history(client: httpx2.AsyncClient, session: str, **query: object) -> Page:
    answer = await client.get(f"/api/v1/sessions/{session}/history", params={name: str(value) for name, value in query.items()})
    assert answer.status_code == 200, answer.text
    page: Page = answer.json()
    return page


async def _streamed(client: httpx2.AsyncClient, run: str, after: str = "") -> list[dict[str, Any]]:
    """What a run's stream tells of its log, to its end."""
    answer = await client.get(f"/api/v1/runs/{run}/events", params={"after": after})
    told = parsed(iter(answer.text.split("\n")))
    return [{name: value for name, value in event.items() if name != "id"} for event in told if "seq" in event]


async def _pages(house: House, session: str, limit: int) -> list[list[str]]:
    """The tasks of all pages, from the newest page on."""
    pages: list[list[str]] = []
    before: dict[str, str] = {}
    while True:
        page = await _history(house.client, session, limit=limit, **before)
        pages.append([each["run"]["task"] for each in page["runs"]])
        if page["before"] is None:
            return pages
        before = {"before": page["before"]}


@pytest.mark.databases
@scene
async def test_a_conversation_comes_page_by_page_the_newest_run_last(tmp_path: Any) -> None:
    async with served(furnished(tmp_path / "home", [{"text": "ok"}], model="offline")) as house:
        session, other = await house.session(), await house.session()
        tasks = [f"what is {number}*7?" for number in range(7)]
        for task in tasks:
            await house.settled(await house.say(session, task), "answered")
            await house.say(other, "what is 1*1?")
        for limit in (1, 2, 3, 6, 7, 100):
            pages = await _pages(house, session, limit)
            assert [task for page in reversed(pages) for task in page] == tasks, limit
            assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
        page = await _history(house.client, session)
        assert [run["run"] for run in page["runs"]] == list(
            reversed((await house.client.get("/api/v1/runs", params={"session": session})).json()["runs"])
        )


@pytest.mark.databases
@scene
async def test_its_events_are_those_that_the_streams_of_its_runs_tell_large_ones_by_reference(tmp_path: Any) -> None:
    letters = "字" * 30_000
    script = [
        calls(call("calculate", expression="6*7"), thinking="Let me see."),
        {"text": "42."},
        {"text": letters},
        {"text": "Yes."},
    ]
    async with served(furnished(tmp_path / "home", script)) as house:
        session = await house.session()
        runs = []
        for task in ("what is 6*7?", "more", "again"):
            runs.append(await house.say(session, task))
            await house.settled(runs[-1], "answered")
        page = await _history(house.client, session)
        assert [each["run"]["id"] for each in page["runs"]] == runs
        for each in page["runs"]:
            assert each["events"] == await _streamed(house.client, each["run"]["id"])
            assert [event["seq"] for event in each["events"]] == list(range(1, len(each["events"]) + 1))
        (large,) = [event for event in page["runs"][1]["events"] if "reference" in event]
        assert (large["type"], large["size"] > 65_536) == ("model_replied", True)
        whole = (await house.client.get(large["reference"])).json()
        assert whole["message"]["parts"][0]["text"] == letters
        assert len(json.dumps(page)) < 65_536


@scene
async def test_a_run_in_the_middle_is_taken_up_where_its_history_ends(door: Door) -> None:
    door.with_tools(HOLD)
    script = door.script(calls(call("hold", word="x")), {"text": "held"}, {"text": "after"})
    async with inside(door, model=script) as house, house.own as client:
        path = (await client.post("/api/v1/sessions")).headers["location"]
        session = path.rpartition("/")[2]
        first = (await client.post(f"{path}/runs", json={"text": "one"})).json()["run_id"]
        await sys.modules["zeno_tools_own_tools"].entered.wait()
        second = (await client.post(f"{path}/runs", json={"text": "two"})).json()["run_id"]
        middle, queued = (await _history(client, session))["runs"]
        assert (middle["run"]["id"], middle["run"]["ended_at"]) == (first, None)
        assert [event["type"] for event in middle["events"]][-1] == "tool_started"
        assert (queued["run"]["id"], queued["events"]) == (second, [])
        sys.modules["zeno_tools_own_tools"].release.set()
        rest = await _streamed(client, first, str(middle["events"][-1]["seq"]))
        await house.ended(second)
        done = (await _history(client, session))["runs"]
        assert [each["run"]["ending"] for each in done] == ["answered", "answered"]
        assert done[0]["events"] == middle["events"] + rest
        over = await client.get(f"/api/v1/runs/{first}/events", params={"after": str(done[0]["events"][-1]["seq"])})
        assert over.status_code == 204


@pytest.mark.databases
@scene
async def test_a_page_has_fewer_runs_where_they_have_very_many_events(tmp_path: Any) -> None:
    # Each run says its task once and its answer once; two of them do not fit on a page.
    letters = "x" * (MOST_EVENTS // 2 + 1000)
    script = [{"text": "small"}, {"text": letters}, {"text": letters}, {"text": "small"}, {"text": letters * 3}]
    async with served(furnished(tmp_path / "home", script)) as house:
        session = await house.session()
        for number in range(5):
            await house.settled(await house.say(session, f"task {number}"), "answered")
        assert await _pages(house, session, 20) == [["task 4"], ["task 2", "task 3"], ["task 0", "task 1"]]


@scene
async def test_what_is_no_history_is_refused(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        run = (await client.post("/api/v1/runs?wait=1", json={"text": "what is 6*7?"})).json()
        empty = (await client.post("/api/v1/sessions")).json()["id"]
        assert await _history(client, empty) == {"runs": [], "before": None}
        path = f"/api/v1/sessions/{run['session_id']}/history"
        for query in ("limit=0", "limit=101", "limit=x", f"before={'x' * 33}"):
            assert (await client.get(f"{path}?{query}")).status_code == 422, query
        for unknown in (f"{path}?before=none", f"/api/v1/sessions/{empty}/history?before={run['id']}"):
            gone = await client.get(unknown)
            assert (gone.status_code, gone.json()["code"]) == (404, "run_not_found"), unknown
        gone = await client.get("/api/v1/sessions/none/history")
        assert (gone.status_code, gone.json()["code"]) == (404, "session_not_found")


@pytest.mark.databases
@scene
async def test_runs_are_found_by_their_agent_their_model_what_was_asked_and_whether_they_are_over(tmp_path: Any) -> None:
    (tmp_path / "other.jsonl").write_text('{"text": "ok"}')
    scripted = f"scripted:{tmp_path / 'other.jsonl'}"
    agents = {"clerk": {"model": "offline"}, 'so "called"': {"model": scripted, "instructions": '"model":"offline",'}}
    replies = [calls(call("send_mail", to="li", text="hi"))]
    async with served(furnished(tmp_path / "home", replies, HOLD, agents=agents)) as house:
        tasks = {"100% Sales_Report": "clerk", "sales by 渠道": 'so "called"', "mail li": None}
        for task, agent in tasks.items():
            await house.settled(await house.run(task, **({"agent": agent} if agent else {})))

        async def found(**query: Any) -> list[str]:
            answer = await house.client.get("/api/v1/runs", params=query)
            assert answer.status_code == 200, answer.text
            return [run["task"] for run in reversed(answer.json()["runs"])]

        first, second, third = tasks
        assert await found(agent="clerk") == [first]
        assert await found(agent='so "called"') == [second]
        assert await found(agent="default") == [third]
        assert await found(agent="cler") == []
        assert await found(model="offline") == [first]
        assert await found(model=scripted) == [second]
        assert await found(search="SALES") == [first, second]
        assert await found(search="渠道") == [second]
        for literal, tasks_of_it in (("0% s", [first]), ("0%s", []), ("s_r", [first]), ("by_", [])):
            assert await found(search=literal) == tasks_of_it, literal
        assert await found(state="open") == [third]
        assert await found(state="ended") == [first, second]
        assert await found(ending="open") == []
        assert await found(search="sales", model=scripted, state="ended", limit=1) == [second]
        assert (await house.client.get("/api/v1/runs?state=paused")).status_code == 422
