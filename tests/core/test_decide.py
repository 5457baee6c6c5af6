"""`decide` as a table: a state and a policy in, an action out."""

import pytest
from msgspec.structs import replace

from zeno.core.actions import Action, AskModel, Await, CallTools, CloseCalls, Finish, RequestApprovals
from zeno.core.arguments import digest
from zeno.core.decide import decide, may_run
from zeno.core.decisions import Answered, Approved, Decision, Denied, Edited, Expired
from zeno.core.messages import Message, TextPart, ToolCall
from zeno.core.policy import Permission, Policy, Rule
from zeno.core.ports import Answer, ToolSpec
from zeno.core.state import Held, RunState

SCHEMA = {"type": "object", "properties": {}, "required": []}
LOOK = ToolSpec("look", "Use it.", SCHEMA)
WRITE = ToolSpec("write", "Use it.", SCHEMA, effect="write")
DRAW = ToolSpec("draw", "Use it.", SCHEMA, effect="write", repeatable=True)
MAIL = ToolSpec("mail", "Use it.", SCHEMA, effect="danger")
ASK = ToolSpec("ask", "Use it.", SCHEMA, asks=True)
POLICY = Policy(2, {spec.name: spec for spec in (LOOK, WRITE, DRAW, MAIL, ASK)})
CONSENT = replace(POLICY, allow_danger=True)

ASKED = RunState(messages=(Message("user", (TextPart("go"),)),))


def call(name: str, number: int = 1) -> ToolCall:
    return ToolCall(f"{name}{number}", name, "{}")


def calling(*calls: ToolCall, started: frozenset[str] = frozenset(), step: int = 1) -> RunState:
    return replace(ASKED, open_calls=calls, started=started, step=step)


def held(*decisions: Decision | None, name: str = "mail", definition: str = MAIL.digest, cause: str = "danger") -> RunState:
    """Calls of one tool that a person was asked about, with what they said."""
    wanted = [call(name, number) for number in range(1, len(decisions) + 1)]
    asked = {
        one.id: Held(f"r.{one.id}", definition, cause, "owner", None, decision)
        for one, decision in zip(wanted, decisions, strict=True)
    }
    return replace(calling(*wanted), held=asked)


def ruled(verdict: str, tool: str = "*", **arguments: str) -> Policy:
    return replace(POLICY, rules=(Rule(verdict, tool, arguments),))


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
    "danger is refused where there is nobody to ask": (
        calling(call("mail"), call("look")),
        replace(POLICY, attended=False),
        CloseCalls((call("mail"),), "rejected", "approval_required"),
    ),
    "all dangerous calls of a reply are asked about at once": (
        calling(call("mail", 1), call("look"), call("mail", 2)),
        POLICY,
        RequestApprovals(((call("mail", 1), Permission("ask", "danger")), (call("mail", 2), Permission("ask", "danger")))),
    ),
    "reads before a dangerous call do not wait for it": (
        calling(call("look"), call("mail")),
        POLICY,
        CallTools((call("look"),)),
    ),
    "an undecided call is awaited": (held(None, Approved()), POLICY, Await()),
    "a permitted call runs": (held(Approved()), POLICY, CallTools((call("mail"),))),
    "an edited call runs": (held(Edited("{}")), POLICY, CallTools((call("mail"),))),
    "a refused call is closed": (held(Denied("no")), POLICY, CloseCalls((call("mail"),), "rejected", "denied")),
    "no answer in time means no": (held(Expired()), POLICY, CloseCalls((call("mail"),), "rejected", "approval_expired")),
    "consent to another definition of the tool is void": (
        held(Approved(), definition="of before"),
        POLICY,
        RequestApprovals(((call("mail"), Permission("ask", "danger")),)),
    ),
    "a rule forbids what a person permitted": (
        held(Approved()),
        ruled("deny", "m*"),
        CloseCalls((call("mail"),), "rejected", "denied_by_rule"),
    ),
    "a person cannot edit a call into what a rule forbids": (
        held(Edited('{"to": "eve@evil.example"}')),
        ruled("deny", "mail", to="*@evil.example"),
        CloseCalls((call("mail"),), "rejected", "denied_by_rule"),
    ),
    "an owner cannot edit a call into what an admin has to permit": (
        held(Edited('{"to": "eve@evil.example"}')),
        replace(POLICY, rules=(Rule("ask", "mail", {"to": "*@evil.example"}, "admin"),)),
        RequestApprovals(((call("mail"), Permission("ask", "rule", "admin")),)),
    ),
    "a rule asks about a read": (
        calling(call("look")),
        ruled("ask", "look"),
        RequestApprovals(((call("look"), Permission("ask", "rule")),)),
    ),
    "a rule permits a dangerous call": (calling(call("mail")), ruled("allow", "mail"), CallTools((call("mail"),))),
    "asking beats permitting": (
        calling(call("mail")),
        replace(POLICY, rules=(Rule("allow", "*"), Rule("ask", "mail"))),
        RequestApprovals(((call("mail"), Permission("ask", "rule")),)),
    ),
    "everything is confirmed by hand": (
        calling(call("look")),
        replace(POLICY, manual=True, rules=(Rule("allow", "*"),)),
        RequestApprovals(((call("look"), Permission("ask", "manual")),)),
    ),
    "a question waits for its answer": (
        calling(call("ask")),
        CONSENT,
        RequestApprovals(((call("ask"), Permission("ask", "question")),)),
    ),
    "an answered question goes on": (
        held(Answered(Answer(text="blue")), name="ask", definition=ASK.digest, cause="question"),
        POLICY,
        CallTools((call("ask"),)),
    ),
    "what had an unknown effect is not tried again unasked": (
        replace(calling(call("write")), unknown=frozenset({("write", digest("{}"))})),
        POLICY,
        RequestApprovals(((call("write"), Permission("ask", "unknown_before")),)),
    ),
    "cancelling closes what waits for a person": (
        replace(held(None), cancel_requested=True),
        POLICY,
        CloseCalls((call("mail"),), "cancelled", "cancelled"),
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
    "an interrupted write goes to the ledger": (
        calling(call("write"), started=frozenset({"write1"})),
        POLICY,
        CallTools((call("write"),)),
    ),
    "an interrupted call that is no longer permitted is unknown": (
        calling(call("mail"), started=frozenset({"mail1"})),
        POLICY,
        CloseCalls((call("mail"),), "unknown", "interrupted"),
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


@pytest.mark.parametrize("decision", [None, Denied(), Expired()])
def test_only_an_explicit_yes_lets_a_call_run(decision: Decision | None) -> None:
    state = held(decision)
    assert not may_run(state, POLICY, state.open_calls[0])


def test_a_yes_to_one_call_is_none_to_another() -> None:
    state = held(Approved(), None)
    assert [may_run(state, POLICY, wanted) for wanted in state.open_calls] == [True, False]


PATTERNS = [
    (Rule("deny", "sql_*"), "sql_execute", {}, True),
    (Rule("deny", "sql_*"), "SQL_execute", {}, False),
    (Rule("deny", "mail", {"to": "*@evil.example"}), "mail", {"to": "eve@evil.example"}, True),
    (Rule("deny", "mail", {"to": "*@evil.example"}), "mail", {"to": "Eve@EVIL.example"}, True),
    (Rule("deny", "mail", {"to": "*@evil.example"}), "mail", {"to": ["bob@a.example", "eve@evil.example"]}, True),
    (Rule("ask", "mail", {"to": "*@evil.example"}), "mail", {"to": {"cc": ["eve@evil.example"]}}, True),
    (Rule("deny", "mail", {"to": "*@evil.example"}), "mail", {"to": []}, False),
    (Rule("allow", "mail", {"to": "*@a.example"}), "mail", {"to": ["bob@a.example", "li@a.example"]}, True),
    (Rule("allow", "mail", {"to": "*@a.example"}), "mail", {"to": ["eve@evil.example", "bob@a.example"]}, False),
    (Rule("allow", "mail", {"to": "*@a.example"}), "mail", {"to": "bob@A.example"}, False),
    (Rule("allow", "mail", {"to": '["*@a.example"]'}), "mail", {"to": ["eve@evil.example", "bob@a.example"]}, False),
    (Rule("allow", "mail", {"to": "*@a.example"}), "mail", {"to": []}, False),
    (Rule("allow", "mail", {"to": "*"}), "mail", {"to": []}, True),
    (Rule("allow", "mail", {"to": '[[]"bob@a.example"]'}, exact=True), "mail", {"to": ["bob@a.example"]}, True),
    (Rule("allow", "mail", {"to": "bob@a.example"}, exact=True), "mail", {"to": ["bob@a.example"]}, False),
    (Rule("deny", "mail", {"to": '*"eve@evil.example"*'}), "mail", {"to": ["bob@a.example", "eve@evil.example"]}, True),
    (Rule("deny", "mail", {"to": "*"}), "mail", {}, False),
    (Rule("deny", "pay", {"sum": "1???", "to": "x"}), "pay", {"sum": 1000, "to": "x"}, True),
    (Rule("deny", "pay", {"sum": "1???", "to": "x"}), "pay", {"sum": 999, "to": "x"}, False),
    (Rule("deny", "pay", {"sum": "1000"}), "pay", {"sum": 1000.0}, True),
]


@pytest.mark.parametrize(("rule", "tool", "arguments", "expected"), PATTERNS)
def test_rules_match_names_and_arguments(rule: Rule, tool: str, arguments: dict[str, object], expected: bool) -> None:
    assert rule.matches(tool, arguments) is expected
