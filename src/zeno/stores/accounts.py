"""Accounts: users, teams, and who is a member of which with what role. How a password is checked is not known here.

`within` names the team that a caller's power ends with; `None` is for whoever runs the installation. What lies outside does
not exist for the caller: `NotFound`.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from sqlalchemy import Connection, Row, Select, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from zeno.core.errors import Conflict, Forbidden, Invalid, NotFound
from zeno.stores.database import Database, reading, writing
from zeno.stores.tables import api_keys, logins, members, teams, users

Role = Literal["admin", "member"]
Right = Literal["read", "run", "decide", "admin"]

RIGHTS: Mapping[Role, frozenset[Right]] = {
    "admin": frozenset({"read", "run", "decide", "admin"}),
    "member": frozenset({"read", "run", "decide"}),
}
"""What a role may do at most; a key may do less."""

LONGEST_NAME = 64


class User(msgspec.Struct, frozen=True):
    """One user. Times are milliseconds since 1970-01-01 UTC; `disabled_at` is `None` while they may log in."""

    id: str
    name: str
    created_at: int
    disabled_at: int | None = None


class Team(msgspec.Struct, frozen=True):
    """One team. `created_at` is in milliseconds since 1970-01-01 UTC."""

    id: str
    name: str
    created_at: int


class Member(msgspec.Struct, frozen=True):
    """A user in a team; `team` and `role` are `None` for one who is in no team."""

    user: User
    team: Team | None
    role: Role | None


def proper_name(name: str) -> str:
    """The form in which the name of a user or team is kept: one spelling for what looks the same. Raises `Invalid`."""
    kept = unicodedata.normalize("NFKC", name).casefold().strip()
    well_formed = kept and len(kept) <= LONGEST_NAME and all(letter.isalnum() or letter in "._@+-" for letter in kept)
    # `local` is how an installation without accounts calls its one user.
    if not well_formed or kept == "local":
        raise Invalid("name_invalid", most=LONGEST_NAME)
    return kept


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """All users and teams."""

    database: Database

    @writing
    def create_user(self, connection: Connection, user: User, password: str, team_id: str, role: Role) -> None:
        """Keep a new user, who is a member of the team. `password` is its hash. Raises `Conflict`, `NotFound`."""
        _team(connection, team_id)
        try:
            connection.execute(insert(users).values(msgspec.structs.asdict(user) | {"password": password}))
        except IntegrityError:
            raise Conflict("user_exists", user=user.name) from None
        connection.execute(insert(members).values(team_id=team_id, user_id=user.id, role=role))

    @writing
    def create_team(self, connection: Connection, team: Team) -> None:
        """Keep a new team. Raises `Conflict`."""
        try:
            connection.execute(insert(teams).values(msgspec.structs.asdict(team)))
        except IntegrityError:
            raise Conflict("team_exists", team=team.name) from None

    @reading
    def teams(self, connection: Connection, within: str | None) -> list[Team]:
        """The teams, by name."""
        query = select(teams).order_by(teams.c.name)
        rows = connection.execute(query if within is None else query.where(teams.c.id == within))
        return [Team(row.id, row.name, row.created_at) for row in rows]

    @reading
    def team(self, connection: Connection, team_id: str, within: str | None) -> Team:
        """One team. Raises `NotFound`."""
        if within not in (None, team_id):
            raise NotFound("team_not_found", team=team_id)
        return _team(connection, team_id)

    @reading
    def find_team(self, connection: Connection, name: str) -> Team | None:
        """The team of that name, which is a proper one."""
        row = connection.execute(select(teams).where(teams.c.name == name)).first()
        return Team(row.id, row.name, row.created_at) if row else None

    @reading
    def members(self, connection: Connection, within: str | None) -> list[Member]:
        """Every user in each of their teams, by name; those in no team too for whoever runs the installation."""
        query = _members(within).order_by(users.c.name, teams.c.name)
        return [_member(row) for row in connection.execute(query)]

    @reading
    def user(self, connection: Connection, user_id: str, within: str | None) -> list[Member]:
        """One user in each of their teams. Raises `NotFound`."""
        rows = connection.execute(_members(within).where(users.c.id == user_id)).all()
        if not rows:
            raise NotFound("user_not_found", user=user_id)
        return [_member(row) for row in rows]

    @reading
    def find(self, connection: Connection, name: str) -> User | None:
        """The user of that name, which is a proper one."""
        query = select(users.c.id, users.c.name, users.c.created_at, users.c.disabled_at).where(users.c.name == name)
        row = connection.execute(query).first()
        return User(row.id, row.name, row.created_at, row.disabled_at) if row else None

    @reading
    def password(self, connection: Connection, user_id: str) -> str | None:
        """The hash of a user's password."""
        return connection.scalar(select(users.c.password).where(users.c.id == user_id))

    @writing
    def set_password(self, connection: Connection, user_id: str, password: str, within: str | None) -> None:
        """Give a user another password by its hash, and end their logins. Raises as `disable` does."""
        _own(connection, user_id, within)
        connection.execute(update(users).where(users.c.id == user_id).values(password=password))
        connection.execute(delete(logins).where(logins.c.user_id == user_id))

    @writing
    def refresh_password(self, connection: Connection, user_id: str, known: str, password: str) -> None:
        """Put another hash of the same password in the place of the `known` one."""
        same = update(users).where(users.c.id == user_id, users.c.password == known)
        connection.execute(same.values(password=password))

    @writing
    def disable(self, connection: Connection, user_id: str, at: int | None, within: str | None) -> None:
        """Keep a user out from `at` on and end their logins; `None` lets them in again.

        Raises `NotFound`, or `Forbidden` when the user is in other teams than `within` too.
        """
        _own(connection, user_id, within)
        connection.execute(update(users).where(users.c.id == user_id).values(disabled_at=at))
        connection.execute(delete(logins).where(logins.c.user_id == user_id))

    @writing
    def join(self, connection: Connection, team_id: str, user_id: str, role: Role) -> None:
        """Make a user a member with this role, or give a member this role. Raises `NotFound`."""
        _team(connection, team_id)
        if connection.scalar(select(users.c.id).where(users.c.id == user_id)) is None:
            raise NotFound("user_not_found", user=user_id)
        if not _set_role(connection, team_id, user_id, role):
            connection.execute(insert(members).values(team_id=team_id, user_id=user_id, role=role))

    @writing
    def set_role(self, connection: Connection, team_id: str, user_id: str, role: Role) -> None:
        """Give a member another role. Raises `NotFound`."""
        if not _set_role(connection, team_id, user_id, role):
            raise NotFound("user_not_found", user=user_id)

    @writing
    def leave(self, connection: Connection, team_id: str, user_id: str, at: int) -> None:
        """Take a user out of a team; their logins there end and their keys are revoked at `at`. Raises `NotFound`."""
        gone = delete(members).where(members.c.team_id == team_id, members.c.user_id == user_id)
        if connection.execute(gone).rowcount == 0:
            raise NotFound("user_not_found", user=user_id)
        connection.execute(delete(logins).where(logins.c.team_id == team_id, logins.c.user_id == user_id))
        keys = update(api_keys).where(api_keys.c.team_id == team_id, api_keys.c.user_id == user_id)
        connection.execute(keys.where(api_keys.c.revoked_at.is_(None)).values(revoked_at=at))


def _team(connection: Connection, team_id: str) -> Team:
    row = connection.execute(select(teams).where(teams.c.id == team_id)).first()
    if row is None:
        raise NotFound("team_not_found", team=team_id)
    return Team(row.id, row.name, row.created_at)


def _own(connection: Connection, user_id: str, within: str | None) -> None:
    """Make sure that a change of this user stays `within` the caller's power."""
    if within is None:
        if connection.scalar(select(users.c.id).where(users.c.id == user_id)) is None:
            raise NotFound("user_not_found", user=user_id)
        return
    in_teams = set(connection.scalars(select(members.c.team_id).where(members.c.user_id == user_id)))
    if within not in in_teams:
        raise NotFound("user_not_found", user=user_id)
    # Whoever sets the password of a user becomes that user, in every team.
    if len(in_teams) > 1:
        raise Forbidden("user_elsewhere", user=user_id)


def _set_role(connection: Connection, team_id: str, user_id: str, role: Role) -> bool:
    member = update(members).where(members.c.team_id == team_id, members.c.user_id == user_id)
    return connection.execute(member.values(role=role)).rowcount == 1


def _members(within: str | None) -> Select[Any]:
    team = (teams.c.id.label("team_id"), teams.c.name.label("team_name"), teams.c.created_at.label("team_created_at"))
    query = select(users.c.id, users.c.name, users.c.created_at, users.c.disabled_at, members.c.role, *team)
    query = query.select_from(
        users.outerjoin(members, members.c.user_id == users.c.id).outerjoin(teams, teams.c.id == members.c.team_id)
    )
    return query if within is None else query.where(members.c.team_id == within)


def _member(row: Row[Any]) -> Member:
    team = None if row.team_id is None else Team(row.team_id, row.team_name, row.team_created_at)
    return Member(User(row.id, row.name, row.created_at, row.disabled_at), team, row.role)
