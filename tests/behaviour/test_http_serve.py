"""`zeno serve` as its users know it: a process that says where it is, keeps everything, and stops when it is told to."""

import re
import signal
import socket
from pathlib import Path

import httpx2
import pytest

from tests.door import Door, call, calls
from tests.http import Server, serving

pytestmark = pytest.mark.slow

SLOW = '''
@tool()
def dawdle(word: str) -> str:
    """Wait for the bell. Use in tests.

    Args:
        word: a word
    """
    open(BELL, "w").write("at it")
    return open(BELL).read() + word
'''


@pytest.fixture
def bell(door: Door, tmp_path: Path) -> Path:
    """Where a tool says that it is at work and hears when to go on."""
    import os

    os.mkfifo(tmp_path / "bell")
    door.with_tools(f"BELL = {str(tmp_path / 'bell')!r}\n{SLOW}")
    return tmp_path / "bell"


def test_it_says_where_it_is_and_a_browser_is_logged_in_with_that(door: Door) -> None:
    with serving(door) as server:
        assert server.origin.startswith("http://127.0.0.1:")
        run = server.run("what is 6*7?")
        assert [event["type"] for event in server.events(run)][-1] == "run_ended"
        browser = httpx2.Client(base_url=server.origin, trust_env=False)
        with browser:
            login = browser.post("/api/v1/login", json={"token": server.token})
            assert login.status_code == 200
            assert browser.get(f"/api/v1/runs/{run}").json()["ending"] == "answered"
            page = browser.get("/")
            assert page.headers["content-type"] == "text/html; charset=utf-8"
            assert not re.search(r"<script(?![^>]*\bsrc=)", page.text), "no script of the page is inline"
        assert server.stop() == 0
        assert server.token not in server.log.read_text()
        requests = [line for line in server.lines if line["event"] == "request"]
        assert {"method", "route", "status", "milliseconds", "request_id", "level", "timestamp"} <= set(requests[0])
        assert {line["trace_id"] for line in requests if line["route"] == "/api/v1/runs/{run_id}/events"} == {run}


@pytest.mark.slow
def test_everything_is_there_again_after_a_restart(door: Door) -> None:
    with serving(door) as server:
        token, run = server.token, server.run("what is 6*7?")
        told = server.events(run)
        client = server.client()
        session = client.get(f"/runs/{run}").json()["session_id"]
        client.put(f"/sessions/{session}/files/销售.csv", content="一,二".encode())
        rule = client.post("/rules", json={"verdict": "deny", "tool": "dns_lookup"}).json()
        seen = {path: client.get(path).json() for path in ("/sessions", "/runs", f"/runs/{run}", "/rules", "/audit")}
        for end in (server.stop, server.kill):
            end()
            server.start()
            assert server.token == token
            client = server.client()
            assert {path: client.get(path).json() for path in seen} == seen
            assert server.events(run) == told
            assert client.get(f"/sessions/{session}/files/销售.csv").content.decode() == "一,二"
            # That, too, is in the audit.
            seen["/audit"] = client.get("/audit").json()
        assert seen["/rules"]["rules"] == [rule]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_it_lets_streams_end_and_the_next_one_finishes_the_runs(
    door: Door, bell: Path, number: signal.Signals
) -> None:
    door.env["ZENO_MODEL"] = door.script(calls(call("dawdle", word="!")), {"text": "Finished.", "expect": ["go on!"]})
    with serving(door) as server:
        run = server.run("go")
        told = server.follow(run)
        assert next(event["type"] for event in told) == "run_started"
        assert bell.read_text() == "at it"
        # The tool is at work; it may finish, and what it says is kept.
        assert server.process
        server.process.send_signal(number)
        bell.write_text("go on")
        rest = [event["type"] for event in told]
        assert "run_ended" not in rest
        assert server.finished() == 0
        server.start()
        events = server.events(run)
        assert events[-1]["ending"] == "answered"
        assert [event["type"] for event in events].count("tool_finished") == 1


def test_told_twice_it_ends_at_once(door: Door, bell: Path) -> None:
    door.env["ZENO_MODEL"] = door.script(calls(call("dawdle", word="!")), {"text": "Finished.", "expect": ["again!"]})
    with serving(door) as server:
        run = server.run("go")
        assert bell.read_text() == "at it"
        server.wait_for(run, "tool_started")
        assert server.process
        told = server.follow(run)
        next(told)
        server.process.send_signal(signal.SIGTERM)
        # Its streams end when it has heard of the first one.
        list(told)
        assert server.stop() == 128 + signal.SIGTERM
        server.start()
        assert bell.read_text() == "at it"
        bell.write_text("again")
        assert server.events(run)[-1]["ending"] == "answered"


def test_a_killed_server_finishes_its_runs_when_it_is_back(door: Door, bell: Path) -> None:
    door.env["ZENO_MODEL"] = door.script(calls(call("dawdle", word="!")), {"text": "Finished.", "expect": ["once more!"]})
    with serving(door) as server:
        run = server.run("go")
        assert bell.read_text() == "at it"
        server.kill()
        server.start()
        assert bell.read_text() == "at it"
        bell.write_text("once more")
        assert server.events(run)[-1]["ending"] == "answered"


def test_requests_that_wait_do_not_keep_it_from_ending(door: Door, bell: Path) -> None:
    import threading

    door.env["ZENO_MODEL"] = door.script(calls(call("dawdle", word="!")))
    with serving(door) as server:
        answers: list[httpx2.Response] = []
        client = server.client()
        waiting = threading.Thread(target=lambda: answers.append(client.post("/runs?wait=600", json={"text": "go"})))
        waiting.start()
        assert bell.read_text() == "at it"
        assert server.process
        server.process.send_signal(signal.SIGTERM)
        waiting.join(30)
        assert answers[0].status_code == 202
        bell.write_text("go on")
        assert server.finished() == 0


def test_an_address_that_is_taken_is_a_clear_error(door: Door) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        used = door.shell("serve", "--port", str(port))
        assert (used.code, used.out) == (3, "")
        assert "[address_unavailable]" in used.err
        assert str(port) in used.err


@pytest.mark.parametrize(
    ("host", "token", "code"), [("no such host", "a token of my own", "host_unknown"), ("0.0.0.0", "", "token_required")]
)
def test_a_host_that_will_not_do_is_a_clear_error(door: Door, host: str, token: str, code: str) -> None:
    door.env["ZENO_TOKEN"] = token
    refused = door.shell("serve", "--host", host, "--port", "0")
    assert (refused.code, refused.out) == (3, "")
    assert f"[{code}]" in refused.err


def test_the_settings_say_where_it_listens(door: Door) -> None:
    door.env |= {"ZENO_SERVER__PORT": "0", "ZENO_SERVER__HOST": "127.0.0.1", "ZENO_TOKEN": "a-token-of-my-own/+&"}
    with serving(door, "--host", "localhost") as server:
        assert "token=a-token-of-my-own%2F%2B%26" in server.printed
        server.token = "a-token-of-my-own/+&"
        assert server.origin.startswith("http://localhost:")
        assert server.client().get("/me").json()["mode"] == "local"


def test_with_accounts_nothing_secret_is_printed(door: Door) -> None:
    door.env["ZENO_SERVER__AUTH"] = "team"
    with serving(door) as server:
        assert server.token == ""
        assert "token" not in server.printed
        assert httpx2.get(f"{server.origin}/api/v1/version", trust_env=False).json()["mode"] == "team"
        assert httpx2.get(f"{server.origin}/api/v1/runs", trust_env=False).status_code == 401


def test_what_is_no_http_does_not_hurt(door: Door) -> None:
    with serving(door) as server:
        host, _, port = server.origin.removeprefix("http://").partition(":")
        for noise in (
            b"\x16\x03\x01\x02\x00",
            b"GET / HTTP/9.9\r\n\r\n",
            b"POST /api/v1/runs HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        ):
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                connection.sendall(noise)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1000):
                    pass
        assert server.client().get("/me").status_code == 200
        assert _all_lines_are_json(server)
        assert server.stop() == 0


def _all_lines_are_json(server: Server) -> bool:
    return all(isinstance(line, dict) for line in server.lines)
