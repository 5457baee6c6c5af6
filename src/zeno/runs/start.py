"""Starting a run: the row, the copy of the agent and the first command, in one transaction; and what the user brings along."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from zeno.core.agents import AgentSpec
from zeno.core.commands import Say
from zeno.core.errors import Conflict, Invalid, NotFound
from zeno.core.messages import FilePart
from zeno.runs.clock import new_id, now
from zeno.stores.runs import Run, Runs
from zeno.tools.workspace import file_part

LONGEST_TASK = 100_000
"""Characters of a task; a longer text belongs into a file."""


async def start(
    runs: Runs, agent: AgentSpec, text: str, *, files: Sequence[Path], workspaces: Path, session_id: str | None = None
) -> Run:
    """Make a run that a driver can take up, with copies of `files` in its workspace.

    Raises `Invalid` for an empty or over-long text, `NotFound` or `Invalid` for a file that cannot be taken along, and
    `Conflict` when two files have the same name.
    """
    if not text.strip():
        raise Invalid("task_empty")
    if len(text) > LONGEST_TASK:
        raise Invalid("task_too_long", length=len(text), most=LONGEST_TASK)
    run = Run(id=new_id(), session_id=session_id or new_id(), task=text, agent=agent, created_at=now())
    parts = _taken_along(files, workspace(workspaces, run.session_id))
    await runs.create(run, Say(text, parts))
    return run


def workspace(workspaces: Path, session_id: str) -> Path:
    """The directory of a session: its runs share their files."""
    return workspaces / session_id


def _taken_along(files: Sequence[Path], directory: Path) -> tuple[FilePart, ...]:
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
