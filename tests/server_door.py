"""The public door for tests of who may do what: HTTP in this process, on a house that is really open."""

import functools
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from argon2 import PasswordHasher
from starlette.types import ASGIApp

from tests.instances import AnyInstance, doors, instances, placed
from zeno.app import App
from zeno.core.scope import Scope
from zeno.runs.clock import new_id, now
from zeno.server.tokens import csrf_token, digest, local_token, new_secret
from zeno.settings import Settings
from zeno.stores.accounts import Role, Team, User
from zeno.stores.credentials import DAY

ORIGIN = "http://127.0.0.1:8321"
PASSWORD = "correct horse battery"


@functools.cache
def hash_of_all() -> str:
    """The hash of the password of all, made once: it takes long, and shall."""
    return PasswordHasher().hash(PASSWORD)


@dataclass(frozen=True)
class Server:
    """A server that answers in this process."""

    apps: Sequence[App]
    asgi: Sequence[ASGIApp]

    @property
    def app(self) -> App:
        """The first of its instances."""
        return self.apps[0]

    def caller(self, secret: str | None = None, *, address: str = "127.0.0.1", **headers: str) -> httpx2.AsyncClient:
        """Somebody with a secret of a program, or with none."""
        own = {"Authorization": f"Bearer {secret}"} if secret is not None else {}
        return httpx2.AsyncClient(transport=AnyInstance(self.asgi, address), base_url=ORIGIN, headers=own | headers, timeout=30)

    @asynccontextmanager
    async def browser(self, **proof: str) -> AsyncIterator[httpx2.AsyncClient]:
        """A browser that has just logged in, and whose page knows its CSRF token."""
        async with self.caller() as client:
            answer = await client.post("/api/v1/login", json=proof)
            assert answer.status_code == 200, answer.text
            client.headers["X-Zeno-CSRF"] = answer.json()["csrf"]
            yield client

    @asynccontextmanager
    async def page(self, user: User, team: Team) -> AsyncIterator[httpx2.AsyncClient]:
        """A browser in which a user has logged in before, and whose page knows its CSRF token."""
        cookie = new_secret()
        scope = Scope(team.id, user.id)
        await self.app.credentials.add_login(scope, digest(cookie), at=now(), expires_at=now() + DAY)
        async with self.caller(**{"X-Zeno-CSRF": csrf_token(cookie)}) as client:
            client.cookies.set("zeno_login", cookie, domain="127.0.0.1")
            yield client

    @property
    def token(self) -> str:
        """The token of the one user."""
        return local_token(self.app.settings)

    async def team(self, name: str) -> Team:
        """A new team."""
        team = Team(id=new_id(), name=name, created_at=now())
        await self.app.accounts.create_team(team)
        return team

    async def user(self, name: str, team: Team, role: Role = "member") -> User:
        """A new user with the password of all."""
        user = User(id=new_id(), name=name, created_at=now())
        await self.app.accounts.create_user(user, hash_of_all(), team.id, role)
        return user


@asynccontextmanager
async def server(home: Path, *, rules: Sequence[dict[str, Any]] = (), **settings: Any) -> AsyncIterator[Server]:
    """A server with these settings of `[server]`, and these `[[rules]]`."""
    given = {"rules": list(rules), "server": settings} | placed()
    async with instances(Settings(home=home, model="offline", **given), serving=False) as apps:
        yield Server(apps, doors(apps))


async def code(answer: Awaitable[httpx2.Response]) -> tuple[int, str]:
    """The status of an answer, and the stable code of its problem."""
    got = await answer
    return got.status_code, got.json()["code"] if got.status_code >= 400 else ""
