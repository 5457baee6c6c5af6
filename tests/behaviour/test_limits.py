"""The limits around the server: sizes, rates, names of hosts, proxies, and what browsers are told."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.scene import scene
from tests.server_door import ORIGIN, PASSWORD, code, server
from zeno.core.errors import ConfigError
from zeno.server.limits import SECURITY_HEADERS, wrapped
from zeno.settings import ServerSettings, load

Message = dict[str, Any]


@scene
async def test_who_asks_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    async with server(tmp_path, rate_limit="3/hour") as house, house.caller() as somebody:
        answers = [await somebody.get("/api/v1/me") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
        last = answers[-1]
        assert last.headers["content-type"] == "application/problem+json"
        assert last.json()["code"] == "rate_limited"
        assert 1 <= int(last.headers["retry-after"]) <= 3600
        async with house.caller(address="192.0.2.7") as other:
            assert (await other.get("/api/v1/me")).status_code == 401


@scene
async def test_a_known_user_counts_for_themselves_wherever_they_ask_from(tmp_path: Path) -> None:
    async with server(tmp_path, rate_limit="4/hour") as house, house.caller(house.token) as owner:
        assert (await owner.get("/api/v1/me")).status_code == 200
        async with house.caller("no-such-token") as stranger:
            assert [(await stranger.get("/api/v1/me")).status_code for _ in range(4)] == [401, 401, 401, 429]
        assert [(await owner.get("/api/v1/me")).status_code for _ in range(3)] == [200, 200, 200]
        async with house.caller(house.token, address="192.0.2.7") as elsewhere:
            assert [(await elsewhere.get("/api/v1/me")).status_code for _ in range(2)] == [200, 429]


@scene
async def test_attempts_to_log_in_have_a_limit_of_their_own(tmp_path: Path) -> None:
    async with server(tmp_path, login_rate_limit="2/hour") as house, house.caller() as somebody:
        tries = [
            await somebody.post(path, json={"token": "guess"}) for path in ("/api/v1/login", "/api/v1/login/", "/api/v1/login")
        ]
        assert (tries[0].status_code, tries[-1].status_code) == (401, 429)
        assert await code(somebody.post("/api/v1/login", json={"token": house.token})) == (429, "rate_limited")
        async with house.caller(house.token) as owner:
            assert (await owner.get("/api/v1/me")).status_code == 200


@scene
async def test_one_caller_does_not_get_a_limit_for_each_of_its_ipv6_addresses(tmp_path: Path) -> None:
    async with server(tmp_path, rate_limit="2/hour") as house:
        statuses = []
        for address in ("2001:db8:1:2::1", "2001:db8:1:2::2", "2001:db8:1:2:ffff::3", "2001:db8:1:3::1"):
            async with house.caller(address=address) as somebody:
                statuses.append((await somebody.get("/api/v1/me")).status_code)
        assert statuses == [401, 401, 429, 401]


async def pieces(size: int, count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * size


@scene
async def test_a_body_that_is_too_large_is_refused_said_or_unsaid(tmp_path: Path) -> None:
    async with server(tmp_path, max_body=2048) as house, house.caller(house.token) as owner:
        said = await owner.post("/api/v1/teams", content=b"x" * 2049)
        assert (said.status_code, said.json()["code"]) == (413, "body_too_large")
        unsaid = await owner.post("/api/v1/teams", content=pieces(512, 5))
        assert "content-length" not in unsaid.request.headers
        assert (unsaid.status_code, unsaid.json()["code"]) == (413, "body_too_large")
        lied = await owner.post("/api/v1/teams", content=pieces(512, 5), headers={"Content-Length": "10"})
        assert (lied.status_code, lied.json()["code"]) == (413, "body_too_large")
        fitting = await owner.post("/api/v1/teams", content=pieces(512, 4), headers={"Content-Type": "application/json"})
        assert (fitting.status_code, fitting.json()["code"]) == (400, "json_invalid")


@scene
async def test_an_endless_body_is_not_read_to_its_end(tmp_path: Path) -> None:
    read = 0

    async def receive() -> Message:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": b"x" * 1000, "more_body": True}

    async def hungry(scope: Message, receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"eaten"})

    for path, most in (("/api/v1/x", 2), ("/api/v1/sessions/1/files/a/b.csv", 5)):
        read, sent = 0, list[Message]()

        async def send(message: Message, sent: list[Message] = sent) -> None:
            sent.append(message)

        limited = wrapped(hungry, ServerSettings(max_body=2000, max_upload=5000))
        await limited(request(path, method="POST"), receive, send)
        assert [message.get("status") for message in sent] == [413, None]
        assert read == most + 1
        read = 0
        await limited(request(path, "POST", (b"content-length", b"5001")), receive, send)
        assert (sent[-2]["status"], read) == (413, 0)


def request(path: str, method: str = "GET", *headers: tuple[bytes, bytes]) -> Message:
    own = [(b"host", b"127.0.0.1:8321"), *headers]
    return {"type": "http", "method": method, "path": path, "headers": own, "client": ("127.0.0.1", 1), "scheme": "http"}


@scene
async def test_a_stream_goes_through_chunk_by_chunk(tmp_path: Path) -> None:
    going_on, seen = asyncio.Event(), asyncio.Queue[Message]()

    async def streaming(scope: Message, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"no-cache")]})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await going_on.wait()
        await send({"type": "http.response.body", "body": b"second"})

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    limited = wrapped(streaming, ServerSettings(cors_origins=["https://a.example"]))
    answering = asyncio.create_task(limited(request("/api/v1/runs/1/events"), receive, seen.put))
    start, first = await seen.get(), await seen.get()
    assert dict(start["headers"])[b"cache-control"] == b"no-store"
    assert (first["body"], answering.done()) == (b"first", False)
    going_on.set()
    await answering
    assert (await seen.get())["body"] == b"second"


@scene
async def test_an_error_of_the_application_is_not_swallowed(tmp_path: Path) -> None:
    async def broken(scope: Message, receive: Any, send: Any) -> None:
        raise ValueError("broken")

    async def nothing(*_: object) -> Message:
        return {"type": "http.request", "body": b""}

    with pytest.raises(ValueError, match="broken"):
        await wrapped(broken, ServerSettings())(request("/api/v1/x", "POST"), nothing, nothing)


HOSTS = [
    ("127.0.0.1:8321", True),
    ("127.0.0.1", True),
    ("127.8.9.1:1", True),
    ("localhost:8321", True),
    ("LOCALHOST.", True),
    ("[::1]:8321", True),
    ("zeno.example.com", True),
    ("a.inner.example:99", True),
    ("inner.example", False),
    ("evil.example", False),
    ("evil.example:8321", False),
    ("localhost.evil.example", False),
    ("127.0.0.1.evil.example", False),
    ("evil.example@127.0.0.1", False),
    ("127.0.0.1:8321@evil.example", False),
    ("127.0.0.1/evil.example", False),
    ("127.0.0.1,evil.example", False),
    ("192.168.1.1", False),
    ("0.0.0.0", False),
    ("2130706433", False),
    ("", False),
    ("localhost:port", False),
    ("ⓛocalhost", False),
]


@pytest.mark.parametrize(("host", "known"), HOSTS)
@scene
async def test_requests_for_other_hosts_are_refused(tmp_path: Path, host: str, known: bool) -> None:
    names = ["zeno.example.com", "*.inner.example"]
    async with server(tmp_path, allowed_hosts=names) as house, house.caller(house.token) as owner:
        answer = await owner.get("/api/v1/me", headers=[(b"host", host.encode())])
        assert (answer.status_code, answer.json().get("code")) == ((200, None) if known else (421, "host_not_allowed"))


@scene
async def test_two_hosts_are_none(tmp_path: Path) -> None:
    async with server(tmp_path) as house, house.caller(house.token) as owner:
        both = [(b"host", b"127.0.0.1"), (b"host", b"127.0.0.1")]
        assert await code(owner.get("/api/v1/me", headers=both)) == (421, "host_not_allowed")


@scene
async def test_with_accounts_any_host_will_do_until_some_are_named(tmp_path: Path) -> None:
    for names, status in (([], 401), (["zeno.example.com"], 421)):
        async with server(tmp_path, auth="team", allowed_hosts=names) as house, house.caller() as somebody:
            assert (await somebody.get("/api/v1/me", headers={"Host": "other.example"})).status_code == status


@scene
async def test_every_answer_tells_browsers_to_be_strict(tmp_path: Path) -> None:
    async with server(tmp_path, max_body=1024, login_rate_limit="1/hour") as house, house.caller(house.token) as owner:
        answers = [
            await owner.get("/api/v1/me"),
            await owner.get("/api/v1/no/such/path"),
            await owner.get("/no/such/page"),
            await owner.get("/api/v1/me", headers={"Host": "evil.example"}),
            await owner.post("/api/v1/teams", content=b"x" * 2000),
            await owner.post("/api/v1/teams", content=b"{"),
            await owner.post("/api/v1/login", json={"token": "wrong"}),
            await owner.post("/api/v1/login", json={"token": "wrong"}),
        ]
        assert {200, 401, 404, 413, 421, 429} <= {answer.status_code for answer in answers}
        for answer in answers:
            for name, value in SECURITY_HEADERS:
                assert answer.headers.get_list(name.decode()) == [value.decode()], answer.url
            assert (answer.headers.get("cache-control") == "no-store") == answer.url.path.startswith("/api/")
        policy = answers[0].headers["content-security-policy"]
        allowed = dict(part.split(" ", 1) for part in policy.split("; "))
        assert allowed["default-src"] == allowed["script-src"] == allowed["connect-src"] == "'self'"
        assert allowed["frame-src"] == allowed["object-src"] == allowed["frame-ancestors"] == "'none'"
        assert [name for name, sources in allowed.items() if "unsafe" in sources] == ["style-src"]


@scene
async def test_pages_of_other_sites_are_not_let_in_unless_they_are_named(tmp_path: Path) -> None:
    asking = {"Origin": "https://app.example", "Access-Control-Request-Method": "GET"}
    for origins, allowed in (([], None), (["https://app.example"], "https://app.example")):
        async with server(tmp_path, cors_origins=origins, rate_limit="2/hour") as house, house.caller(house.token) as program:
            before = await program.options("/api/v1/me", headers=asking)
            assert before.headers.get("access-control-allow-origin") == allowed
            # The first counts on the address, for nobody is known yet.
            for status in (200, 200, 200, 429):
                answer = await program.get("/api/v1/me", headers={"Origin": "https://app.example"})
                assert answer.headers.get("access-control-allow-origin") == allowed
                assert "access-control-allow-credentials" not in answer.headers
                assert answer.status_code == status
            other = await program.get("/api/v1/me", headers={"Origin": "https://evil.example"})
            assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "counted"),
    [
        ([], "10.0.0.1", "198.51.100.1", "10.0.0.1"),
        (["10.0.0.0/8"], "192.0.2.1", "198.51.100.1", "192.0.2.1"),
        (["10.0.0.0/8"], "10.0.0.1", "198.51.100.1", "198.51.100.1"),
        (["10.0.0.0/8"], "10.0.0.1", "6.6.6.6, 198.51.100.1, 10.0.0.2", "198.51.100.1"),
        (["10.0.0.0/8"], "10.0.0.1", "198.51.100.1:1234", "198.51.100.1"),
        (["10.0.0.0/8"], "10.0.0.1", "[2001:db8::1]:99", "2001:db8::1"),
        (["10.0.0.0/8"], "10.0.0.1", "198.51.100.1, nonsense", "10.0.0.1"),
        (["10.0.0.0/8"], "10.0.0.1", "", "10.0.0.1"),
    ],
)
@scene
async def test_where_a_request_comes_from_only_own_proxies_may_say(
    tmp_path: Path, proxies: list[str], peer: str, forwarded: str, counted: str
) -> None:
    seen: list[Message] = []

    async def noting(scope: Message, receive: Any, send: Any) -> None:
        seen.append(scope)

    async def nothing(*_: object) -> Message:
        return {"type": "http.request", "body": b""}

    scope = request("/x", "GET", (b"x-forwarded-for", forwarded.encode()), (b"x-forwarded-proto", b"https"))
    limited = wrapped(noting, ServerSettings(trusted_proxies=proxies))
    await limited(scope | {"client": (peer, 1)}, nothing, nothing)
    assert seen[0]["client"][0] == counted
    believed = bool(proxies) and peer.startswith("10.")
    assert seen[0]["scheme"] == ("https" if believed else "http")


@scene
async def test_behind_a_proxy_that_ends_tls_the_cookie_is_secure(tmp_path: Path) -> None:
    for proxies, secure in ((["127.0.0.1"], True), ([], False)):
        async with server(tmp_path, trusted_proxies=proxies) as house, house.caller() as browser:
            told = {"X-Forwarded-Proto": "https", "Origin": ORIGIN.replace("http", "https")}
            answer = await browser.post("/api/v1/login", json={"token": house.token}, headers=told)
            assert ("secure" in answer.headers["set-cookie"].lower()) == secure


@pytest.mark.parametrize(
    "wrong", [{"rate_limit": "many"}, {"login_rate_limit": ""}, {"trusted_proxies": ["proxy.example"]}, {"max_body": 3}]
)
def test_wrong_limits_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"server.{next(iter(wrong))}"):
        load(server=wrong)


def test_the_token_has_a_variable_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZENO_TOKEN", PASSWORD)
    settings = load(server={"port": 1})
    assert settings.server.token.get_secret_value() == PASSWORD
    assert settings.server.port == 1
    assert PASSWORD not in repr(settings)
