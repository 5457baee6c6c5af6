"""Isolation: whatever route others walk with a user's ids, they neither see nor change anything of that user's.

The routes are those of the API's document, so that one that is added later is walked as well.
"""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from tests.door import Door, call, calls
from tests.http import HOLD, Inside, inside
from tests.scene import scene
from zeno.core.scope import Scope
from zeno.runs.clock import new_id, now
from zeno.server.tokens import digest, new_key
from zeno.stores.accounts import RIGHTS, Role, Team, User
from zeno.stores.credentials import Key

pytestmark = pytest.mark.instances

Document = dict[str, Any]

SECRETS = (
    "SECRET-title",
    "SECRET-task",
    "SECRET-answer",
    "SECRET-file",
    "SECRET-content",
    "SECRET-mail",
    "SECRET-rule",
    "SECRET-key",
)


@dataclass
class Person:
    """Someone with an account, and a key with all rights of their role."""

    user: User
    team: Team
    secret: str = field(repr=False)


async def _person(house: Inside, name: str, team: Team, role: Role) -> Person:
    person = Person(User(id=new_id(), name=name, created_at=now()), team, new_key())
    await house.app.accounts.create_user(person.user, "no password", team.id, role)
    scope, rights = Scope(team.id, person.user.id), tuple(sorted(RIGHTS[role]))
    key = Key(id=new_id(), scope=scope, name=f"key of {name}", rights=rights, created_at=now(), expires_at=None)
    await house.app.credentials.add_key(key, digest(person.secret))
    return person


async def _team(house: Inside, name: str) -> Team:
    team = Team(id=new_id(), name=name, created_at=now())
    await house.app.accounts.create_team(team)
    return team


async def _planted(house: Inside, owner: Person) -> dict[str, str]:
    """Something of everything that a user can have: what stands for each parameter of a path."""
    async with house.caller(owner.secret) as client:
        session = (await client.post("/api/v1/sessions", json={"title": "SECRET-title"})).json()["id"]
        uploaded = await client.put(f"/api/v1/sessions/{session}/files/SECRET-file.txt", content=b"SECRET-content")
        assert uploaded.status_code == 201
        path = f"/api/v1/sessions/{session}/runs"
        done = (await client.post(f"{path}?wait=1", json={"text": "SECRET-task"})).json()
        assert done["answer"] == "SECRET-answer"
        paused = (await client.post(f"{path}?wait=1", json={"text": "SECRET-task two"})).json()
        rule = (
            await client.post("/api/v1/rules", json={"verdict": "deny", "tool": "x", "arguments": {"y": "SECRET-rule"}})
        ).json()
        key = await house.app.credentials.keys(Scope(owner.team.id, owner.user.id))
    return {
        "session_id": session,
        "run_id": done["id"],
        "seq": "2",
        "approval_id": paused["approvals"][0]["id"],
        "rule_id": rule["id"],
        "path": "SECRET-file.txt",
        "user_id": owner.user.id,
        "team_id": owner.team.id,
        "key_id": key[0].id,
        "session": session,
        "run": done["id"],
        "model_name": "mine",
    }


def _requests(document: Document, known: dict[str, str]) -> Iterator[tuple[str, str, str, Any]]:
    """Each operation with a user's ids in its path, its query and its body: method, template, path, body."""
    for template, item in document["paths"].items():
        for method, operation in item.items():
            named = {each["name"]: known[each["name"]] for each in operation.get("parameters", ()) if each["name"] in known}
            missing = [
                each["name"] for each in operation.get("parameters", ()) if each["in"] == "path" and each["name"] not in known
            ]
            assert not missing, f"{template}: nothing is known to stand for {missing}"
            path = template.format(**named)
            asked = {name: value for name, value in named.items() if f"{{{name}}}" not in template}
            if "/events" in path:
                asked["format"] = "json"
            query = "&".join(f"{name}={value}" for name, value in asked.items())
            content = operation.get("requestBody", {}).get("content", {})
            bodies = (
                list(_samples(document, content["application/json"]["schema"], known))
                if "application/json" in content
                else [None]
            )
            for body in bodies:
                yield method.upper(), template, f"{path}?{query}" if query else path, body


def _samples(document: Document, schema: Document, known: dict[str, str], name: str = "") -> Iterator[Any]:
    """Values that fit a schema, made of a user's ids where a field is named so; one for each of several forms."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for forms in ("oneOf", "anyOf"):
        if forms in schema:
            for each in schema[forms]:
                yield from _samples(document, each, known, name)
            return
    if name in known:
        yield known[name]
    elif "const" in schema:
        yield schema["const"]
    elif "enum" in schema:
        yield from schema["enum"]
    elif schema.get("type") == "object" and "properties" in schema:
        fields = {name: list(_samples(document, own, known, name)) for name, own in schema["properties"].items()}
        wanted = [name for name in fields if name in schema.get("required", ()) or name in known]
        for values in itertools.product(*(fields[name] for name in wanted)):
            yield dict(zip(wanted, values, strict=True))
    elif schema.get("type") in ("object", "array"):
        yield {} if schema["type"] == "object" else []
    elif schema.get("type") in ("boolean", "integer", "null"):
        yield {"boolean": True, "integer": 1, "null": None}[schema["type"]]
    else:
        yield "x" * max(schema.get("minLength", 1), 12)


async def _state(client: httpx2.AsyncClient, known: dict[str, str]) -> Document:
    """What its owner sees of it all."""
    paths = [
        "/api/v1/sessions",
        f"/api/v1/sessions/{known['session_id']}/files",
        "/api/v1/runs",
        f"/api/v1/runs/{known['run_id']}",
        "/api/v1/approvals",
        f"/api/v1/approvals/{known['approval_id']}",
        "/api/v1/rules",
        "/api/v1/me",
    ]
    seen = {path: (await client.get(path)).json() for path in paths}
    keys = (await client.get("/api/v1/keys")).json()["keys"]
    return seen | {"keys": [{name: value for name, value in key.items() if name != "used_at"} for key in keys]}


async def _walked(house: Inside, document: Document, secret: str | None, known: dict[str, str], owner: Person) -> list[str]:
    """What went wrong when somebody else walked every route."""
    faults = []
    ids = {value for name, value in known.items() if name.endswith("_id")}
    async with house.caller(secret) as client:
        for method, template, path, body in _requests(document, known):
            sent = {"content": b"evil"} if method == "PUT" and "/files/" in path else {"json": body} if body is not None else {}
            answer = await client.request(method, path, **sent)
            line = f"{method} {template} {json.dumps(body)}: {answer.status_code}"
            if answer.status_code >= 500:
                faults.append(f"{line} broke")
            leaked = [word for word in (*SECRETS, owner.secret, owner.user.name) if word in _unsaid(answer.text, path, body)]
            if leaked:
                faults.append(f"{line} tells {leaked}")
            if answer.is_success and any(value in template.format(**_marked(known, template)) for value in ids):
                faults.append(f"{line} was served")
    return faults


def _marked(known: dict[str, str], template: str) -> dict[str, str]:
    return {name: value for name, value in known.items() if f"{{{name}}}" in template}


def _unsaid(text: str, path: str, body: Any) -> str:
    """A reply without what the caller has said themselves: a name of a file in a path may be said back."""
    for said in ("SECRET-file.txt",):
        if said in path or said in json.dumps(body):
            text = text.replace(said, "")
    return text


@scene
async def test_nobody_else_sees_or_changes_anything_of_a_users(door: Door) -> None:
    door.with_tools(HOLD)
    script = door.script({"text": "SECRET-answer"}, calls(call("send_mail", to="SECRET-mail", text="SECRET-mail")))
    limits = {"auth": "team", "rate_limit": "100000/minute", "login_rate_limit": "100000/minute"}
    async with inside(door, model=script, server=limits) as house:
        first, second = await _team(house, "first"), await _team(house, "second")
        owner = await _person(house, "SECRET-key-owner", first, "member")
        others = {
            "a colleague": (await _person(house, "colleague", first, "member")).secret,
            "an admin of another team": (await _person(house, "chief", second, "admin")).secret,
            "a stranger": None,
            "a liar": "zeno_" + "A" * 43,
        }
        known = await _planted(house, owner)
        async with house.caller(owner.secret) as client:
            document = (await client.get("/openapi.json")).json()
            before = await _state(client, known)
            for who, secret in others.items():
                assert await _walked(house, document, secret, known, owner) == [], who
                assert await _state(client, known) == before, f"{who} changed something"
            assert (
                await client.get(f"/api/v1/sessions/{known['session_id']}/files/SECRET-file.txt")
            ).content == b"SECRET-content"
            await _reaches(client, document, known)


async def _reaches(client: httpx2.AsyncClient, document: Document, known: dict[str, str]) -> None:
    """The same walk finds everything when it is the owner's: it was not for want of a right path that others found nothing."""
    seen = ""
    for method, template, path, _ in _requests(document, known):
        if method == "GET":
            answer = await client.get(path)
            admins_only = template in ("/api/v1/users", "/api/v1/teams")
            assert answer.status_code == (403 if admins_only else 200), path
            seen += answer.text
    assert [word for word in SECRETS if word not in seen] == []


@scene
async def test_a_colleague_who_is_an_admin_decides_only_what_is_meant_for_admins(door: Door) -> None:
    door.with_tools(HOLD)
    script = door.script(*[calls(call("send_mail", to=to, text="x")) for to in ("owner", "admin")], {"text": "Done."})
    rule = {"verdict": "ask", "tool": "send_mail", "arguments": {"to": "admin"}, "approver": "admin"}
    async with inside(door, model=script, rules=[rule], server={"auth": "team"}) as house:
        team, other = await _team(house, "first"), await _team(house, "second")
        owner = await _person(house, "owner", team, "member")
        chief, stranger = await _person(house, "chief", team, "admin"), await _person(house, "stranger", other, "admin")
        async with house.caller(owner.secret) as own, house.caller(chief.secret) as admin, house.caller(stranger.secret) as far:
            run = (await own.post("/api/v1/runs?wait=1", json={"text": "go"})).json()
            mine = run["approvals"][0]["id"]
            yes = {"decision": "approve"}
            for client in (admin, far):
                assert (await client.get("/api/v1/approvals")).json()["approvals"] == []
                assert (await client.post(f"/api/v1/approvals/{mine}/decision", json=yes)).status_code == 404
            assert (await own.post(f"/api/v1/approvals/{mine}/decision", json=yes)).status_code == 200
            theirs = await _next_approval(house, admin, Scope(team.id, owner.user.id), run["id"])
            (awaited,) = (await own.get(f"/api/v1/runs/{run['id']}")).json()["approvals"]
            assert (awaited["id"], awaited["tool"], awaited["approver"]) == (theirs, "send_mail", "admin")
            assert (await own.get("/api/v1/approvals")).json()["approvals"] == []
            assert (await far.post(f"/api/v1/approvals/{theirs}/decision", json=yes)).status_code == 404
            assert (await own.post(f"/api/v1/approvals/{theirs}/decision", json=yes)).status_code == 404
            assert (await admin.get(f"/api/v1/runs/{run['id']}")).status_code == 404
            assert (await admin.post(f"/api/v1/approvals/{theirs}/decision", json=yes)).status_code == 200
            await own.get(f"/api/v1/runs/{run['id']}/events")
            assert (await own.get(f"/api/v1/runs/{run['id']}")).json()["answer"] == "Done."


@scene
async def test_a_member_cannot_edit_a_call_into_what_an_admin_has_to_permit(door: Door) -> None:
    door.with_tools(HOLD)
    script = door.script(calls(call("send_mail", to="owner", text="x")), {"text": "Done."})
    rule = {"verdict": "ask", "tool": "send_mail", "arguments": {"to": "admin*"}, "approver": "admin"}
    async with inside(door, model=script, rules=[rule], server={"auth": "team"}) as house:
        team = await _team(house, "first")
        owner, chief = await _person(house, "owner", team, "member"), await _person(house, "chief", team, "admin")
        async with house.caller(owner.secret) as own, house.caller(chief.secret) as admin:
            run = (await own.post("/api/v1/runs?wait=1", json={"text": "go"})).json()
            edit = {"decision": "edit", "arguments": {"to": "admin-bonus", "text": "x"}}
            mine = run["approvals"][0]["id"]
            assert (await own.post(f"/api/v1/approvals/{mine}/decision", json=edit)).status_code == 200
            theirs = await _next_approval(house, admin, Scope(team.id, owner.user.id), run["id"])
            asked = (await admin.get(f"/api/v1/approvals/{theirs}")).json()["approval"]
            assert json.loads(asked["arguments"]) == {"to": "admin-bonus", "text": "x"}
            assert (await own.post(f"/api/v1/approvals/{theirs}/decision", json={"decision": "approve"})).status_code == 404
            assert (await admin.post(f"/api/v1/approvals/{theirs}/decision", json={"decision": "approve"})).status_code == 200
            await own.get(f"/api/v1/runs/{run['id']}/events")
            events = (await own.get(f"/api/v1/runs/{run['id']}/events?format=json")).json()["events"]
            assert [event["result"]["outcome"] for event in events if event["type"] == "tool_finished"] == ["done"]


async def _next_approval(house: Inside, admin: httpx2.AsyncClient, scope: Scope, run_id: str) -> str:
    """The approval that an admin is asked for, once there is one: the feed tells when the run has paused again."""
    from tests.http import BOUND
    from zeno.server.sse import wait_until_settled

    found: list[dict[str, str]] = []
    while not found:
        found = (await admin.get("/api/v1/approvals")).json()["approvals"]
        if not found:
            await wait_until_settled(house.app, scope, await house.app.runs.find(scope, run_id), BOUND)
    return found[0]["id"]


@scene
async def test_a_member_names_only_models_of_the_operators(door: Door) -> None:
    script = door.script({"text": "From the settings."}, name="settings.jsonl")
    own = door.script({"text": "From elsewhere."}, name="own.jsonl")
    async with inside(door, model=script, server={"auth": "team"}) as house:
        team = await _team(house, "first")
        member, admin = await _person(house, "member", team, "member"), await _person(house, "admin", team, "admin")
        async with house.caller(member.secret) as client:
            for model in (own, "openai:gpt-5@http://127.0.0.1:9/v1", "scripted:/etc/passwd", "prompted:offline"):
                refused = await client.post("/api/v1/runs", json={"text": "x", "model": model})
                assert (refused.status_code, refused.json()["code"]) == (403, "model_not_permitted"), model
            done = await client.post("/api/v1/runs?wait=1", json={"text": "x", "model": script})
            assert done.json()["answer"] == "From the settings."
        async with house.caller(admin.secret) as client:
            done = await client.post("/api/v1/runs?wait=1", json={"text": "x", "model": own})
            assert done.json()["answer"] == "From elsewhere."
