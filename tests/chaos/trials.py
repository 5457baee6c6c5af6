"""Seeded trials: `kill -9` at a boundary, start again, as often as the trial says, then let it finish.

With one instance over SQLite, or several over one PostgreSQL, of which one after the other is killed while the rest take over.
Each life of the process is a fork that opens the house over the same home directory, drives the run, and has a person in it
who decides what is asked. A boundary is the moment before or after a commit of the database, before or after an effect takes
place outside, before or after a decision is sent. What counts is written down outside of Zeno and compared at the end.

Each trial is a process of its own too, with a home and a database of its own, and several are under way at once. Its chances
come from the seed and its number alone, so each can be had again by itself.

    python -m tests.chaos.trials --trials 1000 --seed 1
    python -m tests.with_services python -m tests.chaos.trials --instances 3 --trials 1000 --seed 1
    python -m tests.with_services python -m tests.chaos.trials --instances 3 --only 17 --seed 1
"""

import argparse
import asyncio
import faulthandler
import functools
import gc
import importlib
import json
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from tests import databases
from tests.chaos.story import BOUNDARIES, Findings, Trial, compare, prepared, takeovers
from zeno.app import App, opened
from zeno.cli.logs import configure_logs
from zeno.core.decisions import Approved, Decision, Denied, Edited
from zeno.core.errors import Conflict
from zeno.core.scope import LOCAL
from zeno.runs import owner
from zeno.runs.clock import now
from zeno.stores import database
from zeno.stores.approvals import Approval
from zeno.stores.event_log import Record
from zeno.stores.leases import Lease
from zeno.stores.runs import Run

BOUND = 180.0
"""Seconds that one life may take; more is a failure of its own."""

PRELOADED = ("zeno.models.scripted", "alembic.command", "procrastinate", "sqlalchemy.dialects.postgresql.psycopg")
"""What each life would import anew otherwise."""

LIVES = 6
"""Most lives of a trial; the last one is never killed."""

AT_ONCE = 10
"""Trials of several instances at a time, unless told otherwise: they mostly wait, but each has up to 20 connections."""


@dataclass(frozen=True)
class Plan:
    """What all trials of one call share."""

    directory: Path
    seed: int
    instances: int = 1
    apart: bool = False


@dataclass
class Boundaries:
    """Counts the boundaries of one life and ends it at one of them; 0 for never."""

    fatal: int
    drivers: Path
    """Where it is noted who drives."""
    driven: Callable[[], int] = int
    """How many runs this life drives."""
    passed: int = 0

    def pass_one(self, _what: str = "", *, drives: bool = False) -> None:
        self.passed += 1
        if self.passed == self.fatal:
            if drives or self.driven():
                _note(self.drivers, f"{now()} died")
            os.kill(os.getpid(), signal.SIGKILL)


def forked(work: Callable[[], None]) -> int:
    """A process of its own that does `work`: its number. What is raised in it is printed, and its status is 1."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            if code:
                traceback.print_exc()
            sys.stderr.flush()
            os._exit(code)
    return child


def begun(trial: Trial, fatal: int) -> tuple[int, int]:
    """A life in a process of its own: its number, and where it will say how many boundaries it passed."""
    reader, writer = os.pipe()

    def live() -> None:
        os.close(reader)
        # One that does not even give up when it is told to.
        faulthandler.dump_traceback_later(BOUND + 10, exit=True)
        boundaries = Boundaries(fatal, trial.drivers)
        asyncio.run(_bounded(_live(trial, boundaries)))
        os.write(writer, str(boundaries.passed).encode())

    child = forked(live)
    os.close(writer)
    return child, reader


def ended(reader: int, status: int, home: Path) -> int | None:
    """How many boundaries a life passed, `None` when it was killed at one."""
    with os.fdopen(reader) as told:
        passed = told.read()
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return None
    if status != 0:
        raise RuntimeError(f"a life ended with status {status} in {home}")
    return int(passed)


def life(trial: Trial, fatal: int) -> int | None:
    """One life from its beginning to its end."""
    child, reader = begun(trial, fatal)
    return ended(reader, os.waitpid(child, 0)[1], trial.home)


def lives_after_another(trial: Trial, chance: random.Random, findings: Findings) -> None:
    """One instance, started again whenever it was killed."""
    for number in range(1, LIVES + 1):
        findings.lives += 1
        # Early boundaries are as likely as late ones: each is some life's last.
        if life(trial, chance.randint(1, BOUNDARIES) if number < LIVES else 0) is not None:
            break
        findings.kills += 1


def lives_together(trial: Trial, chance: random.Random, findings: Findings, instances: int) -> None:
    """Several instances at once, all of them doomed until enough have died; whoever lives takes over."""
    readers = dict(begun(trial, chance.randint(1, BOUNDARIES)) for _ in range(instances))
    findings.lives += instances
    kills = 0
    try:
        while readers:
            child, status = os.wait()
            if ended(readers.pop(child), status, trial.home) is None:
                kills += 1
                following, reader = begun(trial, chance.randint(1, BOUNDARIES) if kills < LIVES - 1 else 0)
                readers[following] = reader
                findings.lives += 1
    finally:
        findings.kills += kills
        for left in readers:
            os.kill(left, signal.SIGKILL)
            os.waitpid(left, 0)


async def _bounded(life: Coroutine[None, None, None]) -> None:
    """A life, which has to end in time; what it was about is said when it does not."""
    living = asyncio.create_task(life)
    await asyncio.wait({living}, timeout=BOUND)
    if not living.done():
        for task in asyncio.all_tasks():
            task.print_stack(file=sys.stderr)
        raise TimeoutError
    await living


async def _live(trial: Trial, boundaries: Boundaries) -> None:
    _watch_commits(boundaries)
    if trial.apart:
        owner._place = lambda: f"machine-{os.getpid()}"  # type: ignore[assignment]
    import builtins

    builtins.pass_boundary = boundaries.pass_one  # type: ignore[attr-defined]
    async with opened(trial.settings(), serving=True) as app:
        boundaries.driven = lambda: app.driver.pulse.at_work
        run = await _asked(app)
        person = asyncio.create_task(_decide_all(app, trial, boundaries))
        while (await app.runs.find(LOCAL, run.id)).ended_at is None:
            if person.done():
                person.result()
            # Nothing rings for an onlooker without a stream; a short nap between two looks is the watch's own pace.
            await asyncio.sleep(2 * trial.nap)
        person.cancel()


async def _asked(app: App) -> Run:
    """The run of the trial, asked for under one name by whoever comes first."""
    agent = await app.agent(None, language="en-US")
    while True:
        try:
            return await app.start(LOCAL, agent, "go", session_id="5" * 32, request_key="the one")
        except IntegrityError:
            continue


def _watch_commits(boundaries: Boundaries) -> None:
    """Make each commit a pair of boundaries: the one place through which everything durable goes."""
    write = database.Database.write

    async def watched(self: database.Database, work: Callable[[Connection], object]) -> object:
        def within(connection: Connection) -> object:
            done = work(connection)
            boundaries.pass_one("before commit")
            return done

        done = await write(self, within)
        takes = isinstance(done, Lease)
        if takes:
            _note(boundaries.drivers, f"{now()} took")
        boundaries.pass_one("after commit", drives=takes)
        return done

    database.Database.write = watched  # type: ignore[assignment,method-assign]


async def _decide_all(app: App, trial: Trial, boundaries: Boundaries) -> None:
    """The person: says to every call what the trial has for it, and notes what was accepted."""
    while True:
        for approval in await app.approvals.listed(LOCAL):
            boundaries.pass_one("before a decision")
            decision = _decision(trial, approval)
            try:
                await app.decide(LOCAL, approval.id, decision)
            except Conflict:
                continue
            boundaries.pass_one("after a decision")
            _note(trial.acknowledged, json.dumps([approval.id, type(decision).__name__]))
        await asyncio.sleep(trial.nap)


def _decision(trial: Trial, approval: Approval) -> Decision:
    word = json.loads(approval.arguments)["word"]
    match trial.answers[word]:
        case "approve":
            return Approved()
        case "edit":
            return Edited(json.dumps({"word": f"{word}-edited"}), "better so")
        case _:
            return Denied("not this one")


def _note(path: Path, line: str) -> None:
    """Write a line that outlives `kill -9`: what was written is the kernel's, and one write is not mixed up with another."""
    with path.open("a") as file:
        file.write(line + "\n")


def carried_through(trial: Trial, chance: random.Random, instances: int) -> Findings:
    """Lives until the run has ended, then the comparison."""
    findings = Findings(trials=1)
    try:
        if instances > 1:
            lives_together(trial, chance, findings, instances)
        else:
            lives_after_another(trial, chance, findings)
    except RuntimeError:
        _show(trial, asyncio.run(_log(trial)))
        raise
    records = asyncio.run(_log(trial))
    compare(trial, records, findings)
    if instances > 1:
        findings.takeovers = takeovers(trial, records)
    if findings.faults():
        _show(trial, records)
    return findings


def _show(trial: Trial, records: list[Record]) -> None:
    drivers = trial.drivers.read_text() if trial.drivers.exists() else ""
    told = msgspec.json.format(msgspec.json.encode(records)).decode()
    sys.stderr.write(f"{trial.home.name}: {trial.answers}\n{drivers}{told}\n")


async def _log(trial: Trial) -> list[Record]:
    async with opened(trial.settings()) as app:
        (run,) = await app.runs.newest(LOCAL, 2)
        return await app.log.read(LOCAL, run.id)


def one_trial(plan: Plan, number: int) -> Findings:
    """A trial from its beginning to its end. All its chances follow from the seed and its number."""
    chance = random.Random(f"{plan.seed}/{number}")
    with databases.database("sqlite" if plan.instances == 1 else "postgresql") as url:
        trial = prepared(plan.directory / f"trial-{plan.seed}-{number}", chance, url, apart=plan.apart)
        findings = carried_through(trial, chance, plan.instances)
        shutil.rmtree(trial.home)
    return findings


def run_trials(plan: Plan, numbers: Iterable[int], at_once: int) -> Findings:
    """Trials, so many at once: each in a process of its own, which leaves what it found in a file."""
    todo, running, findings = list(numbers)[::-1], dict[int, int](), Findings()
    while todo or running:
        while todo and len(running) < at_once:
            number = todo.pop()
            running[forked(functools.partial(_leave, plan, number))] = number
        child, status = os.wait()
        number = running.pop(child)
        if status == 0:
            findings.add(pickle.loads(_left(plan, number).read_bytes()))
        else:
            findings.add(Findings(trials=1, broken=[f"trial-{plan.seed}-{number}"]))
    return findings


def _leave(plan: Plan, number: int) -> None:
    _left(plan, number).write_bytes(pickle.dumps(one_trial(plan, number)))


def _left(plan: Plan, number: int) -> Path:
    return plan.directory / f"found-{number}"


def check_length(directory: Path) -> None:
    """Chances are drawn from about as many boundaries as there are: from fewer, the late ones would never be anybody's last."""
    passed = life(prepared(directory / "whole", random.Random(0)), 0) or 0
    if abs(passed - BOUNDARIES) > BOUNDARIES // 10:
        raise RuntimeError(f"a whole life passes {passed} boundaries: say so in tests/chaos/story.py")


def main() -> None:
    """Run trials and print the figures; exit 1 when anything was lost, doubled, or done unapproved."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--instances", type=int, default=1)
    parser.add_argument("--at-once", type=int, help=f"trials under way at a time; 1 for one instance, else {AT_ONCE}")
    parser.add_argument("--only", type=int, help="the number of the one trial to run, from 0")
    parser.add_argument("--apart", action="store_true", help="instances that do not see each other die, as on other machines")
    options = parser.parse_args()
    configure_logs("error")
    for module in PRELOADED if options.instances > 1 else PRELOADED[:2]:
        importlib.import_module(module)
    # What is there already is shared by all lives, and not gone through in each.
    gc.freeze()
    numbers = range(options.trials) if options.only is None else [options.only]
    with tempfile.TemporaryDirectory(prefix="zeno-chaos-") as directory:
        check_length(Path(directory))
        plan = Plan(Path(directory), options.seed, options.instances, options.apart)
        findings = run_trials(plan, numbers, options.at_once or (1 if options.instances == 1 else AT_ONCE))
    sys.stdout.write(json.dumps(findings.figures(), indent=2) + "\n")
    sys.exit(findings.faults() > 0)


if __name__ == "__main__":
    main()
