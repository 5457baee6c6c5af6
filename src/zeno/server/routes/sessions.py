"""Sessions: a user's conversations, listed, named, put away and removed. Their runs and files have routes of their own."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from pydantic import Field, field_validator
from starlette.responses import Response

from zeno.core.errors import Invalid
from zeno.runs.clock import new_id, now
from zeno.server.answers import House, answer, described, nothing, paged
from zeno.server.audited import audited
from zeno.server.auth import Reader, Runner
from zeno.server.bodies import Body
from zeno.stores.sessions import Session

LONGEST_TITLE = 200
"""Characters."""

router = APIRouter(prefix="/api/v1/sessions", tags=["sessions"])

_EXAMPLE = Session("3f0c9d5e8a7b4c2d9e1f0a6b7c8d9e0f", "Sales by channel", 1_790_000_000_000, 1_790_000_060_000)


class NewSession(Body):
    """A conversation to be begun. Without a title the first task becomes it."""

    title: str = Field("", max_length=LONGEST_TITLE, examples=["Sales by channel"])


class SessionChange(Body):
    """What is to be different; what is left out stays as it is."""

    title: str | None = Field(None, min_length=1, max_length=LONGEST_TITLE, examples=["Sales, second quarter"])
    archived: bool | None = Field(None, examples=[True])

    @field_validator("title")
    @classmethod
    def _says_something(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("blank")
        return value


class SessionPage(msgspec.Struct, frozen=True):
    """Sessions, the one used last first. `next` goes into `before` for the next page; `null` on the last one."""

    sessions: tuple[Session, ...]
    next: int | None


@router.post("", **described(Session, "Begin a conversation", status=201, example=_EXAMPLE))
async def begin(app: House, who: Runner, body: NewSession | None = None) -> Response:
    """A conversation without runs. A run can also begin one by itself: `POST /api/v1/runs`."""
    at = now()
    session = Session(new_id(), (body or NewSession(title="")).title.strip(), at, at)
    await app.sessions.create(who.scope, session)
    return answer(session, 201, {"location": f"/api/v1/sessions/{session.id}"})


@router.get("", **described(SessionPage, "List conversations", example=SessionPage((_EXAMPLE,), None)))
async def listing(
    app: House,
    who: Reader,
    archived: Annotated[bool, Query(description="Those that were put away, instead of those in use.")] = False,
    search: Annotated[str, Query(max_length=200, description="Looked for in titles and in what was asked.")] = "",
    before: Annotated[int | None, Query(ge=0, le=2**53, description="Used before this time, in milliseconds.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """One's own conversations, page by page."""

    async def fetch(most: int) -> list[Session]:
        return await app.sessions.newest(who.scope, most, before=before, archived=archived, search=search)

    found, following = await paged(fetch, limit, lambda session: session.used_at)
    return answer(SessionPage(tuple(found), following))


@router.get("/{session_id}", **described(Session, "Show a conversation", example=_EXAMPLE, problems=(404,)))
async def show(app: House, who: Reader, session_id: str) -> Response:
    """Its title and when it was used; its runs are listed by `GET /api/v1/runs?session=`."""
    return answer(await app.sessions.find(who.scope, session_id))


@router.patch(
    "/{session_id}", **described(Session, "Rename a conversation, put it away or back", example=_EXAMPLE, problems=(404,))
)
async def change(app: House, who: Runner, session_id: str, body: SessionChange) -> Response:
    """Change the title, or whether it is put away."""
    if body.title is None and body.archived is None:
        raise Invalid("change_empty")
    if body.title is not None:
        await app.sessions.rename(who.scope, session_id, body.title.strip())
    if body.archived is not None:
        await app.sessions.archive(who.scope, session_id, now() if body.archived else None)
    return answer(await app.sessions.find(who.scope, session_id))


@router.delete("/{session_id}", **described(None, "Remove a conversation", status=204, problems=(404, 409)))
async def remove(app: House, who: Runner, session_id: str) -> Response:
    """With its runs and its files, for good. Not while one of its runs is at work: cancel that first."""
    async with audited(app, who, "session_deleted", session_id):
        await app.delete_session(who.scope, session_id)
    return nothing()
