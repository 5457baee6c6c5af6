"""Users: who one is oneself, and the accounts of the others for those who may change them."""

from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Depends, Path, Request
from pydantic import Field, SecretStr
from starlette.responses import Response

from zeno.core.errors import Conflict, Forbidden, Invalid, Unauthorized
from zeno.runs.clock import new_id, now
from zeno.server.answers import answer, described, nothing
from zeno.server.audited import audited
from zeno.server.auth import COOKIE, Admin, Gate, Principal, Reader, gate
from zeno.server.bodies import Body
from zeno.server.passwords import LONGEST, checked, hashed
from zeno.server.tokens import csrf_token
from zeno.stores.accounts import Member, Right, Role, User, proper_name

router = APIRouter(prefix="/api/v1", tags=["accounts"])

Guarded = Annotated[Gate, Depends(gate)]

Id = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
"""An id in a path. Only what looks like one gets into the audit: somebody may put a secret there."""


class Me(msgspec.Struct, frozen=True):
    """Who is asking, in which team, and what they may do now.

    `by` is how they proved themselves. `csrf` is what a page sends back as `X-Zeno-CSRF` with whatever changes something.
    """

    id: str
    name: str
    role: Role
    rights: tuple[Right, ...]
    team_id: str
    team: str
    mode: Literal["local", "team"]
    by: Literal["token", "login", "key"]
    csrf: str | None


class Members(msgspec.Struct, frozen=True):
    """Users, each once for each of their teams."""

    users: tuple[Member, ...]


class NewUser(Body):
    """A user to be made; `team_id` left out is one's own team."""

    name: str = Field(max_length=LONGEST)
    password: SecretStr = Field(max_length=LONGEST)
    role: Role = "member"
    team_id: str | None = Field(None, pattern="^[0-9a-f]{32}$")


class NewPassword(Body):
    """Another password for a user."""

    password: SecretStr = Field(max_length=LONGEST)


class OwnPassword(NewPassword):
    """Another password for oneself, proven with the present one."""

    current: SecretStr = Field(max_length=LONGEST)


class Access(Body):
    """Whether a user is kept out."""

    disabled: bool


class NewRole(Body):
    """Another role for a member of a team."""

    role: Role


async def me(gate: Gate, who: Principal, cookie: str | None) -> Me:
    """What is told to whoever is asking about themselves."""
    team = "local" if gate.local else (await gate.app.accounts.team(who.scope.team, who.within)).name
    return Me(
        id=who.scope.user,
        name=who.name,
        role=who.role,
        rights=tuple(sorted(who.rights)),
        team_id=who.scope.team,
        team=team,
        mode="local" if gate.local else "team",
        by=who.by,
        csrf=csrf_token(cookie) if cookie and who.by == "login" else None,
    )


@router.get("/me", **described(Me, "Who is asking"))
async def get_me(request: Request, gate: Guarded, who: Reader) -> Response:
    """Who is asking, what they may do, and the token that a page needs to change something."""
    return answer(await me(gate, who, request.cookies.get(COOKIE)))


@router.put("/me/password", **described(None, "Change one's own password", status=204))
async def put_own_password(body: OwnPassword, gate: Guarded, who: Reader) -> Response:
    """Ends all logins of one's own, this one too."""
    async with audited(gate.app, who, "own_password_set"):
        if who.by != "login" or gate.local:
            raise Forbidden("login_required")
        _, right = await checked(gate.app.accounts, who.name, body.current.get_secret_value())
        if not right:
            raise Unauthorized("login_wrong")
        await gate.app.accounts.set_password(who.scope.user, await hashed(body.password.get_secret_value()), None)
    return nothing()


@router.get("/users", **described(Members, "The users"))
async def get_users(gate: Guarded, who: Admin) -> Response:
    """The members of one's team; for whoever runs the installation everyone."""
    return answer(Members(tuple(await gate.app.accounts.members(who.within))))


@router.post("/users", **described(Member, "The new user", status=201, problems=(404, 409)))
async def post_user(body: NewUser, gate: Guarded, who: Admin) -> Response:
    """Make a user, who is a member of the team."""
    user = User(id=new_id(), name=proper_name(body.name), created_at=now())
    async with audited(gate.app, who, "user_created", user.id):
        team_id = body.team_id or who.within
        if team_id is None:
            raise Invalid("team_needed")
        team = await gate.app.accounts.team(team_id, who.within)
        password = await hashed(body.password.get_secret_value())
        await gate.app.accounts.create_user(user, password, team.id, body.role)
    return answer(Member(user, team, body.role), 201)


@router.put("/users/{user_id}/disabled", **described(None, "It is so", status=204, problems=(404, 409)))
async def put_disabled(user_id: Id, body: Access, gate: Guarded, who: Admin) -> Response:
    """Keep a user out, or let them in again; at once, also where a browser or a program is logged in."""
    async with audited(gate.app, who, "user_disabled" if body.disabled else "user_enabled", user_id):
        refuse_self(who, user_id)
        await gate.app.accounts.disable(user_id, now() if body.disabled else None, who.within)
    return nothing()


@router.put("/users/{user_id}/password", **described(None, "It is set", status=204, problems=(404, 409)))
async def put_password(user_id: Id, body: NewPassword, gate: Guarded, who: Admin) -> Response:
    """Set a user's password, and end the user's logins."""
    async with audited(gate.app, who, "password_set", user_id):
        refuse_self(who, user_id)
        await gate.app.accounts.user(user_id, who.within)
        await gate.app.accounts.set_password(user_id, await hashed(body.password.get_secret_value()), who.within)
    return nothing()


@router.put("/users/{user_id}/role", **described(None, "It is so", status=204, problems=(404, 409)))
async def put_role(user_id: Id, body: NewRole, gate: Guarded, who: Admin) -> Response:
    """Give a member of one's own team another role. Whoever runs the installation names the team by its own route."""
    async with audited(gate.app, who, "role_set", user_id):
        refuse_self(who, user_id)
        if who.within is None:
            raise Invalid("team_needed")
        await gate.app.accounts.set_role(who.within, user_id, body.role)
    return nothing()


def refuse_self(who: Principal, user_id: str) -> None:
    """Raise `Conflict` when they would shut themselves out: so a team keeps the admin who makes the change."""
    if who.scope.user == user_id:
        raise Conflict("own_account")
