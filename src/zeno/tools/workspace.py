"""The run's own directory: the only part of the disk that a tool may touch."""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath

from zeno.core.errors import ToolFailed
from zeno.core.messages import FilePart

_MEDIA_TYPES = {
    ".csv": "text/csv",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".md": "text/markdown",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".tsv": "text/tab-separated-values",
    ".txt": "text/plain",
    ".webp": "image/webp",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def confined(workspace: Path, path: str) -> Path:
    """The absolute path of `path` inside the workspace, links resolved.

    Raises `ToolFailed` when it is empty, absolute, climbs out by `..`, or leads out through a symbolic link.
    """
    parts = PurePosixPath(path.replace("\\", "/")).parts
    absolute = PurePosixPath(path).is_absolute() or bool(PureWindowsPath(path).drive) or path.startswith("~")
    if not parts or "\x00" in path or absolute or ".." in parts:
        raise ToolFailed(f"The path {path!r} is outside the workspace. Give a relative path without '..'.", code="path_outside")
    root = workspace.resolve()
    try:
        resolved = root.joinpath(*parts).resolve()
    except (OSError, RuntimeError):
        # Links that go in a circle, names too long for the file system.
        raise ToolFailed(f"The path {path[:200]!r} cannot be followed.", code="path_outside") from None
    if not resolved.is_relative_to(root):
        raise ToolFailed(f"The path {path!r} leads outside the workspace through a link.", code="path_outside")
    return resolved


def existing(workspace: Path, path: str) -> Path:
    """Like `confined`, for a file that must be there. Raises `ToolFailed` naming the files that are."""
    found = confined(workspace, path)
    if found.is_dir():
        raise ToolFailed(f"{path!r} is a directory, not a file. {_listing(workspace)}", code="not_a_file")
    if not found.is_file():
        raise ToolFailed(f"There is no file {path!r} in the workspace. {_listing(workspace)}", code="file_not_found")
    return found


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path beside `target` that takes its place when the block ends well, and vanishes when it does not."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        yield draft
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def file_part(workspace: Path, path: Path) -> FilePart:
    """A reference to a file of the workspace."""
    return FilePart(
        path=path.relative_to(workspace.resolve()).as_posix(),
        size=path.stat().st_size,
        media_type=_MEDIA_TYPES.get(path.suffix.lower(), "application/octet-stream"),
    )


def listed(workspace: Path, most: int = 50) -> list[str]:
    """The files of the workspace, relative, sorted, at most `most`; not the hidden ones, nor those whose name is no text."""
    root = workspace.resolve()
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return [name for name in names if not name.startswith(".") and "/." not in name and _is_text(name)][:most]


def _is_text(name: str) -> bool:
    """Whether a name can be told: the system lets a program give a file any bytes for one."""
    return not re.search("[\ud800-\udfff]", name)


def _listing(workspace: Path) -> str:
    names = listed(workspace)
    return f"It holds: {', '.join(names)}." if names else "It is empty."
