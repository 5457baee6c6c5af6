"""Accounts through HTTP: users, teams and keys, and that one team never reaches into another."""

import contextlib
import sqlite3
from collections.abc import Awaitable
from pathlib import Path

import httpx2
import pytest

from tests.scene import scene
from tests.server_door import PASSWORD, Server, code, server
from zeno.core.scope import LOCAL, Scope
from zeno.runs.clock import new_id, now
from zeno.server.tokens import digest, new_key
from zeno.stores.accounts import Right, Team
from zeno.stores.credentials import Key

pytestmark = [pytest.mark.slow, pytest.mark.instances]


async def actions(house: Server, scope: Scope) -> list[tuple[str, str, str]]:
    entries = await house.app.audit.newest(scope, 100, admin=True)
    return [(entry.action, entry.decision, entry.result) for entry in reversed(entries)]


@scene
async def test_whoever_runs_the_installation_prepares_teams_and_users(tmp_path: Path) -> None:
    async with server(tmp_path) as house, house.caller(house.token) as operator:
        team = (await operator.post("/api/v1/teams", json={"name": "Sales"})).json()
        made = await operator.post(
            "/api/v1/users", json={"name": "Ada", "password": PASSWORD, "role": "admin", "team_id": team["id"]}
        )
        assert made.status_code == 201
        assert (made.json()["user"]["name"], made.json()["team"]["name"], made.json()["role"]) == ("ada", "sales", "admin")
        listed = (await operator.get("/api/v1/users")).json()["users"]
        assert [member["user"]["name"] for member in listed] == ["ada"]
        assert await code(operator.post("/api/v1/teams", json={"name": "SALES"})) == (409, "team_exists")
        twice = operator.post("/api/v1/users", json={"name": "ADA", "password": PASSWORD, "team_id": team["id"]})
        assert await code(twice) == (409, "user_exists")
        short = operator.post("/api/v1/users", json={"name": "bob", "password": "short", "team_id": team["id"]})
        assert await code(short) == (422, "password_length")
        assert await actions(house, LOCAL) == [
            ("team_created", "", "done"),
            ("user_created", "", "done"),
            ("team_created", "refused", "team_exists"),
            ("user_created", "refused", "user_exists"),
            ("user_created", "refused", "password_length"),
        ]


@scene
async def test_a_user_logs_in_with_name_and_password_and_is_told_what_they_may_do(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        team = await house.team("sales")
        user = await house.user("ada", team)
        async with house.browser(name="Ada", password=PASSWORD) as browser:
            me = (await browser.get("/api/v1/me")).json()
            assert (me["id"], me["name"], me["role"], me["team"], me["mode"], me["by"]) == (
                user.id,
                "ada",
                "member",
                "sales",
                "team",
                "login",
            )
            assert me["rights"] == ["decide", "read", "run"]
            assert me["csrf"] == browser.headers["X-Zeno-CSRF"]


@scene
async def test_wrong_passwords_and_unknown_names_are_refused_alike_and_noted(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house, house.caller() as somebody:
        team = await house.team("sales")
        user = await house.user("ada", team)
        answers = [
            await somebody.post("/api/v1/login", json={"name": name, "password": password})
            for name, password in (("ada", "not the password"), ("eve", PASSWORD), ("no such name!", PASSWORD), ("ada", ""))
        ]
        assert {(answer.status_code, answer.json()["code"], answer.json()["detail"]) for answer in answers} == {
            (401, "login_wrong", answers[0].json()["detail"])
        }
        assert not any("set-cookie" in answer.headers for answer in answers)
        assert await actions(house, Scope(team.id, user.id)) == [("login", "refused", "login_wrong")] * 2
        assert await actions(house, Scope("", "")) == [("login", "refused", "login_wrong")] * 2


@scene
async def test_who_is_in_two_teams_says_which(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house, house.caller() as somebody:
        sales, law = await house.team("sales"), await house.team("law")
        user = await house.user("ada", sales)
        await house.app.accounts.join(law.id, user.id, "admin")
        proof = {"name": "ada", "password": PASSWORD}
        assert await code(somebody.post("/api/v1/login", json=proof)) == (422, "team_ambiguous")
        assert await code(somebody.post("/api/v1/login", json=proof | {"team": "other"})) == (401, "login_wrong")
        async with house.browser(**proof, team="law") as browser:
            assert (await browser.get("/api/v1/me")).json()["role"] == "admin"


@scene
async def test_a_disabled_user_is_out_at_once_and_can_be_let_in_again(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        team = await house.team("sales")
        user, root = await house.user("ada", team), await house.user("root", team, "admin")
        async with (
            house.page(root, team) as admin,
            house.page(user, team) as browser,
            house.caller((await browser.post("/api/v1/keys", json={"name": "ci"})).json()["secret"]) as program,
        ):
            assert (await program.get("/api/v1/me")).status_code == 200
            assert (await admin.put(f"/api/v1/users/{user.id}/disabled", json={"disabled": True})).status_code == 204
            assert await code(browser.get("/api/v1/me")) == (401, "credential_invalid")
            assert await code(program.get("/api/v1/me")) == (401, "credential_invalid")
            again = browser.post("/api/v1/login", json={"name": "ada", "password": PASSWORD})
            assert await code(again) == (401, "login_wrong")
            assert ("login", "", "done") not in await actions(house, Scope(team.id, user.id))
            assert (await admin.put(f"/api/v1/users/{user.id}/disabled", json={"disabled": False})).status_code == 204
            assert (await program.get("/api/v1/me")).status_code == 200
            assert await code(browser.get("/api/v1/me")) == (401, "credential_invalid")


@scene
async def test_a_removed_member_is_out_at_once_and_their_keys_stay_dead(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        team = await house.team("sales")
        user, root = await house.user("ada", team), await house.user("root", team, "admin")
        async with (
            house.page(root, team) as admin,
            house.page(user, team) as browser,
            house.caller((await browser.post("/api/v1/keys", json={"name": "ci"})).json()["secret"]) as program,
        ):
            assert (await admin.delete(f"/api/v1/teams/{team.id}/members/{user.id}")).status_code == 204
            assert await code(browser.get("/api/v1/me")) == (401, "credential_invalid")
            assert await code(program.get("/api/v1/me")) == (401, "credential_invalid")
            fresh = browser.post("/api/v1/login", json={"name": "ada", "password": PASSWORD})
            assert await code(fresh) == (403, "team_missing")
            await house.app.accounts.join(team.id, user.id, "member")
            assert await code(program.get("/api/v1/me")) == (401, "credential_invalid")


@pytest.mark.one_instance
@scene
async def test_a_credential_without_a_membership_opens_nothing(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        team = await house.team("sales")
        user = await house.user("ada", team)
        _, secret = await a_key(house, Scope(team.id, user.id), "read")
        with contextlib.closing(sqlite3.connect(tmp_path / "zeno.db", isolation_level=None)) as database:
            database.execute("delete from members")
        async with house.page(user, team) as browser, house.caller(secret) as program:
            assert await code(browser.get("/api/v1/me")) == (401, "credential_invalid")
            assert await code(program.get("/api/v1/me")) == (401, "credential_invalid")


@scene
async def test_another_password_ends_all_logins(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        team = await house.team("sales")
        user = await house.user("ada", team)
        async with house.page(user, team) as browser, house.caller() as somebody:
            change = {"current": "not the password", "password": "another good one"}
            assert await code(browser.put("/api/v1/me/password", json=change)) == (401, "login_wrong")
            change["current"] = PASSWORD
            assert (await browser.put("/api/v1/me/password", json=change)).status_code == 204
            assert await code(browser.get("/api/v1/me")) == (401, "credential_invalid")
            old = somebody.post("/api/v1/login", json={"name": "ada", "password": PASSWORD})
            assert await code(old) == (401, "login_wrong")
            new = await somebody.post("/api/v1/login", json={"name": "ada", "password": "another good one"})
            assert new.status_code == 200


@scene
async def test_an_admin_reaches_nothing_of_another_team(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        ours, theirs = await house.team("ours"), await house.team("theirs")
        root = await house.user("root", ours, "admin")
        stranger = await house.user("eve", theirs)
        async with house.page(root, ours) as admin:
            listed = (await admin.get("/api/v1/users")).json()["users"]
            assert [member["user"]["name"] for member in listed] == ["root"]
            assert [team["name"] for team in (await admin.get("/api/v1/teams")).json()["teams"]] == ["ours"]
            for attempt in _attempts(admin, stranger.id, theirs):
                assert (await code(attempt))[0] == 404
            new = {"name": "mole", "password": PASSWORD, "team_id": theirs.id}
            assert await code(admin.post("/api/v1/users", json=new)) == (404, "team_not_found")
            assert await code(admin.post("/api/v1/teams", json={"name": "more"})) == (403, "operator_only")
        members = await house.app.accounts.user(stranger.id, None)
        assert [(member.role, member.user.disabled_at) for member in members] == [("member", None)]
        async with house.browser(name="eve", password=PASSWORD):
            pass


def _attempts(admin: httpx2.AsyncClient, stranger: str, theirs: Team) -> list[Awaitable[httpx2.Response]]:
    return [
        admin.put(f"/api/v1/users/{stranger}/disabled", json={"disabled": True}),
        admin.put(f"/api/v1/users/{stranger}/password", json={"password": "taken over now"}),
        admin.put(f"/api/v1/users/{stranger}/role", json={"role": "admin"}),
        admin.put(f"/api/v1/teams/{theirs.id}/members/{stranger}", json={"role": "admin"}),
        admin.delete(f"/api/v1/teams/{theirs.id}/members/{stranger}"),
    ]


@scene
async def test_an_admin_cannot_become_a_user_who_is_in_another_team_too(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        ours, theirs = await house.team("ours"), await house.team("theirs")
        root = await house.user("root", ours, "admin")
        shared = await house.user("ada", ours)
        await house.app.accounts.join(theirs.id, shared.id, "admin")
        async with house.page(root, ours) as admin:
            path = f"/api/v1/users/{shared.id}"
            taking_over = admin.put(f"{path}/password", json={"password": "taken over now"})
            assert await code(taking_over) == (403, "user_elsewhere")
            assert await code(admin.put(f"{path}/disabled", json={"disabled": True})) == (403, "user_elsewhere")
            assert (await admin.put(f"{path}/role", json={"role": "admin"})).status_code == 204
        roles = {member.team.name: member.role for member in await house.app.accounts.user(shared.id, None) if member.team}
        assert roles == {"ours": "admin", "theirs": "admin"}


@scene
async def test_a_member_changes_no_accounts_and_the_attempt_is_noted(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        team = await house.team("sales")
        user = await house.user("ada", team)
        async with house.page(user, team) as browser:
            assert await code(browser.get("/api/v1/users")) == (403, "right_missing")
            raising = browser.put(f"/api/v1/users/{user.id}/role", json={"role": "admin"})
            assert await code(raising) == (403, "right_missing")
        assert await actions(house, Scope(team.id, user.id)) == [
            ("access", "refused", "right_missing"),
            ("access", "refused", "right_missing"),
        ]


@scene
async def test_the_rules_of_the_settings_are_told_to_admins_only(tmp_path: Path) -> None:
    rule = {"verdict": "deny", "tool": "send_mail", "arguments": {"to": "*@rival.example"}}
    async with server(tmp_path, rules=[rule], auth="team") as house:
        team = await house.team("sales")
        root, user = await house.user("root", team, "admin"), await house.user("ada", team)
        async with house.page(root, team) as admin, house.page(user, team) as member:
            (told,) = (await admin.get("/api/v1/rules")).json()["settings"]
            assert told.items() >= rule.items()
            assert "rival" not in (await member.get("/api/v1/rules")).text


@scene
async def test_an_admin_cannot_shut_themselves_out(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        team = await house.team("sales")
        root = await house.user("root", team, "admin")
        async with house.page(root, team) as admin:
            for attempt in _attempts(admin, root.id, team):
                assert await code(attempt) == (409, "own_account")


async def a_key(house: Server, scope: Scope, *rights: Right, expires_at: int | None = None) -> tuple[Key, str]:
    secret = new_key()
    key = Key(id=new_id(), scope=scope, name="ci", rights=rights, created_at=now(), expires_at=expires_at)
    await house.app.credentials.add_key(key, digest(secret))
    return key, secret


@scene
async def test_a_key_allows_what_it_was_made_for_and_no_more(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        team = await house.team("sales")
        user = await house.user("root", team, "admin")
        scope = Scope(team.id, user.id)
        reading, administering = (await a_key(house, scope, "read"))[1], (await a_key(house, scope, "admin", "read"))[1]
        async with house.caller(reading) as reader, house.caller(administering) as admin:
            assert (await reader.get("/api/v1/me")).json()["rights"] == ["read"]
            assert (await reader.get("/api/v1/me")).json()["by"] == "key"
            assert await code(reader.get("/api/v1/users")) == (403, "right_missing")
            assert await code(reader.post("/api/v1/keys", json={"name": "more", "rights": ["read"]})) == (403, "right_missing")
            assert (await admin.get("/api/v1/users")).status_code == 200
            more = admin.post("/api/v1/keys", json={"name": "more", "rights": ["read", "decide"]})
            assert await code(more) == (403, "right_missing")
            await house.app.accounts.set_role(team.id, user.id, "member")
            assert await code(admin.get("/api/v1/users")) == (403, "right_missing")


@scene
async def test_revoked_and_expired_keys_open_nothing(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        team = await house.team("sales")
        user = await house.user("ada", team)
        scope = Scope(team.id, user.id)
        key, secret = await a_key(house, scope, "read")
        _, expired = await a_key(house, scope, "read", expires_at=now() - 1)
        _, fresh = await a_key(house, scope, "read", expires_at=now() + 60_000)
        async with house.caller(secret) as program, house.caller(expired) as late, house.caller(fresh) as sibling:
            assert await code(late.get("/api/v1/me")) == (401, "credential_invalid")
            assert await code(sibling.delete(f"/api/v1/keys/{key.id}")) == (403, "right_missing")
            assert (await program.delete(f"/api/v1/keys/{key.id}")).status_code == 204
            assert await code(program.get("/api/v1/me")) == (401, "credential_invalid")
            assert (await sibling.get("/api/v1/me")).status_code == 200


@scene
async def test_keys_are_listed_to_their_owner_only_and_tell_when_they_were_used(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        team = await house.team("sales")
        ada, bob = await house.user("ada", team), await house.user("bob", team)
        key, secret = await a_key(house, Scope(team.id, ada.id), "read")
        async with house.caller(secret) as program, house.page(bob, team) as other:
            before = now()
            listed = (await program.get("/api/v1/keys")).json()["keys"]
            assert [entry["id"] for entry in listed] == [key.id]
            assert listed[0]["used_at"] >= before
            assert secret not in str(listed)
            assert digest(secret) not in str(listed)
            assert (await other.get("/api/v1/keys")).json()["keys"] == []
            assert await code(other.delete(f"/api/v1/keys/{key.id}")) == (404, "key_not_found")


@scene
async def test_the_last_use_of_a_key_is_written_once_a_minute_at_most(tmp_path: Path) -> None:
    async with server(tmp_path) as house:
        key, secret = await a_key(house, LOCAL, "read")
        for at, kept in ((100_000, 100_000), (159_999, 100_000), (160_000, 160_000)):
            assert await house.app.credentials.key(digest(secret), at)
            assert [(known.id, known.used_at) for known in await house.app.credentials.keys(LOCAL)] == [(key.id, kept)]


@pytest.mark.parametrize("mode", ["local", "team"])
@scene
async def test_what_one_mode_gave_out_opens_nothing_in_the_other(tmp_path: Path, mode: str) -> None:
    async with server(tmp_path, auth="team" if mode == "local" else "local") as house:
        scope = LOCAL
        if mode == "team":
            team = await house.team("sales")
            scope = Scope(team.id, (await house.user("ada", team)).id)
        _, secret = await a_key(house, scope, "read")
        async with house.caller(secret) as program:
            assert await code(program.get("/api/v1/me")) == (401, "credential_invalid")
    async with server(tmp_path, auth=mode) as house, house.caller(secret) as program:
        assert (await program.get("/api/v1/me")).status_code == 200


@pytest.mark.parametrize("name", ["", "local", "LOCAL", "a b", "a/b", "a\nb", "x" * 65, "<script>"])
@scene
async def test_names_that_are_none_are_refused(tmp_path: Path, name: str) -> None:
    async with server(tmp_path) as house, house.caller(house.token) as operator:
        assert await code(operator.post("/api/v1/teams", json={"name": name})) == (422, "name_invalid")


@scene
async def test_names_that_look_the_same_are_the_same(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        await house.user("jürgen", await house.team("sales"))
        async with house.browser(name="Ju\u0308RGEN", password=PASSWORD) as browser:
            assert (await browser.get("/api/v1/me")).json()["name"] == "jürgen"
