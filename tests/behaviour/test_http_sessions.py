"""Conversations over HTTP: begun, named, found again, put away, removed."""

import sys

import pytest

from tests.databases import LATIN
from tests.door import Door, call, calls
from tests.http import HOLD, inside
from tests.scene import scene

pytestmark = pytest.mark.instances


@scene
async def test_a_conversation_is_begun_renamed_put_away_and_removed(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        made = await client.post("/api/v1/sessions", json={"title": " 销售 "})
        assert made.status_code == 201
        session = made.json()
        path = made.headers["location"]
        assert (session["title"], session["archived_at"]) == ("销售", None)
        assert (await client.get(path)).json() == session
        renamed = await client.patch(path, json={"title": "Sales"})
        assert renamed.json()["title"] == "Sales"
        away = await client.patch(path, json={"archived": True})
        assert away.json()["archived_at"] > 0
        assert (await client.get("/api/v1/sessions")).json()["sessions"] == []
        assert [each["id"] for each in (await client.get("/api/v1/sessions?archived=true")).json()["sessions"]] == [
            session["id"]
        ]
        back = await client.patch(path, json={"archived": False})
        assert back.json()["archived_at"] is None
        assert (await client.delete(path)).status_code == 204
        assert (await client.get(path)).status_code == 404
        assert (await client.delete(path)).status_code == 404


@scene
async def test_a_conversation_may_begin_without_a_body_and_is_named_by_its_first_task(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        session = (await client.post("/api/v1/sessions")).json()
        assert session["title"] == ""
        for task in ("what is\n 6*7?", "what is 7*8?"):
            started = await client.post(f"/api/v1/sessions/{session['id']}/runs?wait=1", json={"text": task})
            assert started.status_code == 200
        assert (await client.get(f"/api/v1/sessions/{session['id']}")).json()["title"] == "what is 6*7?"


@scene
async def test_conversations_come_page_by_page_without_a_gap_or_a_double(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        made = [(await client.post("/api/v1/sessions", json={"title": f"s{number}"})).json()["id"] for number in range(7)]
        for limit in (1, 2, 3, 7, 50):
            seen, before = [], ""
            while True:
                page = (await client.get(f"/api/v1/sessions?limit={limit}{before}")).json()
                seen += [session["id"] for session in page["sessions"]]
                if page["next"] is None:
                    break
                before = f"&before={page['next']}"
            assert sorted(seen) == sorted(made), limit


@scene
async def test_conversations_are_found_by_their_title_and_by_what_was_asked(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        await client.post("/api/v1/sessions", json={"title": "100% 渠道_对比"})
        await client.post("/api/v1/runs?wait=1", json={"text": "what is 6*7?"})

        async def found(words: str) -> list[str]:
            page = await client.get("/api/v1/sessions", params={"search": words})
            return [session["title"] for session in page.json()["sessions"]]

        assert await found("渠道_对") == ["100% 渠道_对比"]
        assert await found("6*7") == ["what is 6*7?"]
        assert await found("道对") == []
        assert await found("0%") == ["100% 渠道_对比"]


@pytest.mark.slow
@pytest.mark.parametrize("own_database", [LATIN], indirect=True)
@pytest.mark.one_instance
@scene
async def test_what_a_database_takes_for_letters_makes_no_difference(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        session = (await client.post("/api/v1/sessions", json={"title": "Sales 销售 🙂"})).json()
        assert session["title"] == "Sales 销售 🙂"
        assert (await client.get(f"/api/v1/sessions/{session['id']}")).json() == session
        assert (await client.get(f"/api/v1/sessions/{session['id'].upper()}")).status_code == 404
        for key in ("abc", "ABC"):
            body, headers = {"text": f"what is 6*7? {key}"}, {"Idempotency-Key": key}
            started = await client.post(f"/api/v1/sessions/{session['id']}/runs?wait=1", json=body, headers=headers)
            assert started.status_code == 200, started.text
        for words in ("SALES", "销售", "🙂"):
            found = (await client.get("/api/v1/sessions", params={"search": words})).json()["sessions"]
            assert [each["id"] for each in found] == [session["id"]], words


@scene
async def test_what_does_not_fit_a_conversation_is_refused(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        path = (await client.post("/api/v1/sessions")).headers["location"]
        wrong: list[dict[str, object]] = [
            {},
            {"title": ""},
            {"title": "  "},
            {"title": "x" * 201},
            {"archived": "yes"},
            {"colour": "red"},
        ]
        for body in wrong:
            assert (await client.patch(path, json=body)).status_code == 422, body
        assert (await client.post("/api/v1/sessions", json={"title": 7})).status_code == 422
        assert (await client.patch("/api/v1/sessions/none", json={"title": "x"})).status_code == 404
        for query in ("limit=0", "limit=201", "before=-1", "before=x", "archived=2"):
            assert (await client.get(f"/api/v1/sessions?{query}")).status_code == 422, query


@scene
async def test_a_conversation_at_work_is_not_removed_and_its_files_go_with_it_afterwards(door: Door) -> None:
    door.with_tools(HOLD)
    script = door.script(calls(call("hold", word="x")), {"text": "ok"})
    async with inside(door, model=script) as house, house.own as client:
        path = (await client.post("/api/v1/sessions")).headers["location"]
        await client.put(f"{path}/files/a.txt", content=b"a")
        run = (await client.post(f"{path}/runs", json={"text": "go"})).json()["run_id"]
        gate = sys.modules["zeno_tools_own_tools"]
        await gate.entered.wait()
        refused = await client.delete(path)
        assert (refused.status_code, refused.json()["code"]) == (409, "session_busy")
        gate.release.set()
        assert (await house.ended(run))["ending"] == "answered"
        directory = house.app.workspaces / path.rpartition("/")[2]
        assert directory.is_dir()
        deleted = await client.delete(path)
        while deleted.status_code == 409:
            # The run is over a moment before its driver has let go of it.
            deleted = await client.delete(path)
        assert deleted.status_code == 204
        assert not directory.exists()
        assert (await client.get(f"/api/v1/runs/{run}")).status_code == 404
