"""Files: what a user brings into a session and takes from it. Its runs share them."""

import asyncio
from pathlib import Path as Directory
from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from zeno.app import App
from zeno.core.errors import Conflict
from zeno.core.messages import FilePart
from zeno.core.scope import Scope
from zeno.runs.start import workspace
from zeno.server.answers import House, answer, described, nothing
from zeno.server.audited import audited
from zeno.server.auth import Reader, Runner
from zeno.server.session_files import FileSent, SessionFile, found, listing, part, place, received, removed, shown

router = APIRouter(prefix="/api/v1/sessions/{session_id}/files", tags=["files"])

FilePath = Annotated[str, Path(description="Relative, with `/` between its parts.", examples=["sales.csv"])]

_EXAMPLE = SessionFile("sales.csv", 12_288, "text/csv", 1_790_000_000_000)


class FileList(msgspec.Struct, frozen=True):
    """The files of a session, by their path."""

    files: tuple[SessionFile, ...]


_UPLOAD = described(
    SessionFile,
    "Upload a file",
    status=201,
    example=_EXAMPLE,
    also={200: "It was replaced."},
    problems=(404, 409, 503),
)
_DOWNLOAD = described(None, "Download a file", problems=(404,))
_DOWNLOAD["responses"][200]["content"] = {"*/*": {"schema": {"type": "string", "format": "binary"}}}
_BODY = {
    "requestBody": {
        "required": False,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("", **described(FileList, "List the files of a conversation", example=FileList((_EXAMPLE,)), problems=(404,)))
async def show_all(app: House, who: Reader, session_id: str) -> Response:
    """What was uploaded and what runs produced."""
    directory = await _directory(app, who.scope, session_id)
    return answer(FileList(tuple(await asyncio.to_thread(listing, directory))))


@router.put("/{path:path}", **_UPLOAD, openapi_extra=_BODY)
async def upload(
    app: House,
    who: Runner,
    request: Request,
    session_id: str,
    path: FilePath,
    overwrite: Annotated[bool, Query(description="Replace a file of this name.")] = False,
) -> Response:
    """The body is the file. What is there stays, unless it is to be replaced and no run is on that could need it."""
    async with audited(app, who, "file_uploaded", f"{session_id}/{path}"):
        directory = await _directory(app, who.scope, session_id)
        target = await asyncio.to_thread(place, directory, path)
        replaces = overwrite and await asyncio.to_thread(target.exists)
        if replaces:
            await _refuse_while_open(app, who.scope, session_id)
        await received(target, request.stream(), most=app.settings.server.max_upload, overwrite=replaces)
    return answer(await asyncio.to_thread(shown, directory, target), 200 if replaces else 201)


@router.get("/{path:path}", **_DOWNLOAD)
async def download(app: House, who: Reader, session_id: str, path: FilePath) -> Response:
    """The file as it is. Pictures may be shown, everything else is something to save."""
    async with audited(app, who, "file_downloaded", f"{session_id}/{path}"):
        directory = await _directory(app, who.scope, session_id)
        file = await asyncio.to_thread(found, directory, path)
        reference: FilePart = await asyncio.to_thread(part, directory, path)
    return FileSent(file, reference.media_type)


@router.delete("/{path:path}", **described(None, "Remove a file", status=204, problems=(404, 409)))
async def remove(app: House, who: Runner, session_id: str, path: FilePath) -> Response:
    """Not while a run is on that could need it."""
    async with audited(app, who, "file_removed", f"{session_id}/{path}"):
        directory = await _directory(app, who.scope, session_id)
        file = await asyncio.to_thread(found, directory, path)
        await _refuse_while_open(app, who.scope, session_id)
        await asyncio.to_thread(removed, file)
    return nothing()


async def _directory(app: App, scope: Scope, session_id: str) -> Directory:
    session = await app.sessions.find(scope, session_id)
    return workspace(app.workspaces, session.id)


async def _refuse_while_open(app: App, scope: Scope, session_id: str) -> None:
    """A run that is on or waits, also for an approval, must find the files that it and its person have seen."""
    if any(run.ended_at is None for run in await app.runs.of_session(scope, session_id)):
        raise Conflict("session_busy", session=session_id)
