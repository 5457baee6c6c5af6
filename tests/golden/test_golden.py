"""Old logs stay readable, and the house's fold and the page's say the same of them."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from zeno.core.events import Event
from zeno.core.messages import ToolCall
from zeno.core.state import RunState, fold

HERE = Path(__file__).parent
EXPECTED: dict[str, Any] = json.loads((HERE / "expected.json").read_text("utf-8"))


def _told(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()]


def _events(name: str) -> list[Event]:
    records = [each for each in _told(name) if "seq" in each]
    return [msgspec.convert({k: v for k, v in each.items() if k not in ("seq", "at")}, Event) for each in records]


def known(state: RunState) -> dict[str, Any]:
    """What both folds know of a run."""
    outcomes = {result.call_id: result for message in state.messages for result in message.results}
    outcomes |= {result.call_id: result for result in state.results}
    steps = [message for message in state.messages if message.role == "assistant"]
    return {
        "ending": state.ending,
        "usage": msgspec.to_builtins(state.usage),
        "user": [message.text for message in state.messages if message.role == "user"],
        "replies": [message.text for message in steps],
        "calls": [_call(call, outcomes) for message in steps for call in message.calls],
        "waiting": sorted(held.approval_id for held in state.held.values() if held.decision is None),
        "cancel_requested": state.cancel_requested,
    }


def _call(call: ToolCall, outcomes: dict[str, Any]) -> dict[str, Any]:
    result = outcomes.get(call.id)
    return {
        "id": call.id,
        "name": call.name,
        "outcome": result.outcome if result else None,
        "files": [part.path for part in result.files] if result else [],
    }


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*.jsonl")))
def test_a_log_is_read_as_it_always_was(name: str) -> None:
    assert known(fold(_events(name))) == EXPECTED[name]


def test_every_expectation_has_its_log() -> None:
    assert sorted(EXPECTED) == sorted(path.stem for path in HERE.glob("*.jsonl"))
