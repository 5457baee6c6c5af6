"""`zeno users` and `zeno keys`: accounts from the shell of whoever runs the installation."""

import json
import os
import pty
import select
import subprocess
from typing import Any

import pytest

from tests.door import ZENO, Door
from tests.scene import scene
from tests.server_door import code, server

pytestmark = pytest.mark.slow

PASSWORD = "correct horse battery"


def users(door: Door) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(door.zeno("users", "list", "--json").out)
    return listed


def test_the_first_user_gets_a_team_and_the_next_one_joins_it(door: Door) -> None:
    added = door.zeno("users", "add", "Ada", "--admin", stdin=f"{PASSWORD}\n")
    assert (added.code, added.out) == (0, "")
    assert "ada" in added.err
    assert PASSWORD not in added.err
    assert door.zeno("users", "add", "bob", stdin=PASSWORD).code == 0
    assert door.zeno("users", "add", "eve", "--team", "law", stdin=PASSWORD).code == 0
    known = [(member["user"]["name"], member["team"]["name"], member["role"]) for member in users(door)]
    assert known == [("ada", "main", "admin"), ("bob", "main", "member"), ("eve", "law", "member")]
    unsaid = door.zeno("users", "add", "joe", stdin=PASSWORD)
    assert (unsaid.code, "team_ambiguous" in unsaid.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "stdin", "error"),
    [
        (["users", "add", "ada"], PASSWORD, "user_exists"),
        (["users", "add", "bob"], "short", "password_length"),
        (["users", "add", "bob"], "", "password_length"),
        (["users", "add", "local"], PASSWORD, "name_invalid"),
        (["users", "disable", "bob"], "", "user_not_found"),
        (["users", "password", "bob"], PASSWORD, "user_not_found"),
        (["keys", "add", "ci", "--user", "bob"], "", "user_not_found"),
        (["keys", "add", "ci", "--user", "ada", "--team", "law"], "", "team_not_found"),
        (["keys", "add", "ci", "--user", "ada", "--rights", "read,fly"], "", "right_unknown"),
        (["keys", "add", "ci", "--user", "ada", "--rights", "admin"], "", "right_beyond_role"),
        (["keys", "add", "ci", "--user", "ada", "--rights", ","], "", "right_unknown"),
        (["keys", "revoke", "abc"], "", "key_not_found"),
    ],
)
def test_what_cannot_be_done_is_said(door: Door, arguments: list[str], stdin: str, error: str) -> None:
    assert door.zeno("users", "add", "ada", stdin=PASSWORD).code == 0
    outcome = door.zeno(*arguments, stdin=stdin)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"[{error}]" in outcome.err


@pytest.mark.parametrize(("again", "error"), [("another one", "passwords_differ"), (PASSWORD, "")])
def test_a_password_is_typed_twice_at_a_terminal_and_not_shown(door: Door, again: str, error: str) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [ZENO, "users", "add", "ada"],
        cwd=door.here,
        env=door.environment(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        shown = _until(ours, b"type):")
        os.write(ours, f"{PASSWORD}\n".encode())
        shown += _until(ours, b"again:")
        os.write(ours, f"{again}\n".encode())
        shown += _until(ours, b"")
        assert process.wait(30) == (2 if error else 0)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert error in shown
    assert PASSWORD not in shown
    assert again not in shown


def _until(terminal: int, words: bytes) -> str:
    """What the terminal shows until these words; until its other end is closed when there are none."""
    shown = b""
    while not words or words not in shown:
        assert select.select([terminal], [], [], 30)[0], shown
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            piece = b""
        if not piece:
            assert not words, shown
            break
        shown += piece
    return shown.decode()


def test_a_user_is_disabled_and_let_in_again(door: Door) -> None:
    door.zeno("users", "add", "ada", stdin=PASSWORD)
    for command, disabled in (("disable", True), ("enable", False)):
        assert door.zeno("users", command, "ADA").code == 0
        assert (users(door)[0]["user"]["disabled_at"] is not None) == disabled
    shown = door.zeno("users", "list", lang="zh-CN").out
    assert "ada" in shown
    assert "main" in shown


@scene
async def _opens(door: Door, secret: str, expected: tuple[int, str], auth: str = "team") -> None:
    async with server(door.home, auth=auth) as house, house.caller(secret) as program:
        assert await code(program.get("/api/v1/me")) == expected


def test_a_key_is_printed_once_works_and_is_revoked(door: Door) -> None:
    door.zeno("users", "add", "ada", stdin=PASSWORD)
    added = door.zeno("keys", "add", "ci", "--user", "ada", "--rights", "read", "--days", "7")
    secret = added.out.strip()
    assert secret.startswith("zeno_")
    assert secret not in added.err
    _opens(door, secret, (200, ""))
    (key,) = json.loads(door.zeno("keys", "list", "--json").out)
    assert (key["name"], key["rights"], key["expires_at"] - key["created_at"]) == ("ci", ["read"], 7 * 86_400_000)
    assert key["used_at"] is not None
    shown = door.zeno("keys", "list").out
    assert key["id"][:12] in shown
    assert secret not in shown + json.dumps(key)
    assert door.zeno("keys", "revoke", key["id"][:12]).code == 0
    _opens(door, secret, (401, "credential_invalid"))


def test_the_one_user_of_an_installation_without_accounts_has_keys_too(door: Door) -> None:
    secret = door.zeno("keys", "add", "ci", "--user", "local", "--rights", "read,decide").out.strip()
    _opens(door, secret, (200, ""), auth="local")
    _opens(door, secret, (401, "credential_invalid"), auth="team")


def test_another_password_can_be_set(door: Door) -> None:
    door.zeno("users", "add", "ada", stdin=PASSWORD)
    assert door.zeno("users", "password", "ada", stdin="another good one\n").code == 0
    _logs_in(door, "another good one")


@scene
async def _logs_in(door: Door, password: str) -> None:
    async with server(door.home, auth="team") as house, house.browser(name="ada", password=password) as browser:
        assert (await browser.get("/api/v1/me")).status_code == 200
