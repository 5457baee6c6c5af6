"""Models over HTTP: listed, tried out, saved on the page, used at once and after a restart; and no key is ever told."""

import json
import stat
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.door import Door, call, calls
from tests.http import HOLD, Inside, inside, serving
from tests.scene import scene
from tests.stubs.chat_server import ChatServer, call_delta, chat_server, delta, usage
from zeno.core.scope import LOCAL, Scope
from zeno.runs.clock import new_id, now
from zeno.server.tokens import digest, new_key
from zeno.stores.accounts import Right, Role, Team, User
from zeno.stores.credentials import Key

KEY = "sk-quite-secret-0123456789"
TEST = "/api/v1/models/test"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """An endpoint."""
    with chat_server() as state:
        yield state


def capable(server: ChatServer) -> None:
    """Have it answer the three questions as a model that can do everything."""
    server.says(delta(reasoning_content="hm"), delta(content="Hello"), delta(finish_reason="stop"), usage(5, 1))
    server.says(
        call_delta(0, "a", "get_weather", '{"city": "Paris"}'),
        call_delta(1, "b", "get_weather", '{"city": "Rome"}'),
        delta(finish_reason="tool_calls"),
    )
    server.says(delta(content='{"word": "hello"}'), delta(finish_reason="stop"))


def spoken_of(server: ChatServer, **more: Any) -> dict[str, Any]:
    """A body about the endpoint's model."""
    return {"family": "openai", "model": "tiny-chat", "base_url": server.url, **more}


async def listed(client: httpx2.AsyncClient) -> dict[str, Any]:
    """The models by their names."""
    answer = await client.get("/api/v1/models")
    assert answer.status_code == 200, answer.text
    return {each["name"]: each for each in answer.json()["models"]}


async def says(client: httpx2.AsyncClient, **more: Any) -> str:
    """The answer of a run."""
    done = await client.post("/api/v1/runs?wait=30", json={"text": "hi", **more})
    assert done.status_code == 200, done.text
    return str(done.json()["answer"])


@scene
async def test_a_model_is_tried_out_and_it_is_told_what_it_does(door: Door) -> None:
    with chat_server() as server:
        capable(server)
        async with inside(door) as house, house.own as client:
            before = await listed(client)
            told = await client.post(TEST, json=spoken_of(server, api_key=f" {KEY}\n"))
            assert told.status_code == 200
            trial = told.json()
            assert (trial["ok"], trial["code"], trial["calls"]) == (True, "", "native")
            assert trial["first_token_ms"] >= 0
            assert trial["profile"] == {
                "tools": True,
                "parallel_calls": True,
                "json_mode": True,
                "usage": True,
                "reasoning": "reasoning_content",
                "context_window": None,
                "finish_reasons": ["stop", "tool_calls"],
            }
            assert KEY not in told.text
            assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
            assert await listed(client) == before
            capable(server)
            assert (await client.post(TEST, json=spoken_of(server, protocol="prompted"))).json()["calls"] == "prompted"


@scene
async def test_a_model_that_calls_no_tools_is_told_to_be_prompted_and_then_is(door: Door) -> None:
    with chat_server() as server:
        server.says(delta(content="Hello"))
        server.refuses(400, "tools are not supported")
        server.says(delta(content="hello"))
        async with inside(door, models={"mine": spoken_of(server)}) as house, house.own as client:
            # The client that is there already is made anew, for now it is known how to speak.
            house.app.models.client("mine")
            trial = (await client.post(TEST, json={"name": "mine"})).json()
            assert (trial["ok"], trial["calls"], trial["profile"]["tools"]) == (True, "prompted", False)
            server.says(
                delta(content='<actions>{"actions":[{"type":"DIRECT_RESPONSE","text":"Hi.","isComplete":true}]}</actions>')
            )
            assert await says(client, model="mine") == "Hi."
            assert "tools" not in server.requests[-1]


@scene
async def test_why_a_model_cannot_be_had_is_an_answer_with_a_code(door: Door, server: ChatServer) -> None:
    async with inside(door) as house, house.own as client:

        async def code(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
            told = await client.post(TEST, json=body)
            assert told.status_code == 200, told.text
            assert KEY not in told.text
            trial = told.json()
            assert (trial["ok"], trial["first_token_ms"], trial["calls"], trial["profile"]) == (False, None, None, None)
            return trial["code"], trial["params"]

        server.refuses(401, json.dumps({"error": {"message": f"Incorrect API key: {KEY}"}}))
        refused, params = await code(spoken_of(server, api_key=KEY))
        assert (refused, params["endpoint"], params["status"]) == ("model_unauthorized", server.url, 401)
        assert "***" in params["reason"]
        server.refuses(404, "no such model")
        assert (await code(spoken_of(server, model="huge-chat")))[0] == "model_not_found"
        assert (await code(spoken_of(server, base_url="http://127.0.0.1:9/v1")))[0] == "model_unreachable"
        server.refuses(503, "busy")
        assert (await code(spoken_of(server)))[0] == "model_http_error"
        assert not (door.home / "profiles.json").exists()


@scene
async def test_a_known_model_is_tried_out_with_its_own_key(door: Door, server: ChatServer) -> None:
    async with inside(door, models={"mine": spoken_of(server, api_key=KEY)}) as house, house.own as client:
        for name in ("mine", "prompted:mine", f"openai:tiny-chat@{server.url}"):
            capable(server)
            trial = (await client.post(TEST, json={"name": name})).json()
            assert trial["calls"] == ("prompted" if name == "prompted:mine" else "native"), name
        keys = [headers.get("authorization") for headers in server.headers]
        assert keys == [f"Bearer {KEY}"] * 6 + [None] * 3
        for name, code in (("offline", "model_built_in"), ("scripted:x", "model_built_in"), ("other", "model_unknown")):
            refused = await client.post(TEST, json={"name": name})
            assert (refused.status_code, refused.json()["code"]) == (422, code)


@scene
async def test_what_does_not_fit_a_model_is_refused_and_not_said_back(door: Door) -> None:
    right = {"family": "openai", "model": "tiny-chat"}
    async with inside(door) as house, house.own as client:
        wrong: list[dict[str, Any]] = [
            {},
            {"family": "openai"},
            right | {"family": "telepathy"},
            right | {"model": ""},
            right | {"model": " "},
            right | {"base_url": "ftp://example.com"},
            right | {"base_url": f"http://me:{KEY}@127.0.0.1/v1"},
            right | {"base_url": f"http://127.0.0.1/v1?key={KEY}"},
            right | {"base_url": "http://[x/v1"},
            right | {"base_url": "http://127.0.0.1:99999/v1"},
            right | {"api_key": f"{KEY} and more"},
            right | {"api_key": 7},
            right | {"protocol": "smoke"},
            right | {"colour": KEY},
        ]
        for body in wrong:
            for answer in (await client.post(TEST, json=body), await client.put("/api/v1/models/mine", json=body)):
                assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid"), body
                assert KEY not in answer.text
        assert (await client.post(TEST, json={"name": "mine", "model": "x"})).status_code == 422
        names = ("offline", "openai", "scripted", "prompted", "openai:x", "-x", ".x", "x y", "模型", "x" * 65, "a%2Fb", "a%00b")
        for name in names:
            refused = await client.put(f"/api/v1/models/{name}", json=right)
            assert refused.json()["code"] in {"model_name_invalid", "route_not_found", "request_invalid"}, name
            assert refused.status_code in {404, 422}
        assert not (door.home / "models.json").exists()


def test_a_saved_model_is_used_at_once_and_after_a_restart_and_its_key_is_told_nobody(door: Door, server: ChatServer) -> None:
    told: list[str] = []
    body = spoken_of(server, api_key=KEY, default=True)
    with serving(door) as zeno:

        def asked(method: str, path: str, **more: Any) -> Any:
            answer = zeno.client().request(method, path, **more)
            told.append(answer.text + str(answer.headers))
            assert answer.is_success, answer.text
            return answer.json() if answer.content else None

        def used(words: str) -> None:
            server.says(delta(content=words))
            done = asked("POST", "/runs?wait=30", json={"text": "hi"})
            assert (done["answer"], done["model"]) == (words, "mine")
            assert server.headers[-1]["authorization"] == f"Bearer {KEY}"
            told.append(json.dumps(zeno.events(done["id"])))

        assert asked("GET", "/models")["default"] == "offline"
        saved = asked("PUT", "/models/mine", json=body)
        assert saved == {
            "name": "mine",
            "family": "openai",
            "model": "tiny-chat",
            "protocol": "auto",
            "host": server.url.removeprefix("http://").removesuffix("/v1"),
            "base_url": server.url,
            "has_key": True,
            "source": "page",
            "default": True,
            "offline": False,
        }
        used("before")
        assert zeno.stop() == 0
        zeno.start()
        models = asked("GET", "/models")
        assert (models["default"], models["editable"], models["default_fixed"]) == ("mine", True, False)
        assert models["models"][0] == saved
        assert asked("GET", "/settings")["default_model"] == asked("GET", "/agents")["agents"][0]["model"] == "mine"
        used("afterwards")
        server.refuses(401, KEY)
        asked("POST", "/models/test", json={"name": "mine"})
        assert [entry["action"] for entry in asked("GET", "/audit")["entries"]] == ["model_saved"]
        assert zeno.stop() == 0
    kept = door.home / "models.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert KEY in kept.read_text()
    written = [path for path in door.home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert written == [kept]
    assert KEY not in "".join(told) + zeno.printed + zeno.log.read_text()
    server.says(delta(content="from the command line"))
    assert "from the command line" in door.zeno("run", "hi").out


@scene
async def test_a_key_that_is_left_out_stays_and_is_shown_to_no_other_address(door: Door, server: ChatServer) -> None:
    with chat_server() as elsewhere:
        async with inside(door, model=None, local_model_ports=[]) as house, house.own as client:
            path = "/api/v1/models/mine"
            assert (await client.put(path, json=spoken_of(server, api_key=KEY))).status_code == 201

            async def shown(at: ChatServer) -> str | None:
                at.says(delta(content="hello"))
                assert await says(client, model="mine") == "hello"
                return at.headers[-1].get("authorization")

            assert await shown(server) == f"Bearer {KEY}"
            changed = await client.put(path, json=spoken_of(server, model="other-chat", base_url=f"{server.url}/"))
            assert (changed.status_code, changed.json()["model"], changed.json()["has_key"]) == (200, "other-chat", True)
            assert await shown(server) == f"Bearer {KEY}"
            assert server.requests[-1]["model"] == "other-chat"
            for refused in (
                await client.put(path, json=spoken_of(elsewhere)),
                await client.post(TEST, json=spoken_of(elsewhere, name="mine")),
            ):
                assert (refused.status_code, refused.json()["code"]) == (409, "model_key_elsewhere")
            assert elsewhere.requests == []
            capable(server)
            assert (await client.post(TEST, json=spoken_of(server, name="mine"))).json()["ok"]
            assert server.headers[-1]["authorization"] == f"Bearer {KEY}"
            moved = await client.put(path, json=spoken_of(elsewhere, api_key=""))
            assert (moved.status_code, moved.json()["has_key"]) == (200, False)
            assert await shown(elsewhere) is None
            assert KEY not in (door.home / "models.json").read_text()


@scene
async def test_a_run_at_work_keeps_the_model_that_it_began_with(door: Door, server: ChatServer) -> None:
    door.with_tools(HOLD)
    with chat_server() as elsewhere:
        async with inside(door, model=None, local_model_ports=[]) as house, house.own as client:
            await client.put("/api/v1/models/mine", json=spoken_of(server, default=True))
            server.says(call_delta(0, "a", "hold", '{"word": "x"}'), delta(finish_reason="tool_calls"))
            server.says(delta(content="from where it began"))
            run = (await client.post("/api/v1/runs", json={"text": "go"})).json()["run_id"]
            gate = sys.modules["zeno_tools_own_tools"]
            await gate.entered.wait()
            await client.put("/api/v1/models/mine", json=spoken_of(elsewhere, default=True))
            gate.release.set()
            assert (await house.ended(run))["answer"] == "from where it began"
            elsewhere.says(delta(content="from the new place"))
            assert await says(client) == "from the new place"


@scene
async def test_one_model_is_the_default_and_without_it_all_is_as_before(door: Door, server: ChatServer) -> None:
    async with inside(door, model=None, local_model_ports=[]) as house, house.own as client:

        async def default() -> str:
            models = (await client.get("/api/v1/models")).json()
            assert [each["name"] for each in models["models"] if each["default"]] == [models["default"]]
            return str(models["default"])

        assert await default() == "offline"
        for name in ("first", "second"):
            assert (await client.put(f"/api/v1/models/{name}", json=spoken_of(server, default=True))).status_code == 201
            assert await default() == name
        assert (await client.put("/api/v1/models/second", json=spoken_of(server))).json()["default"] is False
        assert await default() == "offline"
        await client.put("/api/v1/models/first", json=spoken_of(server, default=True))
        assert (await client.delete("/api/v1/models/first")).status_code == 204
        assert await default() == "offline"
        assert set(await listed(client)) == {"offline", "second"}
        gone = await client.delete("/api/v1/models/first")
        assert (gone.status_code, gone.json()["code"]) == (404, "model_not_kept")
        unknown = await client.post("/api/v1/runs", json={"text": "hi", "model": "first"})
        assert unknown.json()["code"] == "model_unknown"
        audit = (await client.get("/api/v1/audit")).json()["entries"]
        assert [(each["action"], each["target"], each["result"]) for each in audit[:2]] == [
            ("model_removed", "first", "model_not_kept"),
            ("model_removed", "first", "done"),
        ]


@scene
async def test_what_the_operator_named_is_neither_changed_nor_removed(door: Door, server: ChatServer) -> None:
    own = {
        "model": "theirs",
        "models": {"theirs": spoken_of(server, fallback=["spare"])},
        "agents": {"clerk": {"model": "prompted:desk"}},
        "prices": {"tiny-chat": {"input": 1}},
    }
    async with inside(door, **own) as house, house.own as client:
        for answer, code in (
            (await client.put("/api/v1/models/theirs", json=spoken_of(server)), "model_of_operator"),
            (await client.delete("/api/v1/models/theirs"), "model_of_operator"),
            (await client.put("/api/v1/models/mine", json=spoken_of(server, default=True)), "default_of_operator"),
        ):
            assert (answer.status_code, answer.json()["code"]) == (409, code)
        for name in ("mine", "spare", "desk"):
            assert (await client.put(f"/api/v1/models/{name}", json=spoken_of(server))).status_code == 201
        for name, by in (("spare", "models.theirs.fallback"), ("desk", "agents.clerk.model")):
            kept = await client.delete(f"/api/v1/models/{name}")
            assert (kept.status_code, kept.json()["code"], kept.json()["params"]["by"]) == (409, "model_in_use", by)
        models = (await client.get("/api/v1/models")).json()
        assert (models["default"], models["default_fixed"]) == ("theirs", True)
        sources = {each["name"]: (each["source"], each["base_url"]) for each in models["models"]}
        page = ("page", server.url)
        assert sources == {
            "theirs": ("settings", None),
            "mine": page,
            "spare": page,
            "desk": page,
            "prompted:desk": ("settings", None),
            "offline": ("found", None),
        }
        server.refuses(404, "no such model")
        server.says(delta(content="from the spare one"))
        assert await says(client) == "from the spare one"
        settings = (await client.get("/api/v1/settings")).json()
        assert (settings["models_editable"], settings["approval_hours"], settings["priced"]) == (True, 24, True)


@scene
async def test_the_model_that_writes_texts_is_the_one_saved_last(door: Door, server: ChatServer) -> None:
    door.home.mkdir(parents=True)
    (door.home / "models.json").write_text(json.dumps({"writer": spoken_of(server)}))
    script = door.script(calls(call("generate_text", instruction="Greet.")), {"text": "ok", "expect": ["Good morning."]})
    with chat_server() as elsewhere:
        async with inside(door, model=script, text_model="writer") as house, house.own as client:
            await client.put("/api/v1/models/writer", json=spoken_of(elsewhere))
            elsewhere.says(delta(content="Good morning."))
            assert await says(client) == "ok"
            kept = await client.delete("/api/v1/models/writer")
            assert (kept.status_code, kept.json()["params"]["by"]) == (409, "text_model")


def test_the_environment_and_the_settings_file_win_over_what_was_saved(door: Door, server: ChatServer) -> None:
    door.home.mkdir(parents=True)
    saved = {name: spoken_of(server, api_key=KEY, default=name == "mine") for name in ("mine", "spare")}
    (door.home / "models.json").write_text(json.dumps(saved))
    door.env |= {"ZENO_MODELS__MINE__MODEL": "other-chat", "ZENO_MODELS__MINE__BASE_URL": server.url}
    (door.here / "zeno.toml").write_text(f'[models.spare]\nmodel = "spare-chat"\nbase_url = "{server.url}"')
    for name, model in (("mine", "other-chat"), ("spare", "spare-chat")):
        server.says(delta(content="hello"))
        assert door.run("hi", "--model", name).code == 0
        # Nothing is mixed: the key was meant for what was saved.
        assert (server.requests[-1]["model"], server.headers[-1].get("authorization")) == (model, None)
    assert door.run("hi").events[0]["model"] == "offline"
    door.env = {"ZENO_MODEL": "offline"}
    assert door.run("hi").events[0]["model"] == "offline"
    door.env = {}
    server.says(delta(content="hello"))
    assert door.run("hi").events[0]["model"] == "mine"
    assert server.headers[-1]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("damaged", [f'{{"mine": {{"model": "{KEY}"', f'{{"mine": {{"api_key": "{KEY}"}}}}', f'["{KEY}"]'])
def test_a_file_of_saved_models_that_is_damaged_is_named_and_not_shown(door: Door, damaged: str) -> None:
    door.home.mkdir(parents=True)
    (door.home / "models.json").write_text(damaged)
    outcome = door.zeno("runs")
    assert outcome.code == 3
    assert "[settings_unreadable]" in outcome.err
    assert "models.json" in outcome.err
    assert KEY not in outcome.err


async def _key(house: Inside, scope: Scope, *rights: Right) -> str:
    """A program's key with these rights."""
    secret = new_key()
    key = Key(id=new_id(), scope=scope, name="program", rights=rights, created_at=now(), expires_at=None)
    await house.app.credentials.add_key(key, digest(secret))
    return secret


@scene
async def test_nobody_without_the_right_tries_out_or_saves_a_model(door: Door, server: ChatServer) -> None:
    async with inside(door) as house:
        secret = await _key(house, LOCAL, "read", "run", "decide")
        async with house.own as owner, house.caller(secret) as client:
            await owner.put("/api/v1/models/mine", json=spoken_of(server))
            for refused in (
                await client.post(TEST, json=spoken_of(server)),
                await client.put("/api/v1/models/mine", json=spoken_of(server)),
                await client.delete("/api/v1/models/mine"),
            ):
                assert (refused.status_code, refused.json()["code"]) == (403, "right_missing")
            assert server.requests == []
            assert (await listed(client))["mine"]["base_url"] is None


@scene
async def test_with_accounts_the_operator_sets_the_models(door: Door, server: ChatServer) -> None:
    async with inside(door, server={"auth": "team"}) as house:
        team = Team(id=new_id(), name="first", created_at=now())
        await house.app.accounts.create_team(team)
        roles: dict[Role, tuple[Right, ...]] = {"member": ("read", "run"), "admin": ("read", "run", "admin")}
        secrets = {}
        for role, rights in roles.items():
            user = User(id=new_id(), name=role, created_at=now())
            await house.app.accounts.create_user(user, "no password", team.id, role)
            secrets[role] = await _key(house, Scope(team.id, user.id), *rights)
        for role, code in (("member", "right_missing"), ("admin", "models_of_operator")):
            async with house.caller(secrets[role]) as client:
                for refused in (
                    await client.put("/api/v1/models/mine", json=spoken_of(server)),
                    await client.delete("/api/v1/models/mine"),
                ):
                    assert (refused.status_code, refused.json()["code"]) == (403, code)
                assert (await client.get("/api/v1/models")).json()["editable"] is False
                assert (await client.get("/api/v1/settings")).json()["models_editable"] is False
        async with house.caller(secrets["admin"]) as admin:
            capable(server)
            assert (await admin.post(TEST, json=spoken_of(server))).json()["ok"] is True
            audit = (await admin.get("/api/v1/audit")).json()["entries"]
            refusals = [
                (each["action"], each["target"], each["decision"]) for each in audit if each["result"] == "models_of_operator"
            ]
            assert refusals == [("model_removed", "mine", "refused"), ("model_saved", "mine", "refused")]
        assert not (door.home / "models.json").exists()
