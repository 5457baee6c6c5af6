"""The story of the trials: reads, a write, dangerous calls alone and side by side, some of them refused or changed.

Knows what is to be called and what a person says to it, and how to tell from the log and from what happened outside whether all
went well. It knows nothing of processes, and of who was killed when only what they noted themselves.
"""

import json
import math
import random
from collections import Counter
from dataclasses import dataclass, field, fields
from pathlib import Path
from statistics import median

from zeno.core.decisions import Approved, Edited
from zeno.core.events import ApprovalDecided, ApprovalRequested, RunEnded, RunPaused, ToolFinished
from zeno.settings import Settings
from zeno.stores.event_log import Record

CALLS = {
    "r1": "read",
    "w1": "write",
    "d1": "danger",
    "d2": "danger",
    "d3": "danger",
    "d4": "danger",
    "r2": "read",
    "w2": "write",
}
"""What each word's call may change."""

BOUNDARIES = 122
"""About what a life passes that has the story to itself and is never killed. Chances are drawn from it, so it is constant."""

_TOOL = {"read": "look", "write": "keep", "danger": "charge"}


def _call(word: str) -> dict[str, object]:
    return {"name": _TOOL[CALLS[word]], "arguments": {"word": word}}


STEPS = (("r1", "w1", "d1"), ("d2", "d3", "d4"), ("r2", "w2"))
"""The words of the calls that the model asks for together."""

REPLIES = [*({"calls": list(map(_call, words))} for words in STEPS), {"text": "All done."}]

PLACES = {f"call_{step}_{place}": word for step, words in enumerate(STEPS, 1) for place, word in enumerate(words, 1)}
"""Which word's call an id names."""

TOOLS = '''
import builtins
import os

from zeno.tools.function import tool


def take_effect(word):
    """Happen outside, for good; the moments before and after are boundaries."""
    builtins.pass_boundary("before an effect")
    file = os.open(EFFECTS, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, (word + "\\n").encode())
    os.fsync(file)
    os.close(file)
    builtins.pass_boundary("after an effect")


@tool()
async def look(word: str) -> str:
    """Look. Use in trials.

    Args:
        word: the word
    """
    return f"looked at {word}"


@tool(effect="write")
async def keep(word: str) -> str:
    """Keep a word. Use in trials.

    Args:
        word: the word
    """
    take_effect(word)
    return f"kept {word}"


@tool(effect="danger")
async def charge(word: str) -> str:
    """Charge a word. Use in trials.

    Args:
        word: the word
    """
    take_effect(word)
    return f"charged {word}"
'''


@dataclass(frozen=True)
class Trial:
    """One home directory and what a person will say to each call, by the word that it is about."""

    home: Path
    answers: dict[str, str]
    database_url: str | None = None
    apart: bool = False
    """Whether each life is on a machine of its own, as far as the others can tell."""

    @property
    def nap(self) -> float:
        """Seconds between two looks: several instances that look all the time would keep each other from working."""
        return 0.005 if self.database_url is None else 0.25

    @property
    def effects(self) -> Path:
        """What happened outside, a word a line."""
        return self.home / "effects"

    @property
    def acknowledged(self) -> Path:
        """The decisions that Zeno said it has."""
        return self.home / "acknowledged"

    @property
    def drivers(self) -> Path:
        """When a driver took the run's lease, and when one that held it was killed: lines of milliseconds and a word."""
        return self.home / "drivers"

    def settings(self) -> Settings:
        """What every life is started with."""
        return Settings(
            home=self.home,
            database_url=self.database_url,
            model=f"scripted:{self.home / 'script.jsonl'}",
            tools={"modules": [str(self.home / "tools.py")]},
        )


def prepared(home: Path, chance: random.Random, database_url: str | None = None, *, apart: bool = False) -> Trial:
    """A fresh home with the story's script and tools."""
    home.mkdir(parents=True)
    (home / "script.jsonl").write_text("\n".join(map(json.dumps, REPLIES)), "utf-8")
    (home / "tools.py").write_text(TOOLS.replace("EFFECTS", repr(str(home / "effects"))), "utf-8")
    danger = [word for word, effect in CALLS.items() if effect == "danger"]
    return Trial(home, {word: chance.choice(("approve", "approve", "edit", "deny")) for word in danger}, database_url, apart)


@dataclass
class Findings:
    """What trials found. Every list of words should stay empty; `takeovers` are seconds."""

    trials: int = 0
    kills: int = 0
    lives: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    lost_decisions: list[str] = field(default_factory=list)
    effects_twice: list[str] = field(default_factory=list)
    unapproved_effects: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """Trials that came to no end."""
    takeovers: list[float] = field(default_factory=list)

    def add(self, other: "Findings") -> None:
        """What another trial found."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def faults(self) -> int:
        """How much there is that must not be."""
        return sum(map(len, (self.lost_decisions, self.effects_twice, self.unapproved_effects, self.untold, self.broken)))

    def figures(self) -> dict[str, object]:
        """All of it, with the seconds that taking over took summed up."""
        figures = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "takeovers"}
        ordered = sorted(self.takeovers)
        middle, late = (median(ordered), ordered[math.ceil(len(ordered) * 0.99) - 1]) if ordered else (None, None)
        return figures | {"takeover_seconds": {"median": middle, "p99": late, "n": len(ordered)}}


def compare(trial: Trial, records: list[Record], findings: Findings) -> None:
    """What the log says beside what really happened."""
    name = trial.home.name
    happened = Counter(_lines(trial.effects))
    decided = {r.event.approval_id: r.event.decision for r in records if isinstance(r.event, ApprovalDecided)}
    asked = {r.event.approval_id: r.event for r in records if isinstance(r.event, ApprovalRequested)}
    for approval_id, kind in map(json.loads, _lines(trial.acknowledged)):
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
    findings.outcomes.update(outcome.values())
    ended = bool(records) and isinstance(records[-1].event, RunEnded)
    if not ended or [r.seq for r in records] != list(range(1, len(records) + 1)):
        findings.untold.append(f"{name}: the log has no end or a gap")
    if set(outcome) != set(PLACES) or len(results) != len(PLACES):
        findings.untold.append(f"{name}: calls without exactly one result")
    for call_id, word in PLACES.items():
        if CALLS[word] == "read":
            continue
        shown = f"{word}-edited" if trial.answers.get(word) == "edit" else word
        if outcome.get(call_id) == "done" and not happened[shown]:
            findings.untold.append(f"{name}: {word} is called done and never happened")
        if outcome.get(call_id) in ("rejected", "failed", "cancelled") and happened[shown]:
            findings.untold.append(f"{name}: {word} happened and is called {outcome[call_id]}")


def takeovers(trial: Trial, records: list[Record]) -> list[float]:
    """For each kill of the instance that held the run's lease: seconds until another one has taken it.

    From the last thing that the killed process does, which is to note the time, to the time that the next driver notes when the
    transaction that gives it the lease has been committed; one clock, that of the machine. Its first event follows at once, but
    for a driver that is killed before. A kill after which nothing was due, the run being paused or over, is not counted: how
    long that takes is up to the person.
    """
    told = [(record.at, "rests" if isinstance(record.event, RunPaused | RunEnded) else "works") for record in records]
    noted = [(int(at), what) for at, what in map(str.split, _lines(trial.drivers))]
    found, died, before = [], None, ""
    for at, what in sorted(told + noted):
        if what == "died" and before != "rests":
            died = at
        elif what == "took" and died is not None:
            found.append((at - died) / 1000)
            died = None
        before = what
    return found


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.exists() else []
