"""`kill -9` at random boundaries, of one process and of three instances; `make chaos` runs a thousand trials of each."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.story import Findings, Trial, compare, takeovers
from tests.services import postgres_url
from zeno.core.decisions import Denied
from zeno.core.events import ApprovalDecided, ApprovalRequested, CancelRequested, Event, RunEnded, RunPaused, ToolFinished
from zeno.core.messages import ToolResult
from zeno.stores.event_log import Record

TRIALS = int(os.environ.get("ZENO_CHAOS_TRIALS", "100"))
ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_one_instance_loses_doubles_and_does_nothing_unapproved(seed: int) -> None:
    _carried_through(TRIALS // 2, seed, instances=1)


@pytest.mark.slow
def test_three_instances_lose_double_and_do_nothing_unapproved() -> None:
    postgres_url()
    # Taking over takes seconds in which nothing happens: many at once cost little, and leave the machine to others.
    figures = _carried_through(TRIALS, 3, instances=3)
    assert figures["takeover_seconds"]["n"] >= TRIALS // 10, "the killed ones were at work"


def _carried_through(trials: int, seed: int, instances: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.chaos.trials", "--trials", str(trials), "--seed", str(seed)]
    command += ["--instances", str(instances)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600 + 10 * trials, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures: dict[str, Any] = json.loads(done.stdout)
    sys.stderr.write(f"kill matrix, {instances} instance(s), seed {seed}: {done.stdout}")
    assert figures["trials"] == trials
    assert figures["kills"] >= trials // 2, "the trials did kill"
    assert figures["outcomes"].get("done", 0) > 2 * trials
    return figures


def test_the_comparison_finds_what_it_is_made_to_find(tmp_path: Path) -> None:
    trial = Trial(tmp_path, {})
    trial.effects.write_text("d1\nw1\nw1\n")
    trial.acknowledged.write_text(json.dumps(["r.1", "Approved"]) + "\n")
    asked = ApprovalRequested(1, "r.1", "call_1_3", "charge", "action", "danger", '{"word":"d1"}', "", "danger", "owner", 1)
    told: list[Event] = [
        asked,
        ApprovalDecided("r.1", Denied()),
        ToolFinished(1, ToolResult("call_1_3", "charge", "rejected", "")),
    ]
    findings = Findings()
    compare(trial, [Record(number, 0, event) for number, event in enumerate(told, 1)], findings)
    assert findings.lost_decisions
    assert findings.effects_twice
    assert findings.unapproved_effects
    assert any("happened and is called rejected" in each for each in findings.untold)


def test_what_taking_over_took_is_counted_where_something_was_due(tmp_path: Path) -> None:
    trial = Trial(tmp_path, {})
    trial.drivers.write_text("1000 took\n2500 died\n8000 took\n8600 died\n14700 took\n15500 died\n30000 took\n")
    told: list[tuple[int, Event]] = [(1200, CancelRequested()), (8100, CancelRequested()), (15000, RunPaused(("r.1",)))]
    records = [
        Record(number, at, event)
        for number, (at, event) in enumerate([*told, (30100, RunEnded("answered", "answered", {}, 3))], 1)
    ]
    assert takeovers(trial, records) == [5.5, 6.1]
    findings = Findings(trials=1, takeovers=takeovers(trial, records))
    findings.add(Findings(trials=1, takeovers=[7.0], broken=["trial-1-2"]))
    assert findings.figures()["takeover_seconds"] == {"median": 6.1, "p99": 7.0, "n": 3}
    assert findings.faults() == 1
