"""Teams and their members. Only whoever runs the installation makes teams and puts users into several of them."""

import msgspec
from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from zeno.core.errors import Forbidden
from zeno.runs.clock import new_id, now
from zeno.server.answers import answer, described, nothing
from zeno.server.audited import audited
from zeno.server.auth import Admin
from zeno.server.bodies import Body
from zeno.server.passwords import LONGEST
from zeno.server.routes.accounts import Guarded, Id, NewRole, refuse_self
from zeno.stores.accounts import Team, proper_name

router = APIRouter(prefix="/api/v1", tags=["accounts"])


class Teams(msgspec.Struct, frozen=True):
    """Teams, by name."""

    teams: tuple[Team, ...]


class NewTeam(Body):
    """A team to be made."""

    name: str = Field(max_length=LONGEST)


@router.get("/teams", **described(Teams, "The teams"))
async def get_teams(gate: Guarded, who: Admin) -> Response:
    """One's own; for whoever runs the installation all."""
    return answer(Teams(tuple(await gate.app.accounts.teams(who.within))))


@router.post("/teams", **described(Team, "The new team", status=201, problems=(409,)))
async def post_team(body: NewTeam, gate: Guarded, who: Admin) -> Response:
    """Make a team without members."""
    team = Team(id=new_id(), name=proper_name(body.name), created_at=now())
    async with audited(gate.app, who, "team_created", team.id):
        if who.within is not None:
            raise Forbidden("operator_only")
        await gate.app.accounts.create_team(team)
    return answer(team, 201)


@router.put("/teams/{team_id}/members/{user_id}", **described(None, "It is so", status=204, problems=(404, 409)))
async def put_member(team_id: Id, user_id: Id, body: NewRole, gate: Guarded, who: Admin) -> Response:
    """Put a user into a team with this role, or give a member this role. Admins of a team change its members only."""
    async with audited(gate.app, who, "member_set", f"{team_id}/{user_id}"):
        refuse_self(who, user_id)
        await gate.app.accounts.team(team_id, who.within)
        if who.within is None:
            await gate.app.accounts.join(team_id, user_id, body.role)
        else:
            await gate.app.accounts.set_role(team_id, user_id, body.role)
    return nothing()


@router.delete("/teams/{team_id}/members/{user_id}", **described(None, "They are out", status=204, problems=(404, 409)))
async def delete_member(team_id: Id, user_id: Id, gate: Guarded, who: Admin) -> Response:
    """Take a user out of a team, at once; the keys that the user had there are revoked."""
    async with audited(gate.app, who, "member_removed", f"{team_id}/{user_id}"):
        refuse_self(who, user_id)
        await gate.app.accounts.team(team_id, who.within)
        await gate.app.accounts.leave(team_id, user_id, now())
    return nothing()
