"""Files of a session: named, received and sent, within its directory and never through a hidden or odd name.

It knows the disk and the connection, and not who may do what.
"""

import asyncio
import contextlib
import os
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import quote

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from zeno.core.errors import ConfigError, Conflict, Invalid, NotFound, ToolFailed
from zeno.core.messages import FilePart
from zeno.runs.clock import new_id
from zeno.tools.workspace import confined, existing, file_part, listed

LONGEST_PATH = 500
"""Characters."""

LONGEST_PART = 200
"""Bytes of one part of it, as file systems count them."""

MOST_FILES = 10_000
PIECE = 1024 * 1024
"""Bytes that are collected before they are written."""

INLINE = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""What a browser may show by itself: pictures made of dots. All else is something to save: it could be a page with a script."""


class SessionFile(msgspec.Struct, frozen=True):
    """A file of a session. `size` is in bytes, `changed_at` in milliseconds since 1970-01-01 UTC."""

    path: str
    size: int
    media_type: str
    changed_at: int


def normal(path: str) -> str:
    """A path as it is compared."""
    return PurePosixPath(path.replace("\\", "/")).as_posix()


def place(directory: Path, path: str) -> Path:
    """Where a file of this name is or would be. Raises `Invalid` for a name that is not taken."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    odd = any(unicodedata.category(sign) in ("Cc", "Cs") for sign in path)
    long = len(path) > LONGEST_PATH or any(len(part.encode(errors="replace")) > LONGEST_PART for part in parts)
    if odd or long or path.endswith(("/", "\\")) or any(part.startswith(".") for part in parts):
        raise Invalid("path_invalid", path=path[:LONGEST_PATH])
    try:
        return confined(directory, path)
    except ToolFailed:
        raise Invalid("path_invalid", path=path[:LONGEST_PATH]) from None


def found(directory: Path, path: str) -> Path:
    """The file of this name. Raises `NotFound`, and `Invalid` for a name that is not taken."""
    place(directory, path)
    try:
        return existing(directory, path)
    except ToolFailed:
        raise NotFound("file_not_found", path=path[:LONGEST_PATH]) from None


def part(directory: Path, path: str) -> FilePart:
    """A reference to the file of this name. Raises as `found` does."""
    return file_part(directory, found(directory, path))


def listing(directory: Path) -> list[SessionFile]:
    """The files that there are, sorted, hidden ones and links that lead out left out."""
    files = []
    for path in listed(directory, MOST_FILES) if directory.is_dir() else ():
        with contextlib.suppress(ToolFailed, OSError):
            files.append(shown(directory, existing(directory, path)))
    return files


def shown(directory: Path, path: Path) -> SessionFile:
    """What is said of a file."""
    reference = file_part(directory, path)
    return SessionFile(reference.path, reference.size, reference.media_type, path.stat().st_mtime_ns // 1_000_000)


async def received(target: Path, body: AsyncIterator[bytes], *, most: int, overwrite: bool) -> None:
    """Put a body at `target`, whole or not at all.

    Raises `Conflict` when something is there that is not to be overwritten, `Invalid` when more than `most` bytes come or the
    caller goes away, `ConfigError` when they cannot be kept.
    """
    draft = await asyncio.to_thread(_draft, target, overwrite)
    try:
        await _filled(draft, body, most)
        await asyncio.to_thread(_put_in_place, draft, target, overwrite)
    except OSError as error:
        raise ConfigError("storage_failed", reason=error.strerror or type(error).__name__) from error
    finally:
        await asyncio.to_thread(draft.unlink, missing_ok=True)


def removed(path: Path) -> None:
    """Remove a file, and the directories that are empty then are left as they are. Raises `NotFound`."""
    try:
        path.unlink()
    except FileNotFoundError:
        raise NotFound("file_not_found", path=path.name) from None


class FileSent(Response):
    """A file as a response: something to save under its name, unless it is a picture. The name stays readable in any script."""

    def __init__(self, path: Path, media_type: str) -> None:
        kind = "inline" if media_type in INLINE else "attachment"
        ascii_name = "".join(
            sign if sign.isascii() and sign.isprintable() and sign not in '"\\%' else "_" for sign in path.name
        )
        self.status_code = 200
        self.background = None
        self._path = path
        self.init_headers(
            {
                # As it is: the framework would add a character set that nobody knows to be right.
                "content-type": media_type,
                "content-disposition": f"{kind}; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(path.name, safe='')}",
                "content-security-policy": "default-src 'none'; sandbox",
                "x-content-type-options": "nosniff",
                "cache-control": "no-store",
            }
        )

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        file = await asyncio.to_thread(_opened, self._path)
        try:
            size = await asyncio.to_thread(lambda: os.fstat(file.fileno()).st_size)
            self.headers["content-length"] = str(size)
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            left = size
            while left:
                # No more than was announced, should the file have grown.
                piece = await asyncio.to_thread(file.read, min(PIECE, left))
                if not piece:
                    break
                left -= len(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await asyncio.to_thread(file.close)


def _draft(target: Path, overwrite: bool) -> Path:
    """A path beside `target` for what is not whole yet."""
    if target.is_dir() or (target.exists() and not overwrite):
        raise Conflict("file_exists", path=target.name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise Conflict("file_exists", path=target.parent.name) from None
    return target.with_name(f".{new_id()}.part")


async def _filled(draft: Path, body: AsyncIterator[bytes], most: int) -> None:
    file = await asyncio.to_thread(draft.open, "wb")
    try:
        async for piece in _pieces(body, most):
            await asyncio.to_thread(file.write, piece)
        await asyncio.to_thread(_flushed, file)
    finally:
        await asyncio.to_thread(file.close)


async def _pieces(body: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """The body in pieces that are worth a thread's while."""
    pending, size, over = bytearray(), 0, False
    while not over:
        try:
            chunk = await anext(body)
        except StopAsyncIteration:
            chunk, over = b"", True
        except ClientDisconnect:
            raise Invalid("upload_cut") from None
        size += len(chunk)
        if size > most:
            raise Invalid("upload_too_large", most=most)
        pending += chunk
        if pending and (over or len(pending) >= PIECE):
            yield bytes(pending)
            pending.clear()


def _put_in_place(draft: Path, target: Path, overwrite: bool) -> None:
    try:
        if overwrite:
            draft.replace(target)
        else:
            # Unlike a replacement, a link fails when somebody else was quicker.
            os.link(draft, target)
    except (FileExistsError, IsADirectoryError):
        raise Conflict("file_exists", path=target.name) from None


def _flushed(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError:
        raise NotFound("file_not_found", path=path.name) from None
