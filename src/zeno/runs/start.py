"""Starting a run: the row, the copy of the agent and the first command, in one transaction; and what the user brings along."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from zeno.core.commands import Say
from zeno.core.errors import Conflict, Invalid, NotFound
from zeno.core.messages import FilePart
from zeno.stores.runs import Run, Runs
from zeno.tools.workspace import file_part

LONGEST_TASK = 100_000
"""Characters of a task; a longer text belongs into a file."""


async def start(runs: Runs, run: Run, parts: Sequence[FilePart], request_key: str | None = None) -> Run:
    """Keep a run that a driver can take up; `parts` already lie in its workspace.

    With a `request_key` that was used before in this session it is the run of then. Raises `Invalid` for an empty or over-long
    text.
    """
    heard(run.task)
    return await runs.create(run, Say(run.task, tuple(parts)), request_key)


def heard(text: str) -> None:
    """Raises `Invalid` for words that are none, or too many."""
    if not text.strip():
        raise Invalid("task_empty")
    if len(text) > LONGEST_TASK:
        raise Invalid("task_too_long", length=len(text), most=LONGEST_TASK)


def workspace(workspaces: Path, session_id: str) -> Path:
    """The directory of a session: its runs share their files."""
    return workspaces / session_id


def taken_along(files: Sequence[Path], directory: Path) -> tuple[FilePart, ...]:
    """Copies of files in a workspace.

    Raises `NotFound` or `Invalid` for a file that cannot be taken along, `Conflict` when two have the same name.
    """
    names: set[str] = set()
    for file in files:
        if not file.exists():
            raise NotFound("file_not_found", path=str(file))
        if not file.is_file():
            raise Invalid("not_a_file", path=str(file))
        if file.name in names:
            raise Conflict("file_twice", name=file.name)
        names.add(file.name)
    directory.mkdir(parents=True, exist_ok=True)
    return tuple(_copied(file, directory) for file in files)


def _copied(file: Path, directory: Path) -> FilePart:
    try:
        return file_part(directory, Path(shutil.copyfile(file, directory / file.name)).resolve())
    except OSError as error:
        raise Invalid("file_unreadable", path=str(file), reason=error.strerror or type(error).__name__) from None
