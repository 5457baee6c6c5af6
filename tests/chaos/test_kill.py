"""`kill -9` at random boundaries, of one process and of three instances; `make chaos` runs a thousand trials of each."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services import postgres_url

TRIALS = int(os.environ.get("ZENO_CHAOS_TRIALS", "100"))
ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("instances", [1, 3])
def test_nothing_is_lost_doubled_or_done_unapproved(seed: int, instances: int) -> None:
    if instances > 1:
        postgres_url()
    # Taking over from another instance takes seconds, so fewer of those are tried each time.
    trials = TRIALS // 2 if instances == 1 else TRIALS // 5
    command = [sys.executable, "-m", "tests.chaos.trials", "--trials", str(trials), "--seed", str(seed)]
    command += ["--instances", str(instances)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60 + 60 * TRIALS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout)
    sys.stderr.write(f"kill matrix, {instances} instance(s), seed {seed}: {done.stdout}")
    assert figures["trials"] == trials
    assert figures["kills"] >= trials // 2, "the trials did kill"
    assert figures["outcomes"].get("done", 0) > 2 * trials


def test_the_comparison_finds_what_it_is_made_to_find(tmp_path: Path) -> None:
    from tests.chaos.trials import Findings, Trial, compare
    from zeno.core.decisions import Denied
    from zeno.core.events import ApprovalDecided, ApprovalRequested, ToolFinished
    from zeno.core.messages import ToolResult
    from zeno.stores.event_log import Record

    trial = Trial(tmp_path, {})
    trial.effects.write_text("d1\nw1\nw1\n")
    trial.acknowledged.write_text(json.dumps(["r.1", "Approved"]) + "\n")
    asked = ApprovalRequested(1, "r.1", "call_1_3", "charge", "action", "danger", '{"word":"d1"}', "", "danger", "owner", 1)
    told = [asked, ApprovalDecided("r.1", Denied()), ToolFinished(1, ToolResult("call_1_3", "charge", "rejected", ""))]
    findings = Findings()
    compare(trial, [Record(number, 0, event) for number, event in enumerate(told, 1)], findings)
    assert findings.lost_decisions
    assert findings.effects_twice
    assert findings.unapproved_effects
    assert any("happened and is called rejected" in each for each in findings.untold)
