"""`decide` as a table: a state and a policy in, an action out."""

import pytest
from msgspec.structs import replace

from zeno.core.actions import Action, AskModel, CallTools, CloseCalls, Finish
from zeno.core.messages import Message, TextPart, ToolCall
from zeno.core.ports import ToolSpec
from zeno.core.state import Policy, RunState, decide

SCHEMA = {"type": "object", "properties": {}, "required": []}
LOOK = ToolSpec("look", "Use it.", SCHEMA)
WRITE = ToolSpec("write", "Use it.", SCHEMA, effect="write")
DRAW = ToolSpec("draw", "Use it.", SCHEMA, effect="write", repeatable=True)
MAIL = ToolSpec("mail", "Use it.", SCHEMA, effect="danger")
POLICY = Policy(2, {spec.name: spec for spec in (LOOK, WRITE, DRAW, MAIL)})
CONSENT = replace(POLICY, allow_danger=True)

ASKED = RunState(messages=(Message("user", (TextPart("go"),)),))


def call(name: str, number: int = 1) -> ToolCall:
    return ToolCall(f"{name}{number}", name, "{}")


def calling(*calls: ToolCall, started: frozenset[str] = frozenset(), step: int = 1) -> RunState:
    return replace(ASKED, open_calls=calls, started=started, step=step)


def said(text: str, turn: str, step: int = 1) -> RunState:
    messages = (*ASKED.messages, Message("assistant", (TextPart(text),)))
    return replace(ASKED, messages=messages, turn=turn, step=step)


TABLE = {
    "a new run asks the model": (ASKED, POLICY, AskModel(1)),
    "an answer ends the run": (said("42", "answer"), POLICY, Finish("answered", "answered")),
    "a question hands control to the user": (said("Which?", "question"), POLICY, Finish("asked_user", "asked_user")),
    "a progress note goes on": (said("Looking.", "note"), POLICY, AskModel(2)),
    "a note that asks hands control to the user": (said("哪个城市？", "note"), POLICY, Finish("asked_user", "asked_user")),
    "reads run together": (calling(call("look", 1), call("look", 2)), POLICY, CallTools((call("look", 1), call("look", 2)))),
    "a write runs alone": (calling(call("write", 1), call("write", 2)), POLICY, CallTools((call("write", 1),))),
    "reads before a write do not take it along": (
        calling(call("look"), call("write"), call("look", 2)),
        POLICY,
        CallTools((call("look"),)),
    ),
    "a tool that was taken away is not carried out": (
        replace(calling(call("look"), call("write")), hidden=frozenset({"look"})),
        POLICY,
        CloseCalls((call("look"),), "failed", "tool_hidden"),
    ),
    "an unknown tool is dispatched to be refused": (calling(call("fly")), POLICY, CallTools((call("fly"),))),
    "danger without consent is refused": (
        calling(call("mail"), call("look")),
        POLICY,
        CloseCalls((call("mail"),), "rejected", "approval_required"),
    ),
    "danger with consent runs alone": (calling(call("mail"), call("look")), CONSENT, CallTools((call("mail"),))),
    "an interrupted read runs again": (
        calling(call("look"), started=frozenset({"look1"})),
        POLICY,
        CallTools((call("look"),)),
    ),
    "an interrupted repeatable write runs again": (
        calling(call("draw"), started=frozenset({"draw1"})),
        POLICY,
        CallTools((call("draw"),)),
    ),
    "an interrupted write is unknown": (
        calling(call("write"), started=frozenset({"write1"})),
        POLICY,
        CloseCalls((call("write"),), "unknown", "interrupted"),
    ),
    "an interrupted call of a tool that is gone is unknown": (
        calling(call("fly"), started=frozenset({"fly1"})),
        POLICY,
        CloseCalls((call("fly"),), "unknown", "interrupted"),
    ),
    "the round after the last permitted one has no tools": (replace(ASKED, step=2), POLICY, AskModel(3, final=True)),
    "calls after the last round are not carried out": (
        replace(calling(call("look"), call("write"), step=3), last_round=True),
        POLICY,
        CloseCalls((call("look"), call("write")), "failed", "step_limit"),
    ),
    "the answer of the last round ends at the limit": (
        replace(said("so far", "answer", 3), last_round=True),
        POLICY,
        Finish("limit_reached", "max_steps"),
    ),
    "a last round that only calls tools ends too": (
        replace(ASKED, step=3, last_round=True),
        POLICY,
        Finish("limit_reached", "max_steps"),
    ),
    "a last round before the limit is one of a run that got nowhere": (
        replace(said("so far", "answer"), last_round=True),
        POLICY,
        Finish("loop_guard", "no_progress"),
    ),
    "an empty reply is asked again": (replace(ASKED, step=1, empty_replies=1), POLICY, AskModel(2, nudge=True)),
    "empty replies are not asked again for ever": (
        replace(ASKED, step=3, empty_replies=3),
        replace(POLICY, max_steps=9),
        Finish("model_failed", "empty_reply"),
    ),
    "cancelling ends a run without open calls": (
        replace(ASKED, cancel_requested=True),
        POLICY,
        Finish("cancelled", "cancelled"),
    ),
    "cancelling closes what had not begun": (
        replace(calling(call("write")), cancel_requested=True),
        POLICY,
        CloseCalls((call("write"),), "cancelled", "cancelled"),
    ),
    "cancelling a write at work leaves its effect unknown": (
        replace(calling(call("write"), started=frozenset({"write1"})), cancel_requested=True),
        POLICY,
        CloseCalls((call("write"),), "unknown", "cancelled_at_work"),
    ),
    "cancelling a read at work": (
        replace(calling(call("look"), started=frozenset({"look1"})), cancel_requested=True),
        POLICY,
        CloseCalls((call("look"),), "cancelled", "cancelled_at_work"),
    ),
}


@pytest.mark.parametrize("case", TABLE)
def test_decide(case: str) -> None:
    state, policy, action = TABLE[case]
    decided: Action = decide(state, policy)
    assert decided == action
