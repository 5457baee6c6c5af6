"""Logging in and out with a browser: a token or a password becomes a cookie that no page can read."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import Field, SecretStr
from starlette.responses import Response

from zeno.core.errors import Forbidden, Invalid, RequestError, Unauthorized
from zeno.core.scope import LOCAL, Scope
from zeno.runs.clock import now
from zeno.server.answers import answer, described, nothing
from zeno.server.auth import COOKIE, Gate, Principal, principal, refuse_other_sites
from zeno.server.bodies import Body
from zeno.server.passwords import LONGEST, checked
from zeno.server.routes.accounts import Guarded, Me, me
from zeno.server.tokens import new_secret, same
from zeno.stores.accounts import Member, User, proper_name

LOGIN_DAYS = 14

router = APIRouter(prefix="/api/v1", tags=["accounts"])


class Proof(Body):
    """What one logs in with: the token of an installation with one user, else name and password, and a team if in several."""

    token: SecretStr | None = Field(None, max_length=LONGEST)
    name: str | None = Field(None, max_length=LONGEST)
    password: SecretStr | None = Field(None, max_length=LONGEST)
    team: str | None = Field(None, max_length=LONGEST)


@router.post("/login", **described(Me, "Who is logged in now", problems=(401, 403, 422, 429), public=True))
async def log_in(proof: Proof, request: Request, gate: Guarded) -> Response:
    """Log in with a browser: sets the cookie, and answers what `/me` will."""
    refuse_other_sites(request)
    scope = await _by_token(gate, proof) if gate.local else await _by_password(gate, proof)
    at, cookie, lasting = now(), new_secret(), LOGIN_DAYS * 86_400
    await gate.app.credentials.add_login(scope, gate.login_digest(cookie), at=at, expires_at=at + lasting * 1000)
    await gate.app.audit.write(scope, "login", at=at, result="done")
    who = await gate.browser(cookie)
    if who is None:
        raise Unauthorized("login_wrong")
    response = answer(await me(gate, who, cookie))
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, cookie, max_age=lasting, path="/", secure=secure, httponly=True, samesite="strict")
    return response


@router.post("/logout", **described(None, "The browser is logged out", status=204))
async def log_out(request: Request, gate: Guarded, who: Annotated[Principal, Depends(principal)]) -> Response:
    """End the login that the request came with; without one there is nothing to end."""
    if who.by == "login":
        await gate.app.credentials.end_login(gate.login_digest(request.cookies[COOKIE]))
        await gate.app.audit.write(who.scope, "logout", at=now(), result="done")
    response = nothing()
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


async def _by_token(gate: Gate, proof: Proof) -> Scope:
    if proof.token is None:
        raise Invalid("login_needs_token")
    if not same(proof.token.get_secret_value(), gate.token):
        await _note_failure(gate, LOCAL, Unauthorized("login_wrong"))
        raise Unauthorized("login_wrong")
    return LOCAL


async def _by_password(gate: Gate, proof: Proof) -> Scope:
    if proof.name is None or proof.password is None:
        raise Invalid("login_needs_password")
    user, right = await checked(gate.app.accounts, proof.name, proof.password.get_secret_value())
    teams = [member for member in await gate.app.accounts.user(user.id, None) if member.team] if user else []
    try:
        if user is None or not right:
            raise Unauthorized("login_wrong")
        return Scope(_chosen(teams, proof.team), user.id)
    except RequestError as refused:
        await _note_failure(gate, _scope(user, teams), refused)
        raise


def _chosen(members: list[Member], name: str | None) -> str:
    """The id of the team to log into."""
    wanted = proper_name(name) if name else None
    fitting = [member.team for member in members if member.team and wanted in (None, member.team.name)]
    if not members:
        raise Forbidden("team_missing")
    if not fitting:
        raise Unauthorized("login_wrong")
    if len(fitting) > 1:
        raise Invalid("team_ambiguous", teams=", ".join(team.name for team in fitting))
    return fitting[0].id


def _scope(user: User | None, members: list[Member]) -> Scope:
    """Where a failure is noted: with the user whose name was given and with a team of theirs, else with nobody.

    The name as it was typed is not kept: it may be a password in the wrong field.
    """
    team = next((member.team.id for member in members if member.team), "")
    return Scope(team, user.id if user else "")


async def _note_failure(gate: Gate, scope: Scope, error: RequestError) -> None:
    await gate.app.audit.write(scope, "login", at=now(), decision="refused", result=error.code)
