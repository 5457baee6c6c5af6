"""What comes next in a run. Pure: the same state and policy always give the same action."""

from zeno.core.actions import Action, AskModel, Await, CallTools, CloseCalls, Finish, RequestApprovals
from zeno.core.arguments import mark
from zeno.core.decisions import PERMITTING, Expired
from zeno.core.messages import ToolCall
from zeno.core.policy import Permission, Policy
from zeno.core.state import RunState

MOST_EMPTY_REPLIES = 2
"""How often an empty reply is answered by asking again before the run gives up."""


def decide(state: RunState, policy: Policy) -> Action:
    """The next action of a run that has not ended."""
    if state.cancel_requested and not state.open_calls:
        return Finish("cancelled", "cancelled")
    if state.open_calls:
        return _decide_calls(state, policy)
    if state.last_round:
        over = state.step > policy.max_steps
        return Finish("limit_reached", "max_steps") if over else Finish("loop_guard", "no_progress")
    if state.empty_replies > MOST_EMPTY_REPLIES:
        return Finish("model_failed", "empty_reply")
    if state.empty_replies or state.turn is None:
        return _ask(state, policy)
    if state.turn == "answer":
        return Finish("answered", "answered")
    if state.turn == "question" or _asks(state.messages[-1].text):
        return Finish("asked_user", "asked_user")
    return _ask(state, policy)


def permission(state: RunState, policy: Policy, call: ToolCall) -> Permission:
    """What the policy says of an open call, with the arguments that it would be carried out with.

    A call that cannot be carried out at all, for want of a tool or of arguments, needs no permission: it only fails.
    """
    spec, arguments = policy.tools.get(call.name), state.arguments(call)
    if spec is None or arguments is None:
        return Permission("allow")
    unknown_before = bool(state.unknown) and (call.name, mark(spec, arguments)) in state.unknown
    return policy.permission(spec, arguments, unknown_before=unknown_before, said=state.messages)


def may_run(state: RunState, policy: Policy, call: ToolCall) -> bool:
    """Whether a call may be carried out now: by itself, or because a person permitted this very call of this very tool."""
    permitted = permission(state, policy, call)
    if permitted.verdict == "ask":
        return isinstance(state.decision(call), PERMITTING) and not _is_stale(state, policy, call, permitted)
    return permitted.verdict == "allow"


def _ask(state: RunState, policy: Policy) -> AskModel:
    verdict = state.progress.verdict()
    final = state.step >= policy.max_steps or verdict.stop
    return AskModel(state.step + 1, final, nudge=bool(state.empty_replies), hint=verdict.hint, hidden=verdict.hidden)


def _decide_calls(state: RunState, policy: Policy) -> Action:
    first = state.open_calls[0]
    spec = policy.tools.get(first.name)
    if state.cancel_requested and first.id not in state.started:
        return CloseCalls((first,), "cancelled", "cancelled")
    if state.cancel_requested:
        return CloseCalls((first,), "cancelled" if spec and spec.may_run_again else "unknown", "cancelled_at_work")
    if state.last_round:
        return CloseCalls(state.open_calls, "failed", "step_limit")
    if first.name in state.hidden and first.id not in state.started:
        return CloseCalls((first,), "failed", "tool_hidden")
    if first.id in state.started and not (spec and may_run(state, policy, first)):
        return CloseCalls((first,), "unknown", "interrupted")
    if not may_run(state, policy, first):
        return _decide_permission(state, policy, first)
    if not _is_read(first, policy):
        return CallTools((first,))
    calls = []
    for call in state.open_calls:
        if not _is_read(call, policy) or call.name in state.hidden or not may_run(state, policy, call):
            break
        calls.append(call)
    return CallTools(tuple(calls))


def _decide_permission(state: RunState, policy: Policy, first: ToolCall) -> Action:
    """What to do about a call that may not run as things stand. All that need a person are asked about at once."""
    permitted, decision = permission(state, policy, first), state.decision(first)
    if permitted.verdict == "deny":
        return CloseCalls((first,), "rejected", permitted.cause)
    if not policy.attended:
        return CloseCalls((first,), "rejected", "approval_required")
    if decision is not None and not isinstance(decision, PERMITTING):
        return CloseCalls((first,), "rejected", "approval_expired" if isinstance(decision, Expired) else "denied")
    visible = [(call, permission(state, policy, call)) for call in state.open_calls if call.name not in state.hidden]
    wanted = tuple(
        (call, asked)
        for call, asked in visible
        if asked.verdict == "ask" and (call.id not in state.held or _is_stale(state, policy, call, asked))
    )
    return RequestApprovals(wanted) if wanted else Await()


def _is_stale(state: RunState, policy: Policy, call: ToolCall, permitted: Permission) -> bool:
    """Whether what was decided is void: about another tool than it is by now, or by an owner what is for an admin to decide."""
    held, spec = state.held.get(call.id), policy.tools.get(call.name)
    if held is None or spec is None:
        return False
    return held.definition != spec.digest or (permitted.approver == "admin" and held.approver != "admin")


def _is_read(call: ToolCall, policy: Policy) -> bool:
    """Whether a call changes nothing; an unknown tool will not run at all, so it counts as one that does not."""
    spec = policy.tools.get(call.name)
    return spec is None or spec.effect == "read"


def _asks(text: str) -> bool:
    """Whether a progress note is in truth a question; then the user must get the word, or it is asked for ever."""
    return text.rstrip().endswith(("?", "？"))
