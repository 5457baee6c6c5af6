"""Keys of programs: each user's own. The secret is shown once, when the key is made."""

import msgspec
from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from zeno.core.errors import Forbidden
from zeno.runs.clock import new_id, now
from zeno.server.answers import answer, described, nothing
from zeno.server.audited import audited
from zeno.server.auth import Principal, Reader
from zeno.server.bodies import Body
from zeno.server.routes.accounts import Guarded, Id
from zeno.server.tokens import digest, new_key
from zeno.stores.accounts import Right
from zeno.stores.credentials import DAY, Key

router = APIRouter(prefix="/api/v1", tags=["accounts"])


class Keys(msgspec.Struct, frozen=True):
    """Keys, the newest first; revoked and expired ones too."""

    keys: tuple[Key, ...]


class NewKey(Body):
    """A key to be made; without `days` it does not expire."""

    name: str = Field(min_length=1, max_length=64)
    rights: list[Right] = Field(["read", "run"], min_length=1, max_length=4)
    days: int | None = Field(None, ge=1, le=3650)


class ShownKey(msgspec.Struct, frozen=True):
    """A key that was just made. `secret` is what the program sends; it is shown here and never again."""

    key: Key
    secret: str

    def __repr__(self) -> str:
        return f"ShownKey(key={self.key!r})"


@router.get("/keys", **described(Keys, "One's own keys"))
async def get_keys(gate: Guarded, who: Reader) -> Response:
    """One's own keys, without what they are."""
    return answer(Keys(tuple(await gate.app.credentials.keys(who.scope))))


@router.post("/keys", **described(ShownKey, "The new key, shown once", status=201))
async def post_key(body: NewKey, gate: Guarded, who: Reader) -> Response:
    """Make a key with some of one's own rights."""
    at = now()
    rights = tuple(sorted(set(body.rights)))
    expires_at = at + body.days * DAY if body.days else None
    key = Key(id=new_id(), scope=who.scope, name=body.name, rights=rights, created_at=at, expires_at=expires_at)
    async with audited(gate.app, who, "key_created", key.id):
        _refuse_keys(who)
        for right in rights:
            if right not in who.rights:
                raise Forbidden("right_missing", right=right)
        secret = new_key()
        await gate.app.credentials.add_key(key, digest(secret))
    return answer(ShownKey(key, secret), 201)


@router.delete("/keys/{key_id}", **described(None, "It is revoked", status=204, problems=(404,)))
async def delete_key(key_id: Id, gate: Guarded, who: Reader) -> Response:
    """Revoke a key, at once. A key may always revoke itself."""
    async with audited(gate.app, who, "key_revoked", key_id):
        if key_id != who.key_id:
            _refuse_keys(who)
        await gate.app.credentials.revoke(who.scope, key_id, now())
    return nothing()


def _refuse_keys(who: Principal) -> None:
    """Keep a key without power over accounts from making itself a successor, and from ending its siblings."""
    if who.by == "key" and "admin" not in who.rights:
        raise Forbidden("right_missing", right="admin")
