"""`zeno run`: one sentence, one run, drawn live; its produced files brought to where the user wants them."""

import asyncio
import re
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.console import Console

from zeno.app import App
from zeno.cli.approvals import decided_here
from zeno.cli.draw import Drawing
from zeno.cli.edge import EXIT_CODES, enter, notice
from zeno.core.commands import Cancel
from zeno.core.ports import Delta
from zeno.core.scope import LOCAL
from zeno.core.state import RunState
from zeno.stores.event_log import Record
from zeno.stores.runs import Run

Tell = Callable[[Record | Delta], None]


@dataclass(frozen=True)
class Wish:
    """What the user asked for on the command line."""

    task: str
    files: tuple[Path, ...] = ()
    out: Path | None = None
    agent: str | None = None
    model: str | None = None
    max_steps: int | None = None
    as_json: bool = False
    allow_danger: bool = False
    resume: str | None = None


def run_task(requested: str | None, wish: Wish) -> int:
    """Carry out `zeno run`; the exit code says how the run ended."""

    async def work(app: App, language: str) -> int:
        run = await _chosen_run(app, language, wish)
        state = await drive_drawn(app, run, language, as_json=wish.as_json)
        delivered(app, run, state, language, wish.out)
        return EXIT_CODES[state.ending or "failed"]

    return enter(requested, work)


async def _chosen_run(app: App, language: str, wish: Wish) -> Run:
    if wish.resume:
        return await app.runs.find(LOCAL, wish.resume)
    agent = await app.agent(
        wish.agent, language=language, model=wish.model, max_steps=wish.max_steps, allow_danger=wish.allow_danger
    )
    if agent.model == "offline":
        notice(language, "notice.offline")
    return await app.start(LOCAL, agent, wish.task, (*wish.files, *mentioned(language, wish.task, wish.files)))


async def drive_drawn(app: App, run: Run, language: str, *, as_json: bool = False) -> RunState:
    """Drive a run and draw it, or print its events as JSON lines; Ctrl-C cancels it.

    What needs a person's decision is asked on the terminal; where there is none, the run pauses and this returns.
    """
    if not as_json:
        notice(language, "notice.run", run=run.id)
    state = await _drive(app, run, language, as_json=as_json)
    while state.ending == "awaiting_approval" and not as_json and sys.stdin.isatty() and await decided_here(app, run, language):
        state = await _drive(app, run, language, as_json=False)
    return state


async def _drive(app: App, run: Run, language: str, *, as_json: bool) -> RunState:
    drawing = Drawing(Console(highlight=False, soft_wrap=True), language)
    try:
        async with _cancelled_by_interrupt(app, run.id):
            return await app.drive(run, _print_json(run.id) if as_json else drawing.show)
    finally:
        drawing.close()


def delivered(app: App, run: Run, state: RunState, language: str, out: Path | None) -> None:
    """Bring what the run produced to `out`, or say where it is."""
    parts = [file for message in state.messages for result in message.results for file in result.files]
    for part in dict.fromkeys(part.path for part in parts):
        source = app.workspaces / run.session_id / part
        if not source.is_file():
            continue
        target = source if out is None else _copied(source, out, run.id)
        notice(language, "notice.saved", path=str(target))


def mentioned(language: str, task: str, taken: tuple[Path, ...]) -> list[Path]:
    """Files of the working directory that the task names: the user means them, so they come along. Said for each."""
    names = {path.name for path in taken}
    found = []
    for path in sorted(_named_here(task)):
        if path.name not in names:
            names.add(path.name)
            found.append(path)
            notice(language, "notice.attached", path=str(path))
    return found


def _named_here(task: str) -> Iterator[Path]:
    """Files at or below the working directory whose name or relative path stands in the task as a word of its own.

    Never through `..`, and never through a link that leads out.
    """
    here = Path.cwd().resolve()
    below = [Path(word) for word in re.findall(r"[\w./-]+", task) if "/" in word]
    for path in {*(Path(entry.name) for entry in here.iterdir()), *below}:
        # A letter of another script may touch a name: Chinese puts no spaces.
        stands = re.search(rf"(?<![A-Za-z0-9_./\\-]){re.escape(path.as_posix())}(?![A-Za-z0-9_/-])", task)
        if stands and ".." not in path.parts and path.is_file() and path.resolve().is_relative_to(here):
            yield path


def _copied(source: Path, out: Path, run_id: str) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    target = out / source.name
    if target.exists() and target.read_bytes() != source.read_bytes():
        # What lies there is the user's: it is kept.
        target = out / f"{source.stem}-{run_id[:8]}{source.suffix}"
    shutil.copyfile(source, target)
    return target


def _print_json(run_id: str) -> Tell:
    def tell(item: Record | Delta) -> None:
        if isinstance(item, Record):
            line = {"run_id": run_id, "seq": item.seq, "at": item.at} | msgspec.to_builtins(item.event)
            sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
            sys.stdout.flush()

    return tell


@asynccontextmanager
async def _cancelled_by_interrupt(app: App, run_id: str) -> AsyncIterator[None]:
    """The first Ctrl-C asks the run to stop; the second one ends the program, and the run can be resumed."""
    loop = asyncio.get_running_loop()
    sent: list[asyncio.Task[None]] = []

    def interrupted() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        sent.append(loop.create_task(app.send(LOCAL, run_id, Cancel())))

    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        await asyncio.gather(*sent)
