"""`zeno users` and `zeno keys`: the accounts of an installation, as whoever runs it sees them.

A password is typed, or comes on standard input; never as an argument, which other users of the machine could read.
"""

import asyncio
import getpass
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zeno.app import App
from zeno.cli.edge import enter, notice
from zeno.core.errors import Conflict, Forbidden, Invalid, NotFound
from zeno.core.scope import LOCAL, Scope
from zeno.i18n import text
from zeno.runs.clock import new_id, now
from zeno.server.passwords import hashed
from zeno.server.tokens import digest, new_key
from zeno.stores.accounts import RIGHTS, Member, Right, Role, Team, User, proper_name
from zeno.stores.credentials import DAY, Key

FIRST_TEAM = "main"
"""The team of the first user, when nobody names one."""


def add_user(requested: str | None, name: str, *, admin: bool = False, team: str | None = None) -> int:
    """Make a user in a team, which is made too when there is none of that name."""

    async def work(app: App, language: str) -> int:
        user = User(id=new_id(), name=proper_name(name), created_at=now())
        if await app.accounts.find(user.name):
            raise Conflict("user_exists", user=user.name)
        password = await hashed(await _new_password(language))
        joined = await _team(app, team)
        await app.accounts.create_user(user, password, joined.id, "admin" if admin else "member")
        await _noted(app, "user_created", user.id)
        notice(language, "notice.user_added", user=user.name, team=joined.name)
        return 0

    return enter(requested, work)


def list_users(requested: str | None, *, as_json: bool = False) -> int:
    """List the users, each once for each of their teams."""

    async def work(app: App, language: str) -> int:
        members = await app.accounts.members(None)
        if as_json:
            sys.stdout.write(msgspec.json.encode(members).decode() + "\n")
            return 0
        table = _table(language, "user", "team", "role", "created", "state")
        for member in members:
            own = member.user
            state = text(language, f"cli.account.{'active' if own.disabled_at is None else 'disabled'}")
            team = member.team.name if member.team else ""
            table.add_row(Text(own.name), Text(team), member.role or "", _day(own.created_at), state)
        Console().print(table)
        return 0

    return enter(requested, work)


def disable_user(requested: str | None, name: str, *, enable: bool = False) -> int:
    """Keep a user out from now on, or let them in again."""

    async def work(app: App, language: str) -> int:
        user = await _user(app, name)
        await app.accounts.disable(user.id, None if enable else now(), None)
        await _noted(app, "user_enabled" if enable else "user_disabled", user.id)
        notice(language, "notice.user_enabled" if enable else "notice.user_disabled", user=user.name)
        return 0

    return enter(requested, work)


def set_password(requested: str | None, name: str) -> int:
    """Give a user another password and end their logins."""

    async def work(app: App, language: str) -> int:
        user = await _user(app, name)
        await app.accounts.set_password(user.id, await hashed(await _new_password(language)), None)
        await _noted(app, "password_set", user.id)
        notice(language, "notice.password_set", user=user.name)
        return 0

    return enter(requested, work)


def add_key(
    requested: str | None, name: str, user: str, *, rights: str = "read,run", days: int | None = None, team: str | None = None
) -> int:
    """Make a key for a user, `local` being the one of an installation without accounts, and print it once.

    `rights` are names, separated by commas.
    """

    async def work(app: App, language: str) -> int:
        scope, role = await _owner(app, user, team)
        at = now()
        expires_at = at + days * DAY if days else None
        key = Key(id=new_id(), scope=scope, name=name[:64], rights=_rights(rights, role), created_at=at, expires_at=expires_at)
        secret = new_key()
        await app.credentials.add_key(key, digest(secret))
        await _noted(app, "key_created", key.id)
        notice(language, "notice.key_added", id=key.id)
        sys.stdout.write(secret + "\n")
        return 0

    return enter(requested, work)


def list_keys(requested: str | None, *, as_json: bool = False) -> int:
    """List the keys of all users, revoked and expired ones too."""

    async def work(app: App, language: str) -> int:
        keys = await app.credentials.keys(None)
        if as_json:
            sys.stdout.write(msgspec.json.encode(keys).decode() + "\n")
            return 0
        names = {member.user.id: member.user.name for member in await app.accounts.members(None)}
        table = _table(language, "key", "name", "user", "rights", "created", "expires", "used", "state")
        for key in keys:
            state = text(language, f"cli.account.{_state(key)}")
            owner = names.get(key.scope.user, key.scope.user)
            times = (_day(at) for at in (key.created_at, key.expires_at, key.used_at))
            table.add_row(key.id[:12], Text(key.name), Text(owner), " ".join(key.rights), *times, state)
        Console().print(table)
        return 0

    return enter(requested, work)


def revoke_key(requested: str | None, prefix: str) -> int:
    """Make the key useless whose id begins so."""

    async def work(app: App, language: str) -> int:
        fitting = [key.id for key in await app.credentials.keys(None) if prefix and key.id.startswith(prefix)]
        if not fitting:
            raise NotFound("key_not_found", key=prefix)
        if len(fitting) > 1:
            raise Invalid("key_ambiguous", key=prefix)
        await app.credentials.revoke(None, fitting[0], now())
        await _noted(app, "key_revoked", fitting[0])
        notice(language, "notice.key_revoked", id=fitting[0])
        return 0

    return enter(requested, work)


async def _new_password(language: str) -> str:
    if not sys.stdin.isatty():
        piped: str = await asyncio.to_thread(sys.stdin.readline)
        return piped.rstrip("\r\n")
    first = getpass.getpass(text(language, "cli.notice.password") + " ")
    if getpass.getpass(text(language, "cli.notice.password_again") + " ") != first:
        raise Invalid("passwords_differ")
    return first


async def _team(app: App, name: str | None) -> Team:
    """The team of that name, made when there is none; without a name the only one there is."""
    known = await app.accounts.teams(None)
    if name is None and len(known) > 1:
        raise Invalid("team_ambiguous", teams=", ".join(team.name for team in known))
    if name is None and known:
        return known[0]
    wanted = proper_name(name or FIRST_TEAM)
    if found := await app.accounts.find_team(wanted):
        return found
    team = Team(id=new_id(), name=wanted, created_at=now())
    await app.accounts.create_team(team)
    await _noted(app, "team_created", team.id)
    return team


async def _user(app: App, name: str) -> User:
    user = await app.accounts.find(proper_name(name))
    if user is None:
        raise NotFound("user_not_found", user=name)
    return user


async def _owner(app: App, name: str, team: str | None) -> tuple[Scope, Role]:
    if name == LOCAL.user:
        return LOCAL, "admin"
    user = await _user(app, name)
    wanted = proper_name(team) if team else None
    fitting: list[Member] = [
        member for member in await app.accounts.user(user.id, None) if member.team and wanted in (None, member.team.name)
    ]
    if not fitting:
        raise NotFound("team_not_found", team=team or "-")
    if len(fitting) > 1:
        raise Invalid("team_ambiguous", teams=", ".join(member.team.name for member in fitting if member.team))
    member = fitting[0]
    return Scope(member.team.id if member.team else "", user.id), member.role or "member"


def _rights(named: str, role: Role) -> tuple[Right, ...]:
    wanted = sorted({right.strip() for right in named.split(",") if right.strip()})
    for right in wanted or [""]:
        if right not in RIGHTS["admin"]:
            raise Invalid("right_unknown", right=right, known=", ".join(sorted(RIGHTS["admin"])))
        if right not in RIGHTS[role]:
            raise Forbidden("right_beyond_role", right=right, role=role)
    return tuple(cast(Sequence[Right], wanted))


def _state(key: Key) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= now() else "active"


async def _noted(app: App, action: str, target: str) -> None:
    await app.audit.write(LOCAL, action, target, at=now(), result="done")


def _table(language: str, *columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(text(language, f"cli.column.{column}"), overflow="fold")
    return table


def _day(at: int | None) -> str:
    return "–" if at is None else datetime.fromtimestamp(at / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
