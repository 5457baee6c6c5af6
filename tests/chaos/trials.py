"""Seeded trials: `kill -9` at a boundary, start again, as often as the trial says, then let it finish.

With one instance over SQLite, or several over one PostgreSQL, of which one after the other is killed while the rest take over.
Each life of the process is a fork that opens the house over the same home directory, drives the run, and has a person in it
who decides what is asked. A boundary is the moment before or after a commit of the database, before or after an effect takes
place outside, before or after a decision is sent. What counts is written down outside of Zeno and compared at the end.

    python -m tests.chaos.trials --trials 1000 --seed 1
    python -m tests.with_services python -m tests.chaos.trials --instances 3 --trials 1000 --seed 1
"""

import argparse
import asyncio
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from tests import databases
from tests.chaos.story import CALLS, REPLIES, TOOLS
from zeno.app import App, opened
from zeno.cli.logs import configure_logs
from zeno.core.decisions import Approved, Decision, Denied, Edited
from zeno.core.errors import Conflict
from zeno.core.events import ApprovalDecided, ApprovalRequested, RunEnded, ToolFinished
from zeno.core.scope import LOCAL
from zeno.settings import Settings
from zeno.stores import database
from zeno.stores.approvals import Approval
from zeno.stores.event_log import Record
from zeno.stores.runs import Run

BOUND = 60.0
"""Seconds that one life may take; more is a failure of its own."""

PRELOADED = ("zeno.models.scripted", "alembic.command", "zeno.runs.jobs", "sqlalchemy.dialects.postgresql.psycopg")
"""What each life would import anew otherwise."""

LIVES = 6
"""Most lives of a trial; the last one is never killed."""


@dataclass
class Boundaries:
    """Counts the boundaries of one life and ends it at one of them; 0 for never."""

    fatal: int
    passed: int = 0

    def pass_one(self, _what: str = "") -> None:
        self.passed += 1
        if self.passed == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Trial:
    """One home directory and what a person will say to each call, by the word that it is about."""

    home: Path
    answers: dict[str, str]
    database_url: str | None = None

    @property
    def nap(self) -> float:
        """Seconds between two looks: several instances that look all the time would keep each other from working."""
        return 0.005 if self.database_url is None else 0.1

    @property
    def effects(self) -> Path:
        return self.home / "effects"

    @property
    def acknowledged(self) -> Path:
        return self.home / "acknowledged"

    def settings(self) -> Settings:
        return Settings(
            home=self.home,
            database_url=self.database_url,
            model=f"scripted:{self.home / 'script.jsonl'}",
            tools={"modules": [str(self.home / "tools.py")]},
        )


@dataclass
class Findings:
    """What all trials found. Every list but the counts should stay empty."""

    trials: int = 0
    kills: int = 0
    lives: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    lost_decisions: list[str] = field(default_factory=list)
    effects_twice: list[str] = field(default_factory=list)
    unapproved_effects: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)

    def faults(self) -> int:
        return sum(map(len, (self.lost_decisions, self.effects_twice, self.unapproved_effects, self.untold)))


def prepared(home: Path, chance: random.Random, database_url: str | None = None) -> Trial:
    """A fresh home with the story's script and tools."""
    home.mkdir(parents=True)
    (home / "script.jsonl").write_text("\n".join(map(json.dumps, REPLIES)), "utf-8")
    (home / "tools.py").write_text(TOOLS.replace("EFFECTS", repr(str(home / "effects"))), "utf-8")
    danger = [word for word, effect in CALLS.items() if effect == "danger"]
    return Trial(home, {word: chance.choice(("approve", "approve", "edit", "deny")) for word in danger}, database_url)


def begun(trial: Trial, fatal: int) -> tuple[int, int]:
    """A life in a process of its own: its number, and where it will say how many boundaries it passed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            boundaries = Boundaries(fatal)
            asyncio.run(asyncio.wait_for(_live(trial, boundaries), BOUND))
            os.write(writer, str(boundaries.passed).encode())
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
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


def lives_together(trial: Trial, chance: random.Random, findings: Findings, whole: int, instances: int) -> None:
    """Several instances at once, all of them doomed until enough have died; whoever lives takes over."""
    started = [begun(trial, chance.randint(1, whole)) for _ in range(instances)]
    readers = dict(started)
    findings.lives += instances
    kills = 0
    while readers:
        child, status = os.wait()
        if ended(readers.pop(child), status, trial.home) is None:
            kills += 1
            following, reader = begun(trial, chance.randint(1, whole) if kills < LIVES - 1 else 0)
            readers[following] = reader
            findings.lives += 1
    findings.kills += kills


async def _live(trial: Trial, boundaries: Boundaries) -> None:
    _watch_commits(boundaries)
    import builtins

    builtins.pass_boundary = boundaries.pass_one  # type: ignore[attr-defined]
    async with opened(trial.settings(), serving=True) as app:
        run = await _asked(app)
        person = asyncio.create_task(_decide_all(app, trial, boundaries))
        while (await app.runs.find(LOCAL, run.id)).ended_at is None:
            if person.done():
                person.result()
            # Nothing rings for an onlooker without a stream; a short nap between two looks is the watch's own pace.
            await asyncio.sleep(trial.nap)
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
        boundaries.pass_one("after commit")
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
    with path.open("a") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def carried_through(trial: Trial, chance: random.Random, findings: Findings, whole: int, instances: int = 1) -> None:
    """Lives until the run has ended, then the comparison."""
    findings.trials += 1
    if instances > 1:
        lives_together(trial, chance, findings, whole, instances)
    for number in range(1, LIVES + 1 if instances == 1 else 1):
        findings.lives += 1
        # Early boundaries are as likely as late ones: each is some life's last.
        fatal = chance.randint(1, whole) if number < LIVES else 0
        if life(trial, fatal) is not None:
            break
        findings.kills += 1
    records = asyncio.run(_log(trial))
    compare(trial, records, findings)


async def _log(trial: Trial) -> list[Record]:
    async with opened(trial.settings()) as app:
        (run,) = await app.runs.newest(LOCAL, 2)
        return await app.log.read(LOCAL, run.id)


def compare(trial: Trial, records: list[Record], findings: Findings) -> None:
    """What the log says beside what really happened."""
    name = trial.home.name
    happened = Counter(trial.effects.read_text().split() if trial.effects.exists() else ())
    decided = {r.event.approval_id: r.event.decision for r in records if isinstance(r.event, ApprovalDecided)}
    asked = {r.event.approval_id: r.event for r in records if isinstance(r.event, ApprovalRequested)}
    for line in trial.acknowledged.read_text().splitlines() if trial.acknowledged.exists() else ():
        approval_id, kind = json.loads(line)
        if type(decided.get(approval_id)).__name__ != kind:
            findings.lost_decisions.append(f"{name}: {approval_id} {kind}")
    findings.effects_twice += [f"{name}: {word}" for word, count in happened.items() if count > 1]
    permitted = {word for word, effect in CALLS.items() if effect != "danger"}
    for approval_id, request in asked.items():
        word, decision = json.loads(request.arguments)["word"], decided.get(approval_id)
        if isinstance(decision, Approved | Edited):
            permitted.add(f"{word}-edited" if isinstance(decision, Edited) else word)
    findings.unapproved_effects += [f"{name}: {word}" for word in happened if word not in permitted]
    _compare_results(trial, records, happened, findings)


def _compare_results(trial: Trial, records: list[Record], happened: Counter[str], findings: Findings) -> None:
    """Every call has one result; what is called done has happened, what is called refused has not; nothing is missing."""
    name = trial.home.name
    results = [r.event.result for r in records if isinstance(r.event, ToolFinished)]
    outcome = {result.call_id: result.outcome for result in results}
    words = {f"call_{step}_{place}": word for word, (step, place) in PLACES.items()}
    findings.outcomes.update(outcome.values())
    if not isinstance(records[-1].event, RunEnded) or [r.seq for r in records] != list(range(1, len(records) + 1)):
        findings.untold.append(f"{name}: the log has no end or a gap")
    if set(outcome) != set(words) or len(results) != len(words):
        findings.untold.append(f"{name}: calls without exactly one result")
    for call_id, word in words.items():
        if CALLS[word] == "read":
            continue
        shown = f"{word}-edited" if trial.answers.get(word) == "edit" else word
        if outcome.get(call_id) == "done" and not happened[shown]:
            findings.untold.append(f"{name}: {word} is called done and never happened")
        if outcome.get(call_id) in ("rejected", "failed", "cancelled") and happened[shown]:
            findings.untold.append(f"{name}: {word} happened and is called {outcome[call_id]}")


PLACES = {
    call["arguments"]["word"]: (step, place)
    for step, reply in enumerate(REPLIES, 1)
    for place, call in enumerate(reply.get("calls", ()), 1)
}


def run_trials(trials: int, seed: int, instances: int = 1) -> Findings:
    """All trials of a seed; several instances share a PostgreSQL database, a fresh one for each trial."""
    configure_logs("error")
    for module in PRELOADED if instances > 1 else PRELOADED[:2]:
        importlib.import_module(module)
    findings = Findings()
    with tempfile.TemporaryDirectory(prefix="zeno-chaos-") as directory:
        chance = random.Random(seed)
        whole = life(prepared(Path(directory) / "whole", random.Random(0)), 0) or 0
        for number in range(trials):
            with databases.database("sqlite" if instances == 1 else "postgresql") as url:
                trial = prepared(Path(directory) / f"trial-{seed}-{number}", chance, url)
                carried_through(trial, chance, findings, whole, instances)
                shutil.rmtree(trial.home)
    return findings


def main() -> None:
    """Run trials and print the figures; exit 1 when anything was lost, doubled, or done unapproved."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--instances", type=int, default=1)
    options = parser.parse_args()
    findings = run_trials(options.trials, options.seed, options.instances)
    figures = {field: getattr(findings, field) for field in _figures()}
    sys.stdout.write(json.dumps(figures, indent=2, default=dict) + "\n")
    sys.exit(findings.faults() > 0)


def _figures() -> tuple[str, ...]:
    """The figures in order."""
    return tuple(Findings.__dataclass_fields__)


if __name__ == "__main__":
    main()
