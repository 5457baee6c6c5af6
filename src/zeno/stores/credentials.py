"""Credentials: what browsers and programs prove themselves with. Only hashes are kept; the secrets are not known here.

Whoever holds one is looked up with the account at every request, so a disabled user or a removed member is out at once.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, Table, and_, delete, insert, or_, select, update

from zeno.core.errors import NotFound
from zeno.core.scope import LOCAL, Scope
from zeno.stores.accounts import RIGHTS, Right, Role
from zeno.stores.database import Database, reading, writing
from zeno.stores.tables import api_keys, logins, members, users

MINUTE, DAY = 60_000, 86_400_000
"""Milliseconds. That a key was used is written at most once a minute."""


class Key(msgspec.Struct, frozen=True):
    """A program's key, without the secret. Times are milliseconds since 1970-01-01 UTC."""

    id: str
    scope: Scope
    name: str
    rights: tuple[Right, ...]
    created_at: int
    expires_at: int | None = None
    used_at: int | None = None
    revoked_at: int | None = None


class Holder(msgspec.Struct, frozen=True):
    """Whoever a credential belongs to, and what it lets them do now; `key_id` is empty for a browser's login."""

    scope: Scope
    name: str
    role: Role
    rights: frozenset[Right]
    key_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """The logins and keys of all users. `digest` is always the hash of a secret."""

    database: Database

    @writing
    def add_login(self, connection: Connection, scope: Scope, digest: str, *, at: int, expires_at: int) -> None:
        """Keep a browser's login until `expires_at`, and forget those that have expired."""
        values = {"hash": digest, "team_id": scope.team, "user_id": scope.user, "created_at": at, "expires_at": expires_at}
        connection.execute(delete(logins).where(logins.c.expires_at <= at))
        connection.execute(insert(logins).values(values))

    @reading
    def login(self, connection: Connection, digest: str, now: int) -> Holder | None:
        """Whose browser this is."""
        query = _with_account(logins, logins.c.hash).where(logins.c.hash == digest, logins.c.expires_at > now)
        row = connection.execute(query).first()
        return _holder(row) if row else None

    @writing
    def end_login(self, connection: Connection, digest: str) -> None:
        """Log a browser out."""
        connection.execute(delete(logins).where(logins.c.hash == digest))

    @writing
    def add_key(self, connection: Connection, key: Key, digest: str) -> None:
        """Keep a new key."""
        values = {
            "id": key.id,
            "team_id": key.scope.team,
            "user_id": key.scope.user,
            "name": key.name,
            "hash": digest,
            "rights": " ".join(key.rights),
            "created_at": key.created_at,
            "expires_at": key.expires_at,
        }
        connection.execute(insert(api_keys).values(values))

    async def key(self, digest: str, now: int) -> Holder | None:
        """Whose key this is; its use is noted. A key never allows more than its owner may do now."""
        found = await self._key(digest, now)
        if found is not None and (found[1] is None or found[1] <= now - MINUTE):
            await self._note_use(found[0].key_id, now)
        return found[0] if found else None

    @reading
    def _key(self, connection: Connection, digest: str, now: int) -> tuple[Holder, int | None] | None:
        more = (api_keys.c.id, api_keys.c.rights, api_keys.c.used_at)
        query = _with_account(api_keys, *more).where(
            api_keys.c.hash == digest,
            api_keys.c.revoked_at.is_(None),
            or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now),
        )
        row = connection.execute(query).first()
        holder = _holder(row) if row else None
        if row is None or holder is None:
            return None
        granted = {right for right in holder.rights if right in row.rights.split()}
        return msgspec.structs.replace(holder, rights=frozenset(granted), key_id=row.id), row.used_at

    @writing
    def _note_use(self, connection: Connection, key_id: str, now: int) -> None:
        connection.execute(update(api_keys).where(api_keys.c.id == key_id).values(used_at=now))

    @reading
    def keys(self, connection: Connection, scope: Scope | None) -> list[Key]:
        """The keys of one user, of everyone for `None`, newest first; revoked and expired ones too."""
        query = select(api_keys).order_by(api_keys.c.created_at.desc(), api_keys.c.id)
        if scope is not None:
            query = query.where(api_keys.c.team_id == scope.team, api_keys.c.user_id == scope.user)
        return [_key(row) for row in connection.execute(query)]

    @writing
    def revoke(self, connection: Connection, scope: Scope | None, key_id: str, at: int) -> None:
        """Make a key of the user's, of anyone's for `None`, useless. Raises `NotFound`."""
        query = select(api_keys.c.revoked_at).where(api_keys.c.id == key_id)
        if scope is not None:
            query = query.where(api_keys.c.team_id == scope.team, api_keys.c.user_id == scope.user)
        row = connection.execute(query).first()
        if row is None:
            raise NotFound("key_not_found", key=key_id)
        if row.revoked_at is None:
            connection.execute(update(api_keys).where(api_keys.c.id == key_id).values(revoked_at=at))


def _with_account(table: Table, *columns: Any) -> Any:
    member = and_(members.c.team_id == table.c.team_id, members.c.user_id == table.c.user_id)
    account = table.outerjoin(users, users.c.id == table.c.user_id).outerjoin(members, member)
    own = (table.c.team_id, table.c.user_id, users.c.name, users.c.disabled_at, members.c.role)
    return select(*own, *columns).select_from(account)


def _holder(row: Row[Any]) -> Holder | None:
    scope = Scope(row.team_id, row.user_id)
    if scope == LOCAL:
        return Holder(LOCAL, LOCAL.user, "admin", RIGHTS["admin"])
    if row.name is None or row.disabled_at is not None or row.role is None:
        return None
    role: Role = row.role
    return Holder(scope, row.name, role, RIGHTS[role])


def _key(row: Row[Any]) -> Key:
    times = (row.created_at, row.expires_at, row.used_at, row.revoked_at)
    return Key(row.id, Scope(row.team_id, row.user_id), row.name, tuple(row.rights.split()), *times)
