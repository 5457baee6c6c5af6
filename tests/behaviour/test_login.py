"""Proving who one is: tokens, browsers' logins, and what other sites cannot do with them."""

import asyncio
import contextlib
import hmac
import json
import sqlite3
import stat
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from argon2 import PasswordHasher
from starlette.requests import Request
from structlog.testing import capture_logs

from tests.scene import scene
from tests.server_door import ORIGIN, PASSWORD, code, server
from zeno.core.errors import ConfigError
from zeno.core.scope import LOCAL
from zeno.server import tokens
from zeno.server.auth import still_known
from zeno.server.hosts import ensure_safe_to_listen
from zeno.server.passwords import checked, hashed
from zeno.server.tokens import digest, local_token
from zeno.settings import ServerSettings, Settings

pytestmark = [pytest.mark.slow, pytest.mark.instances]


@scene
async def test_the_token_opens_the_house_to_its_one_user(tmp_path: Path) -> None:
    async with server(tmp_path) as house, house.caller(house.token) as owner:
        me = (await owner.get("/api/v1/me")).json()
        assert (me["id"], me["team_id"], me["role"], me["mode"], me["by"], me["csrf"]) == (
            "local",
            "local",
            "admin",
            "local",
            "token",
            None,
        )
        assert me["rights"] == ["admin", "decide", "read", "run"]


@pytest.mark.parametrize(
    "change", [lambda token: token[:-1], lambda token: token + "x", lambda token: "x" + token[1:], str.upper]
)
@scene
async def test_another_token_opens_nothing(tmp_path: Path, change: Callable[[str], str]) -> None:
    async with server(tmp_path, token="a-token-of-the-owners") as house:
        async with house.caller(change(house.token)) as stranger:
            answer = await stranger.get("/api/v1/me")
        assert (answer.status_code, answer.json()["code"]) == (401, "credential_invalid")
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer zeno_", "Bearer ü", "Bearer a b"])
@scene
async def test_what_is_no_credential_is_refused(tmp_path: Path, header: str) -> None:
    async with server(tmp_path) as house, house.caller() as stranger:
        assert await code(stranger.get("/api/v1/me")) == (401, "credential_missing")
        answer = await stranger.get("/api/v1/me", headers=[(b"authorization", header.encode())])
        assert (answer.status_code, answer.json()["code"]) == (401, "credential_invalid")


@scene
async def test_a_login_becomes_a_cookie_that_no_page_and_no_other_site_gets(tmp_path: Path) -> None:
    async with server(tmp_path) as house, house.caller() as browser:
        answer = await browser.post("/api/v1/login", json={"token": house.token})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("zeno_login=")
        attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert {"httponly", "samesite=strict", "path=/", "max-age=1209600"} <= attributes
        assert "secure" not in attributes
        assert len(cookie.partition("=")[2].partition(";")[0]) == 43
        secure = await browser.post(f"{ORIGIN.replace('http', 'https')}/api/v1/login", json={"token": house.token})
        assert "secure" in {part.strip().lower() for part in secure.headers["set-cookie"].split(";")}


@scene
async def test_a_cookie_changes_something_only_with_the_pages_own_token(tmp_path: Path) -> None:
    async with server(tmp_path) as house, house.browser(token=house.token) as browser, house.caller() as other:
        right = browser.headers.pop("X-Zeno-CSRF")
        assert (await browser.get("/api/v1/me")).json()["csrf"] == right
        await other.post("/api/v1/login", json={"token": house.token})
        foreign = (await other.get("/api/v1/me")).json()["csrf"]
        for wrong in ({}, {"X-Zeno-CSRF": ""}, {"X-Zeno-CSRF": right[:-1]}, {"X-Zeno-CSRF": foreign}):
            making = browser.post("/api/v1/teams", json={"name": "sales"}, headers=wrong)
            assert await code(making) == (403, "csrf_token_wrong")
        made = await browser.post("/api/v1/teams", json={"name": "sales"}, headers={"X-Zeno-CSRF": right})
        assert made.status_code == 201
        refused = [entry for entry in await house.app.audit.newest(LOCAL, 20) if entry.result == "csrf_token_wrong"]
        assert len(refused) == 4
        assert refused[0].target == "POST /api/v1/teams"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": ORIGIN},
        {"Sec-Fetch-Site": "none"},
    ],
)
@scene
async def test_a_page_of_another_site_changes_nothing_and_logs_nobody_in(tmp_path: Path, headers: dict[str, str]) -> None:
    async with server(tmp_path) as house, house.browser(token=house.token) as browser:
        making = browser.post("/api/v1/teams", json={"name": "sales"}, headers=headers)
        assert await code(making) == (403, "cross_site_request")
        login = browser.post("/api/v1/login", json={"token": house.token}, headers=headers)
        assert await code(login) == (403, "cross_site_request")
        own = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}
        assert (await browser.post("/api/v1/teams", json={"name": "sales"}, headers=own)).status_code == 201


@scene
async def test_a_program_needs_no_token_of_a_page(tmp_path: Path) -> None:
    async with server(tmp_path) as house, house.caller(house.token) as program:
        assert (await program.post("/api/v1/teams", json={"name": "sales"})).status_code == 201


@scene
async def test_logging_out_ends_the_login_itself_not_only_the_cookie(tmp_path: Path) -> None:
    async with server(tmp_path) as house, house.browser(token=house.token) as browser, house.caller() as thief:
        kept = browser.cookies["zeno_login"]
        assert (await browser.post("/api/v1/logout")).status_code == 204
        assert "zeno_login" not in browser.cookies
        stolen = thief.get("/api/v1/me", headers={"Cookie": f"zeno_login={kept}"})
        assert await code(stolen) == (401, "credential_invalid")


@scene
async def test_a_stream_can_ask_whether_its_reader_is_still_known(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        team = await house.team("sales")
        user = await house.user("ada", team)
        async with house.page(user, team) as browser:
            sent = browser.build_request("GET", "/api/v1/me", cookies=dict(browser.cookies))
        headers = [(name.lower(), value) for name, value in sent.headers.raw]
        state = SimpleNamespace(zeno=house.app)
        request = Request({"type": "http", "method": "GET", "headers": headers, "app": SimpleNamespace(state=state)})
        assert await still_known(request)
        await house.app.accounts.disable(user.id, 1, None)
        assert not await still_known(request)


@pytest.mark.one_instance
@scene
async def test_a_login_ends_after_fourteen_days(tmp_path: Path) -> None:
    async with server(tmp_path, token="a-token-of-the-owners") as house:
        async with house.browser(token=house.token):
            pass
        with contextlib.closing(sqlite3.connect(tmp_path / "zeno.db")) as database:
            (kept, created, expires) = database.execute("select hash, created_at, expires_at from logins").fetchone()
        assert expires - created == 14 * 86_400_000
        assert await house.app.credentials.login(kept, expires - 1)
        assert await house.app.credentials.login(kept, expires) is None
        await house.app.credentials.add_login(LOCAL, digest("x"), at=expires, expires_at=expires + 1)
        assert await house.app.credentials.login(kept, created) is None


@scene
async def test_another_token_ends_the_logins_had_for_the_former(tmp_path: Path) -> None:
    async with server(tmp_path, token="the-first-of-two-tokens") as house, house.browser(token=house.token) as browser:
        cookie = {"Cookie": f"zeno_login={browser.cookies['zeno_login']}"}
    async with server(tmp_path, token="the-first-of-two-tokens") as house, house.caller() as browser:
        assert (await browser.get("/api/v1/me", headers=cookie)).status_code == 200
    async with server(tmp_path, token="the-second-of-two-tokens") as house, house.caller() as browser:
        assert await code(browser.get("/api/v1/me", headers=cookie)) == (401, "credential_invalid")


@pytest.mark.parametrize(
    ("mode", "proof", "expected"),
    [
        ("local", {"token": "wrong"}, (401, "login_wrong")),
        ("local", {"name": "ada", "password": PASSWORD}, (422, "login_needs_token")),
        ("local", {}, (422, "login_needs_token")),
        ("team", {"token": "a-token-of-the-owners"}, (422, "login_needs_password")),
        ("team", {"name": "ada"}, (422, "login_needs_password")),
    ],
)
@scene
async def test_a_login_needs_what_the_installation_asks_for(
    tmp_path: Path, mode: str, proof: dict[str, str], expected: tuple[int, str]
) -> None:
    async with server(tmp_path, auth=mode, token="a-token-of-the-owners") as house, house.caller() as somebody:
        assert await code(somebody.post("/api/v1/login", json=proof)) == expected


@scene
async def test_the_token_is_no_key_to_an_installation_with_accounts(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team", token="a-token-of-the-owners") as house:
        for secret in ("a-token-of-the-owners", ""):
            async with house.caller(secret) as stranger:
                assert await code(stranger.get("/api/v1/me")) == (401, "credential_invalid")


def test_the_token_is_made_once_and_lies_where_only_its_owner_reads_it(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: local_token(settings), range(16)))
    assert len(made) == 1
    assert len(made.pop()) == 43
    path = tmp_path / "home" / "token"
    assert [entry.name for entry in path.parent.iterdir()] == ["token"]
    path.chmod(0o644)
    assert local_token(settings) == path.read_text().strip()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_token_is_never_readable_for_others(tmp_path: Path) -> None:
    local_token(Settings(home=tmp_path / "home"))
    assert stat.S_IMODE((tmp_path / "home" / "token").stat().st_mode) == 0o600


def test_an_empty_token_file_is_no_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    with pytest.raises(ConfigError, match="token_file_unusable"):
        local_token(Settings(home=tmp_path))


@pytest.mark.parametrize(
    ("settings", "safe"),
    [
        ({}, True),
        ({"host": "localhost"}, True),
        ({"host": "::1"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"host": "192.168.1.2", "token": "fifteen-letters"}, False),
        ({"host": "0.0.0.0", "token": "sixteen-letters!"}, True),
        ({"host": "0.0.0.0", "auth": "team"}, True),
    ],
)
def test_other_machines_need_a_token_that_somebody_chose(settings: dict[str, str], safe: bool) -> None:
    own = ServerSettings(**settings)
    if safe:
        ensure_safe_to_listen(own)
    else:
        with pytest.raises(ConfigError, match="token_required"):
            ensure_safe_to_listen(own)


def test_secrets_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []
    compare = hmac.compare_digest

    def noted(a: str, b: str) -> bool:
        compared.append((a, b))
        return compare(a, b)

    monkeypatch.setattr(tokens.hmac, "compare_digest", noted)
    assert tokens.same("secret", "secret")
    assert not tokens.same("secret", "secrets")
    assert len(compared) == 2
    assert {len(side) for pair in compared for side in pair} == {64}


@scene
async def test_a_weaker_hash_is_made_anew_at_the_next_login(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team") as house:
        user = await house.user("ada", await house.team("sales"))
        weak = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash(PASSWORD)
        await house.app.accounts.set_password(user.id, weak, None)
        async with house.browser(name="ada", password=PASSWORD):
            kept = await house.app.accounts.password(user.id)
        assert kept != weak
        assert kept is not None
        assert not PasswordHasher().check_needs_rehash(kept)
        async with house.browser(name="ada", password=PASSWORD):
            assert await house.app.accounts.password(user.id) == kept


@pytest.mark.parametrize("odd", ["\\ud800 and more", "\\u0000 and more", "p\\u00e4ssw\\u00f6rter", "\\ud83d\\ude00 smiling"])
@scene
async def test_odd_passwords_are_passwords_or_refused(tmp_path: Path, odd: str) -> None:
    async with server(tmp_path, auth="team") as house, house.caller(**{"Content-Type": "application/json"}) as somebody:
        await house.user("ada", await house.team("sales"))
        answer = await somebody.post("/api/v1/login", content=f'{{"name": "ada", "password": "{odd}"}}')
        assert answer.status_code in {400, 401, 422}
        password = json.loads(f'"{odd}"')
        user = await house.app.accounts.find("ada")
        assert user is not None
        assert await checked(house.app.accounts, "ada", password) == (user, False)
        await house.app.accounts.set_password(user.id, await hashed(password), None)
        assert await checked(house.app.accounts, "ada", unicodedata.normalize("NFD", password)) == (user, True)


@scene
async def test_many_attempts_at_once_are_all_answered(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team", login_rate_limit="100/minute") as house, house.caller() as somebody:
        await house.user("ada", await house.team("sales"))
        attempts = (somebody.post("/api/v1/login", json={"name": "ada", "password": f"guess {n}"}) for n in range(12))
        assert {answer.status_code for answer in await asyncio.gather(*attempts)} == {401}


@pytest.mark.one_instance
@scene
async def test_secrets_are_nowhere_but_in_the_one_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    password, wrong, token = "pass-PLANTED-word", "wrong-PLANTED-word", "token-PLANTED-of-mine"
    with capture_logs() as logs:
        async with server(tmp_path, token=token) as house, house.caller(token) as operator:
            team = (await operator.post("/api/v1/teams", json={"name": "sales"})).json()
            new = {"name": "ada", "password": password, "team_id": team["id"]}
            answers = [await operator.post("/api/v1/users", json=body) for body in (new, new, new | {"role": password})]
            answers += [await operator.post("/api/v1/users", json=new | {"password": [password]})]
            answers += [await operator.post("/api/v1/login", json={"token": secret}) for secret in (token, wrong)]
            shown = repr(house.app.settings)
        async with server(tmp_path, auth="team") as house, house.browser(name="ada", password=password) as browser:
            cookie = browser.cookies["zeno_login"]
            key = (await browser.post("/api/v1/keys", json={"name": "ci"})).json()["secret"]
            for proof in ({"name": "ada", "password": wrong}, {"name": wrong, "password": password}, {"name": [wrong]}):
                answers.append(await browser.post("/api/v1/login", json=proof))
            answers += [await browser.get("/api/v1/keys"), await browser.delete(f"/api/v1/keys/{key}")]
            async with house.caller(key) as program:
                answers += [await program.get("/api/v1/me"), await program.get("/api/v1/users")]
    planted = (password, wrong, token, cookie, key)
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    spoken = "".join(answer.text for answer in answers)
    written = str(logs) + "".join(capsys.readouterr()) + shown
    assert [answer.status_code for answer in answers].count(201) == 1
    for secret in planted:
        assert secret.encode() not in kept
        assert secret not in spoken
        assert secret not in written
    assert digest(key).encode() in kept
    assert b"$argon2id$" in kept
