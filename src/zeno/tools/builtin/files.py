"""Reading and writing text files of the workspace. Knows lines and encodings; tables and documents have their own tools."""

import io
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, BinaryIO, NamedTuple, TextIO

import msgspec

from zeno.core.errors import ToolFailed
from zeno.core.ports import ToolContext, ToolOutput
from zeno.tools.function import tool
from zeno.tools.text_encoding import SAMPLE_SIZE, binary_kind, encoding_of
from zeno.tools.workspace import confined, existing, file_part, replacing

_MOST_CHARACTERS = 100_000
"""Characters of one answer: more than a model reads with profit, and what bounds the memory that reading takes."""
_MOST_BYTES_WRITTEN = 5 * 1024 * 1024
_TABLES = {".xlsx", ".xlsm", ".xltx", ".parquet"}


class _Excerpt(NamedTuple):
    """Lines `first` to `last` of a file; `cut` maps the number of a line that was too long to the characters left out."""

    lines: list[str]
    first: int
    cut: dict[int, int]
    more: bool

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1


@tool(source="workspace", untrusted=True)
def read_file(
    path: str,
    ctx: ToolContext,
    start_line: Annotated[int, msgspec.Meta(ge=1)] = 1,
    max_lines: Annotated[int, msgspec.Meta(ge=1, le=5000)] = 400,
) -> str:
    """Read a text file of the workspace in whatever encoding it is, some lines at a time.

    Use it for notes, logs, Markdown, JSON, code and the like; for tables (CSV, Excel) use read_table, which tells more in fewer
    words. The result says from which line to read on.

    Args:
        path: Path of the file, relative to the workspace.
        ctx: Where the call happens.
        start_line: The first line to return; lines count from 1.
        max_lines: How many lines to return at most.
    """
    with _opened(existing(ctx.workspace, path), path) as stream:
        size = os.fstat(stream.fileno()).st_size
        _refuse_binary(stream.read(SAMPLE_SIZE), path)
        stream.seek(0)
        encoding = encoding_of(stream)
        stream.seek(0)
        with io.TextIOWrapper(stream, encoding=encoding, errors="replace") as text:
            excerpt = _excerpt(text, start_line, max_lines, path)
    return _report(path, size, encoding, excerpt)


@tool(effect="write", repeatable=True, source="workspace")
def write_temporary_file(path: str, text: str, ctx: ToolContext, overwrite: bool = False) -> ToolOutput:
    """Write a text file (UTF-8) into the workspace, whole or not at all.

    Use it to keep notes, intermediate results, Markdown, CSV or JSON for later steps or for download. Folders in the path are
    made. The result tells the path and the size in bytes.

    Args:
        path: Path of the file, relative to the workspace, for example "notes/summary.md".
        text: The whole content of the file, at most 5 MiB.
        ctx: Where the call happens.
        overwrite: Replace the file if it exists; otherwise a file with another content is an error.
    """
    target = confined(ctx.workspace, path)
    _refuse_hidden(ctx.workspace, target, path)
    _place(_encoded(text), target, overwrite, path)
    part = file_part(ctx.workspace, target)
    supplement = _json({"path": part.path, "size": part.size, "encoding": "utf-8"})
    return ToolOutput(text=f"Wrote {part.path} ({part.size} bytes).\n\n{supplement}", files=(part,))


@tool(effect="danger", source="workspace")
def delete_file(path: str, ctx: ToolContext) -> str:
    """Delete one file of the workspace, for good.

    Use it only when someone asks for a file to be deleted. Folders are not deleted. The result tells the name and the size of
    what was deleted.

    Args:
        path: Path of the file, relative to the workspace.
        ctx: Where the call happens.
    """
    found = _deletable(ctx.workspace, path)
    size = found.stat().st_size
    try:
        found.unlink()
    except FileNotFoundError:
        raise ToolFailed(f"{path!r} is no longer there. Nothing was deleted.", code="file_not_found") from None
    except OSError as error:
        raise ToolFailed(f"{path!r} cannot be deleted: {error.strerror}. It is still there.", code="not_writable") from None
    return f"Deleted {path} ({size} bytes)."


@delete_file.verified_by
async def _deleted(arguments: dict[str, Any], ctx: ToolContext) -> ToolOutput | None:
    """The file is gone, or it is not: the disk tells."""
    path = arguments["path"]
    return None if _is_there(ctx.workspace, path) else ToolOutput(f"Deleted {path}: it is gone.")


def _is_there(workspace: Path, path: str) -> bool:
    """Whether something is at the path; what lies outside was not touched, so it is."""
    try:
        return os.path.lexists(_unresolved(workspace, path))
    except ToolFailed:
        return True


def _deletable(workspace: Path, path: str) -> Path:
    """The file itself. A link is not followed: what it leads to was not named."""
    found = existing(workspace, path)
    _refuse_hidden(workspace, found, path)
    named = _unresolved(workspace, path)
    if named.is_symlink() or not named.is_file():
        raise ToolFailed(f"{path!r} is a link, not a file. Nothing was deleted. Name the file itself.", code="not_a_file")
    return named


def _unresolved(workspace: Path, path: str) -> Path:
    """The path as it was named, its folders resolved and its last part not. Raises `ToolFailed` outside the workspace."""
    parts = PurePosixPath(path.replace("\\", "/"))
    confined(workspace, path)
    return confined(workspace, str(parts.parent)) / parts.name if len(parts.parts) > 1 else workspace.resolve() / parts.name


def _refuse_hidden(workspace: Path, target: Path, path: str) -> None:
    inside = target.relative_to(workspace.resolve())
    if any(part.startswith(".") for part in (*PurePosixPath(path.replace("\\", "/")).parts, *inside.parts)):
        raise ToolFailed(f"{path!r} has a part that begins with a dot. Hidden files are left alone.", code="hidden_path")


def _opened(found: Path, path: str) -> BinaryIO:
    """The file, opened without following a link that has taken its place since its path was checked."""
    try:
        return os.fdopen(os.open(found, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)), "rb")
    except OSError as error:
        raise ToolFailed(f"{path!r} cannot be opened: {error.strerror}.", code="not_readable") from None


def _refuse_binary(sample: bytes, path: str) -> None:
    kind = binary_kind(sample)
    if kind is None:
        return
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _TABLES:
        advice = "Use read_table for it."
    elif suffix in {".docx", ".pptx", ".pdf"}:
        advice = "This tool reads plain text only: ask for its content as .md or .txt."
    else:
        advice = "This tool reads plain text only."
    raise ToolFailed(f"{path!r} is {kind}, not a text file. {advice}", code="binary_file")


def _excerpt(text: TextIO, start: int, most: int, path: str) -> _Excerpt:
    excerpt = _Excerpt(lines=[], first=start, cut={}, more=False)
    room = _MOST_CHARACTERS
    number = 0
    for number, (line, left_out) in enumerate(_lines(text), 1):
        if number < start:
            continue
        if len(excerpt.lines) == most or (excerpt.lines and len(line) > room):
            return excerpt._replace(more=True)
        excerpt.lines.append(line)
        room -= len(line) + 1
        if left_out:
            excerpt.cut[number] = left_out
    if start > max(number, 1):
        raise ToolFailed(
            f"{path!r} has {number} lines; there is no line {start}. Read from an earlier one.", code="past_the_end"
        )
    return excerpt


def _lines(text: TextIO) -> Iterator[tuple[str, int]]:
    """Each line, at most `_MOST_CHARACTERS` of it, and how many more it has; never a whole file in memory."""
    while line := text.readline(_MOST_CHARACTERS):
        left_out = 0
        piece = line
        while not piece.endswith("\n") and (piece := text.readline(_MOST_CHARACTERS)):
            left_out += len(piece.removesuffix("\n"))
        yield line.removesuffix("\n"), left_out


def _report(path: str, size: int, encoding: str, excerpt: _Excerpt) -> str:
    following = excerpt.last + 1 if excerpt.more else None
    undecodable = sum(line.count("\ufffd") for line in excerpt.lines)
    if not size:
        conclusion = [f"{path} is empty."]
    else:
        conclusion = [f"{path}: lines {excerpt.first} to {excerpt.last}, {encoding}; the file has {size} bytes."]
    if following:
        conclusion.append(f"More lines follow: read on with start_line={following}.")
    if undecodable:
        conclusion.append(f"{undecodable} characters are unreadable and shown as \ufffd.")
    conclusion += [
        f"Line {number} is too long: its last {count} characters are left out." for number, count in excerpt.cut.items()
    ]
    facts: dict[str, str | int | None] = {
        "path": path,
        "size": size,
        "encoding": encoding,
        "first_line": excerpt.first,
        "last_line": excerpt.last,
        "next_start_line": following,
        "undecodable": undecodable,
    }
    return "\n\n".join([" ".join(conclusion), *(["\n".join(excerpt.lines)] if excerpt.lines else []), _json(facts)])


def _place(content: bytes, target: Path, overwrite: bool, path: str) -> None:
    try:
        if target.is_dir():
            raise ToolFailed(f"{path!r} is a folder. Choose another path.", code="file_exists")
        if target.is_file() and target.stat().st_size == len(content) and target.read_bytes() == content:
            return  # a repeated call finds its own work
        if target.exists() and not overwrite:
            raise ToolFailed(f"{path!r} exists already. Choose another path, or set overwrite to true.", code="file_exists")
        with replacing(target) as draft:
            draft.write_bytes(content)
    except OSError as error:
        raise ToolFailed(f"{path!r} cannot be written: {error.strerror}. Choose another path.", code="not_writable") from None


def _encoded(text: str) -> bytes:
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise ToolFailed("The text holds half a character (a lone surrogate). Correct the text.", code="bad_text") from None
    if len(content) > _MOST_BYTES_WRITTEN:
        raise ToolFailed(
            f"The text has {len(content)} bytes, the limit is {_MOST_BYTES_WRITTEN}. Split it into several files.",
            code="too_large",
        )
    return content


def _json(facts: dict[str, str | int | None]) -> str:
    return f"```json\n{msgspec.json.encode(facts).decode()}\n```"
