"""Problems over HTTP: always of the same form, in the caller's language, and silent about what nobody else should know."""

import asyncio
import io
import json

import pytest
import structlog
from sqlalchemy import Connection, Engine, event, text
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from tests.door import Door, call, calls
from tests.http import Inside, inside
from tests.scene import scene
from zeno.core.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    TooMany,
    Unauthorized,
    ZenoError,
)
from zeno.server.access import AccessLog
from zeno.server.patience import BodyPatience
from zeno.server.problems import problem
from zeno.server.routes.health import KEPT

pytestmark = pytest.mark.instances

MEMBERS = {"type", "title", "status", "detail", "code", "params", "instance"}


@scene
async def test_every_refusal_is_a_problem(door: Door) -> None:
    async with inside(door) as house, house.own as client, house.caller() as stranger:
        refusals = [
            (await stranger.get("/api/v1/runs"), 401, "credential_missing"),
            (await house.caller("wrong").get("/api/v1/runs"), 401, "credential_invalid"),
            (await client.get("/api/v1/runs/none"), 404, "run_not_found"),
            (await client.get("/api/v1/none"), 404, "route_not_found"),
            (await client.get("/none.js"), 404, "route_not_found"),
            (await client.put("/api/v1/runs"), 405, "method_not_allowed"),
            (
                await client.post("/api/v1/runs", content=b"{", headers={"Content-Type": "application/json"}),
                400,
                "json_invalid",
            ),
            (await client.post("/api/v1/runs", content=b'{"text": "x"}'), 422, "request_invalid"),
            (await client.post("/api/v1/runs", json=[]), 422, "request_invalid"),
            (await client.get("/api/v1/runs", headers={"Host": "evil.example"}), 421, "host_not_allowed"),
        ]
        for answer, status, code in refusals:
            told = answer.json()
            assert (answer.status_code, told["status"], told["code"]) == (status, status, code)
            assert answer.headers["content-type"] == "application/problem+json"
            assert set(told) - {"errors"} == MEMBERS
            assert told["type"] == f"urn:zeno:problem:{code}"
            assert told["instance"] == f"urn:zeno:request:{answer.headers['x-request-id']}"
            assert told["title"]
            assert told["detail"]
        assert refusals[0][0].headers["www-authenticate"].startswith("Bearer")
        assert refusals[5][0].headers["allow"] == "GET, POST"


@scene
async def test_problems_speak_the_language_of_the_caller(door: Door) -> None:
    async with inside(door) as house, house.own as client:

        async def said(accepted: str, path: str = "/api/v1/runs/abc") -> tuple[str, str, str]:
            answer = await client.get(path, headers={"Accept-Language": accepted})
            return answer.headers["content-language"], answer.json()["title"], answer.json()["detail"]

        assert await said("zh-CN,zh;q=0.9") == ("zh-CN", "未找到", "没有运行 abc。")
        assert await said("en-GB") == ("en-US", "Not found", "There is no run abc.")
        assert await said("zh-CN", "/api/v1/runs?limit=0") == (
            "zh-CN",
            "请求不合要求",
            "请求不合要求：query limit: 不能小于 1。",
        )
        for odd in ("", "*", "fr", ";;q=,", "zh;q=0, en", "zh;q=x, en;q=0.1"):
            assert (await said(odd))[0] == "en-US", odd


@scene
async def test_what_does_not_fit_is_named_and_not_repeated(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        told = (await client.post("/api/v1/runs", json={"txet": "hunter2", "mode": "hunter2", "agent": 7})).json()
        assert {(fault["where"], fault["field"], fault["code"]) for fault in told["errors"]} == {
            ("body", "text", "missing"),
            ("body", "txet", "extra_forbidden"),
            ("body", "mode", "literal_error"),
            ("body", "agent", "string_type"),
        }
        assert "hunter2" not in json.dumps(told)
        login = await client.post("/api/v1/login", json={"token": ["hunter2"], "password": {"hunter2": 1}, "more": "hunter2"})
        assert login.status_code == 422
        assert "hunter2" not in login.text
        many = (await client.post("/api/v1/runs", json={f"field{number}": 1 for number in range(100)})).json()
        assert len(many["errors"]) == 20


ADDRESSES = {
    "query search": "sessions?search=%00",
    "query session": "runs?session=%00",
    "query agent": "runs?agent=a%00b",
    "query model": "runs?model=%00",
    "query run": "approvals?run=%00",
    "path session_id": "sessions/%00/history",
    "path approval_id": "approvals/%00",
    "path run_id": "runs/a%00/events",
}


@pytest.mark.databases
@scene
async def test_characters_that_cannot_be_kept_are_refused_where_they_stand(door: Door) -> None:
    async with inside(door) as house, house.own as client:

        async def refused(method: str, path: str, body: object = None, language: str = "en") -> str:
            headers = {"Content-Type": "application/json", "Accept-Language": language}
            # Escaped: a client's own encoding would not take what is tried.
            answer = await client.request(method, f"/api/v1/{path}", content=json.dumps(body), headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid"), (path, body)
            (fault,) = answer.json()["errors"]
            assert fault["code"] in {"string_characters", "string_unicode"}
            assert fault["message"] in answer.json()["detail"]
            return f"{fault['where']} {fault['field']}"

        for place, path in ADDRESSES.items():
            assert await refused("GET", path) == place
        for path in ("sessions/%00", "rules/%00"):
            await refused("DELETE", path)
        session = (await client.post("/api/v1/sessions")).json()["id"]
        run = (await client.post("/api/v1/runs", json={"text": "what is 6*7?"})).json()["run_id"]
        for odd in ("\0", "\ud800", "a\udfff"):
            assert await refused("POST", "sessions", {"title": odd}, "zh") == "body title"
            assert await refused("PATCH", f"sessions/{session}", {"title": odd}) == "body title"
            assert await refused("POST", "runs", {"text": odd}) == "body text"
            assert await refused("POST", "keys", {"name": odd}) == "body name"
            assert await refused("POST", f"sessions/{session}/runs", {"text": "x", "files": [odd]}) == "body files"
            assert await refused("POST", "rules", {"verdict": "ask", "tool": "x", "arguments": {odd: "x"}}) == "body arguments"
            decision = {"decision": "edit", "arguments": {"to": [{"name": odd}]}}
            command = {"type": "decide", "approval_id": "x", "decision": decision}
            assert await refused("POST", f"runs/{run}/commands", command) == "body decide.decision.arguments"
        assert (await client.put(f"/api/v1/sessions/{session}/files/a.json", content=b'"\\u0000"')).status_code == 201


@pytest.mark.databases
@scene
async def test_what_a_model_says_and_a_tool_gives_may_hold_any_character(door: Door) -> None:
    script = door.script(calls(call("calculate", expression="6*\0")), {"text": "a\0b"})
    async with inside(door, model=script) as house, house.own as client:
        done = (await client.post("/api/v1/runs?wait=1", json={"text": "go"})).json()
    assert (done["ending"], done["answer"]) == ("answered", "a\0b")


def test_a_problem_can_be_told_of_any_text() -> None:
    error = NotFound("file_not_found", path="\ud800")
    told = json.loads(bytes(problem(error, {"type": "http", "headers": []}, members={"more": "\udfff"}).body))
    assert (told["code"], told["params"], told["more"]) == ("file_not_found", {"path": "?"}, "?")


ERRORS = [
    (Unauthorized("x"), 401),
    (Forbidden("x"), 403),
    (NotFound("x"), 404),
    (Conflict("x"), 409),
    (Invalid("x"), 422),
    (TooMany("x", retry_after=7), 429),
    (ConfigError("x"), 503),
    (ZenoError("x"), 500),
]


@pytest.mark.parametrize(("error", "status"), ERRORS, ids=[type(error).__name__ for error, _ in ERRORS])
def test_the_kind_of_error_says_the_status(error: ZenoError, status: int) -> None:
    answer = problem(error, {"type": "http", "headers": []})
    assert answer.status_code == status
    assert json.loads(bytes(answer.body))["code"] == "x"
    assert answer.headers.get("retry-after") == ("7" if status == 429 else None)


class _Breaking:
    """Breaks inside, behind the routes."""

    async def read(self, *_: object) -> None:
        raise RuntimeError("the password is hunter2")


@pytest.mark.one_instance
@scene
async def test_a_fault_of_ours_says_nothing_but_its_number_which_the_log_explains(door: Door) -> None:
    log = io.StringIO()
    async with inside(door) as house, house.own as client:
        structlog.configure(
            logger_factory=structlog.PrintLoggerFactory(log),
            processors=[
                structlog.contextvars.merge_contextvars,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
        )
        try:
            object.__setattr__(house.app.runs, "database", _Breaking())
            broken = await client.get("/api/v1/runs", headers={"Accept-Language": "zh"})
        finally:
            structlog.reset_defaults()
    assert broken.status_code == 500
    told = broken.json()
    assert (told["code"], told["params"], told["title"]) == ("internal_error", {}, "出现故障")
    assert "hunter2" not in broken.text
    number = told["instance"].removeprefix("urn:zeno:request:")
    assert number in log.getvalue()
    assert "request_broken" in log.getvalue()


@pytest.mark.databases
@scene
async def test_what_the_database_refuses_is_logged_without_what_was_to_be_written(door: Door) -> None:
    log = io.StringIO()
    async with inside(door) as house, house.own as client:
        only_once = text("create unique index one_title on sessions (title)")
        await house.app.sessions.database.write(lambda connection: connection.execute(only_once))
        assert (await client.post("/api/v1/sessions", json={"title": "hunter2"})).status_code == 201
        structlog.configure(
            logger_factory=structlog.PrintLoggerFactory(log),
            processors=[structlog.processors.format_exc_info, structlog.processors.JSONRenderer()],
        )
        try:
            broken = await client.post("/api/v1/sessions", json={"title": "hunter2"})
        finally:
            structlog.reset_defaults()
    assert broken.status_code == 500
    assert "INSERT INTO sessions" in log.getvalue()
    assert "hunter2" not in broken.text + log.getvalue()


@scene
async def test_what_breaks_outside_the_routes_is_a_problem_too() -> None:
    async def broken(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise RuntimeError("the password is hunter2")

    sent = []

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    async def receive() -> dict[str, object]:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}
    await AccessLog(broken)(scope, receive, send)  # type: ignore[arg-type]
    assert sent[0]["status"] == 500
    assert b"internal_error" in bytes(sent[1]["body"])  # type: ignore[call-overload]
    assert b"hunter2" not in bytes(sent[1]["body"])  # type: ignore[call-overload]


@scene
async def test_the_access_log_tells_routes_and_runs_and_no_secrets(door: Door) -> None:
    log = io.StringIO()
    async with inside(door) as house, house.own as client:
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(log), processors=[structlog.processors.JSONRenderer()])
        try:
            run = (await client.post("/api/v1/runs?wait=1", json={"text": "what is 6*7?"})).json()["id"]
            await client.get(f"/api/v1/runs/{run}?token=hunter2")
            await client.get("/api/v1/hunter2")
            await client.get("/api/v1/sessions/hunter2/files/hunter2.txt")
        finally:
            structlog.reset_defaults()
        token = client.headers["authorization"].removeprefix("Bearer ")
    lines = [line for line in map(json.loads, log.getvalue().splitlines()) if line["event"] == "request"]
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [
        ("POST", "/api/v1/runs", 200),
        ("GET", "/api/v1/runs/{run_id}", 200),
        ("GET", "", 404),
        ("GET", "/api/v1/sessions/{session_id}/files/{path:path}", 404),
    ]
    assert [line.get("trace_id") for line in lines] == [run, run, None, None]
    assert all(line["milliseconds"] >= 0 for line in lines)
    assert "hunter2" not in log.getvalue()
    assert token not in log.getvalue()


@scene
async def test_a_body_that_stops_coming_is_given_up() -> None:
    async def reading(_scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["more_body"]:
            pass
        await send({"type": "http.response.start", "status": 204, "headers": []})

    pieces = iter(
        [{"type": "http.request", "body": b"x", "more_body": True}, {"type": "http.request", "body": b"", "more_body": False}]
    )
    sent: list[object] = []

    async def send(message: object) -> None:
        sent.append(message)

    async def whole() -> object:
        return next(pieces)

    await BodyPatience(reading, 30)({"type": "http", "method": "POST"}, whole, send)  # type: ignore[arg-type]
    assert len(sent) == 1

    async def silent() -> object:
        return await asyncio.Event().wait()

    with pytest.raises(HTTPException) as given_up:
        await BodyPatience(reading, 0.01)({"type": "http", "method": "POST"}, silent, send)  # type: ignore[arg-type]
    assert given_up.value.status_code == 408


async def _ready(house: Inside) -> tuple[int, list[str]]:
    async with house.caller() as anyone:
        answer = await anyone.get("/readyz")
    return answer.status_code, answer.json()["failed"]


async def _becomes(house: Inside, status: int, *failed: str) -> None:
    """Return when it says this; what it has said is told again for a moment."""
    while await _ready(house) != (status, list(failed)):
        await asyncio.sleep(0.01)


@scene
async def test_health_is_asked_without_a_token(door: Door) -> None:
    async with inside(door) as house, house.caller() as anyone:
        assert (await anyone.get("/livez")).json() == {"alive": True}
        assert await _ready(house) == (200, [])
        version = (await anyone.get("/api/v1/version")).json()
        assert (version["api"], version["mode"]) == ("v1", "local")
        assert (await house.own.get("/api/v1/audit")).json()["entries"] == [], "the trial of writing leaves nothing"


@scene
async def test_health_and_the_page_are_asked_for_their_heads_too(door: Door) -> None:
    async with inside(door) as house, house.caller() as anyone:
        for path in ("/livez", "/readyz", "/"):
            assert (await anyone.head(path)).status_code == 200, path


@pytest.mark.one_instance
@scene
async def test_a_server_that_cannot_work_says_what_is_wrong(door: Door) -> None:
    async with inside(door) as house:
        house.app.workspaces.parent.mkdir(exist_ok=True)
        if house.app.workspaces.exists():
            house.app.workspaces.rmdir()
        house.app.workspaces.write_text("a file where a directory should be")
        await _becomes(house, 503, "workspace")
        house.app.workspaces.unlink()
        await _becomes(house, 200)
        object.__setattr__(house.app.runs, "database", _Breaking())
        await _becomes(house, 503, "database_read", "database_write", "database_schema")


@pytest.mark.one_instance
@scene
async def test_whoever_asks_often_has_the_database_tried_no_oftener(door: Door) -> None:
    async with inside(door) as house, house.caller() as anyone:
        tried: list[str] = []

        def note(_connection: Connection, _cursor: object, statement: str, *_: object) -> None:
            tried.extend([statement] * statement.startswith("INSERT INTO audit"))

        event.listen(Engine, "before_cursor_execute", note)
        try:
            clock = asyncio.get_running_loop().time
            began = clock()
            answers = await asyncio.gather(*(anyone.get("/readyz") for _ in range(32)))
            lasted = clock() - began
        finally:
            event.remove(Engine, "before_cursor_execute", note)
    assert {answer.status_code for answer in answers} == {200}
    assert 1 <= len(tried) <= 1 + lasted / KEPT


@scene
async def test_what_there_is_to_choose_from_is_listed_without_secrets(door: Door) -> None:
    model = {"model": "m", "api_key": "sk-hunter2", "base_url": "http://127.0.0.1:9/hunter2"}
    agents = {"clerk": {"instructions": "hunter2", "tools": ["calculate"], "model": "own", "mode": "manual"}}
    async with (
        inside(door, models={"own": model}, agents=agents, openai={"api_key": "sk-hunter2"}) as house,
        house.own as client,
    ):
        listed = {name: (await client.get(f"/api/v1/{name}")).json() for name in ("agents", "tools", "models", "settings")}
    assert "hunter2" not in json.dumps(listed)
    assert listed["agents"]["agents"] == [
        {"name": "default", "model": "offline", "tools": None, "mode": "auto"},
        {"name": "clerk", "model": "own", "tools": ["calculate"], "mode": "manual"},
    ]
    models = listed["models"]["models"]
    assert [(each["name"], each["host"], each["has_key"]) for each in models] == [
        ("offline", None, False),
        ("own", "127.0.0.1:9", True),
    ]
    assert listed["models"]["default"] == "offline"
    calculate = next(tool for tool in listed["tools"]["tools"] if tool["name"] == "calculate")
    assert calculate["effect"] == "read"
    assert calculate["parameters"]["type"] == "object"
    assert listed["settings"]["languages"] == ["en-US", "zh-CN"]
    assert listed["settings"]["mode"] == "local"


@scene
async def test_the_audit_is_read_page_by_page(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        run = (await client.post("/api/v1/runs?wait=1", json={"text": "what is 6*7?"})).json()["id"]
        for _ in range(4):
            made = await client.post("/api/v1/rules", json={"verdict": "ask", "tool": "calculate"})
            await client.delete(made.headers["location"])
        whole = (await client.get("/api/v1/audit")).json()
        assert whole["next"] is None
        assert [entry["action"] for entry in whole["entries"]] == ["rule_removed", "rule_added"] * 4 + ["tool"]
        seen, query = [], ""
        while True:
            page = (await client.get(f"/api/v1/audit?limit=4{query}")).json()
            seen += page["entries"]
            if page["next"] is None:
                break
            query = f"&before={page['next']}"
        assert seen == whole["entries"]
        (called,) = (await client.get(f"/api/v1/audit?run={run}")).json()["entries"]
        assert (called["target"], called["result"]) == ("calculate", "done")
