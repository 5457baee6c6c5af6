"""Who is asking, and what they may do: a token, a browser's login or a program's key becomes a `Principal`.

Routes take one of `Reader`, `Runner`, `Decider`, `Admin` as a parameter. How passwords are checked is not known here.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal

from fastapi import Depends, Request

from zeno.app import App
from zeno.core.errors import Forbidden, Unauthorized
from zeno.core.scope import LOCAL, Scope
from zeno.runs.clock import now
from zeno.server.proof import proven
from zeno.server.tokens import KEY_PREFIX, csrf_token, digest, local_token, same
from zeno.stores.accounts import RIGHTS, Right, Role
from zeno.stores.credentials import Holder

COOKIE = "zeno_login"
CSRF_HEADER = "X-Zeno-CSRF"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, kw_only=True)
class Principal:
    """Who is asking: `rights` is what they may do now, `by` how they proved themselves, `key_id` with which key."""

    scope: Scope
    name: str
    role: Role
    rights: frozenset[Right]
    by: Literal["token", "login", "key"]
    key_id: str = ""

    @property
    def within(self) -> str | None:
        """The team that their power over accounts ends with; `None` for whoever runs the installation."""
        return None if self.scope == LOCAL else self.scope.team


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What a server checks credentials against. `token` is empty where there are accounts."""

    app: App = field(repr=False)
    token: str = field(repr=False)

    @property
    def local(self) -> bool:
        """Whether there is one user only."""
        return self.app.settings.server.auth == "local"

    def login_digest(self, cookie: str) -> str:
        """The hash that a login is kept by. Another token ends the logins that were had for the former one."""
        return digest(cookie, self.token)

    async def bearer(self, secret: str) -> Principal | None:
        """Whoever carries this secret in the Authorization header."""
        if self.local and same(secret, self.token):
            return Principal(scope=LOCAL, name=LOCAL.user, role="admin", rights=RIGHTS["admin"], by="token")
        if not secret.startswith(KEY_PREFIX):
            return None
        return self._principal(await self.app.credentials.key(digest(secret), now()), "key")

    async def browser(self, cookie: str) -> Principal | None:
        """Whoever's browser carries this cookie."""
        return self._principal(await self.app.credentials.login(self.login_digest(cookie), now()), "login")

    def _principal(self, holder: Holder | None, by: Literal["login", "key"]) -> Principal | None:
        # What was given out while the installation had one user opens nothing once it has accounts, and the reverse.
        if holder is None or (holder.scope == LOCAL) != self.local:
            return None
        return Principal(
            scope=holder.scope, name=holder.name, role=holder.role, rights=holder.rights, by=by, key_id=holder.key_id
        )


def gate(request: Request) -> Gate:
    """The server's gate, made at the first request."""
    state = request.app.state
    if not hasattr(state, "gate"):
        app: App = state.zeno
        own = app.settings.server
        state.gate = Gate(app=app, token=local_token(app.settings) if own.auth == "local" else "")
    made: Gate = state.gate
    return made


async def principal(request: Request, gate: Annotated[Gate, Depends(gate)]) -> Principal:
    """Whoever is asking. Raises `Unauthorized`, or `Forbidden` when another site may have made the browser ask."""
    found = await _identified(request, gate)
    if found.by == "login" and request.method not in SAFE_METHODS:
        try:
            refuse_other_sites(request)
            if not same(request.headers.get(CSRF_HEADER, ""), csrf_token(request.cookies[COOKIE])):
                raise Forbidden("csrf_token_wrong", header=CSRF_HEADER)
        except Forbidden as refused:
            await note_refusal(request, gate.app, found, refused.code)
            raise
    proven(request.scope, found.scope)
    return found


async def still_known(request: Request) -> bool:
    """Whether what an answer in progress was asked for with is still valid: for streams, which outlive many a login."""
    try:
        await _identified(request, gate(request))
    except Unauthorized:
        return False
    return True


async def _identified(request: Request, gate: Gate) -> Principal:
    authorization = request.headers.get("authorization")
    if authorization is not None:
        scheme, _, secret = authorization.partition(" ")
        found = await gate.bearer(secret.strip()) if scheme.lower() == "bearer" else None
    elif COOKIE in request.cookies:
        found = await gate.browser(request.cookies[COOKIE])
    else:
        raise Unauthorized("credential_missing")
    if found is None:
        raise Unauthorized("credential_invalid")
    return found


def refuse_other_sites(request: Request) -> None:
    """Raise `Forbidden` when the browser says that a page of another site makes the request."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    # The scheme is left out: behind a proxy that ends TLS the server does not know the one the browser sees.
    elsewhere = origin is not None and origin.partition("://")[2].lower() != request.headers.get("host", "").lower()
    if site not in (None, "same-origin") or elsewhere:
        raise Forbidden("cross_site_request")


async def note_refusal(request: Request, app: App, who: Principal, code: str) -> None:
    """Write into the audit that someone was refused."""
    # The route's pattern, not the path: what callers put into paths may be secret.
    target = f"{request.method} {getattr(request.scope.get('route'), 'path', '')}"
    await app.audit.write(who.scope, "access", target, at=now(), decision="refused", result=code)


def _with(right: Right) -> Callable[[Request, Gate, Principal], Awaitable[Principal]]:
    async def permitted(
        request: Request, gate: Annotated[Gate, Depends(gate)], who: Annotated[Principal, Depends(principal)]
    ) -> Principal:
        if right not in who.rights:
            await note_refusal(request, gate.app, who, "right_missing")
            raise Forbidden("right_missing", right=right)
        return who

    return permitted


Reader = Annotated[Principal, Depends(_with("read"))]
"""Someone who may look."""

Runner = Annotated[Principal, Depends(_with("run"))]
"""Someone who may have runs done."""

Decider = Annotated[Principal, Depends(_with("decide"))]
"""Someone who may approve and deny."""

Admin = Annotated[Principal, Depends(_with("admin"))]
"""Someone who may change accounts."""
