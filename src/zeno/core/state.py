"""The state of a run: a fold of its events. `apply` is the only thing that changes it."""

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from msgspec import Struct
from msgspec.structs import replace

from zeno.core.arguments import known_arguments
from zeno.core.decisions import Decision, Edited
from zeno.core.endings import Ending
from zeno.core.events import (
    ApprovalDecided,
    ApprovalRequested,
    CancelRequested,
    Event,
    ModelReplied,
    RunEnded,
    RunPaused,
    RunStarted,
    StepStarted,
    ToolFinished,
    ToolStarted,
    UserSaid,
)
from zeno.core.messages import Message, ToolCall, ToolResult, Usage
from zeno.core.ports import Turn
from zeno.core.progress import Progress


class Held(Struct, frozen=True):
    """A call that a person was asked about; `decision` is theirs, once there is one.

    `arguments` are what an earlier decision about the same call put in place of the model's.
    """

    approval_id: str
    definition: str
    cause: str
    approver: str
    arguments: str | None = None
    decision: Decision | None = None


class RunState(Struct, frozen=True):
    """What is known of a run. `step` counts the replies so far, `last_round` says that the last one had to be an answer.

    `open_calls` are the calls of the last reply that have no result yet, `started` those of them that were begun; `results` are
    the results that the last reply's calls have so far. When the last call is closed they become one message, in call order.
    `held` are the open calls that a person was asked about. Of calls by name and the digest of their arguments, `read` are the
    results of reads since the last change, and `unknown` those whose effect could not be told.
    """

    messages: tuple[Message, ...] = ()
    open_calls: tuple[ToolCall, ...] = ()
    started: frozenset[str] = frozenset()
    results: tuple[ToolResult, ...] = ()
    held: Mapping[str, Held] = {}
    asked: int = 0
    read: Mapping[tuple[str, str], ToolResult] = {}
    unknown: frozenset[tuple[str, str]] = frozenset()
    turn: Turn | None = None
    step: int = 0
    empty_replies: int = 0
    asked_final: bool = False
    last_round: bool = False
    hidden: frozenset[str] = frozenset()
    progress: Progress = Progress()
    cancel_requested: bool = False
    usage: Usage = Usage()
    tools_done: tuple[str, ...] = ()
    tools_failed: tuple[str, ...] = ()
    ending: Ending | None = None

    def decision(self, call: ToolCall) -> Decision | None:
        """What was decided about an open call."""
        held = self.held.get(call.id)
        return held.decision if held else None

    def edited(self, call: ToolCall) -> str | None:
        """The arguments that a person put in place of the model's, if they did."""
        held = self.held.get(call.id)
        if held is None:
            return None
        return held.decision.arguments if isinstance(held.decision, Edited) else held.arguments

    def arguments(self, call: ToolCall) -> dict[str, Any] | None:
        """The arguments that a call would be carried out with: a person's, if they changed them. `None` if unreadable."""
        edited = self.edited(call)
        return known_arguments(call.arguments if edited is None else edited)


def fold(events: Iterable[Event], state: RunState = RunState()) -> RunState:  # noqa: B008 - a frozen value
    """The state after `events`."""
    for event in events:
        state = apply(state, event)
    return state


def apply(state: RunState, event: Event) -> RunState:
    """The state after one more event."""
    match event:
        case RunStarted():
            return state
        case UserSaid(parts):
            messages = (*state.messages, Message("user", parts))
            return replace(
                state,
                messages=messages,
                turn=None,
                empty_replies=0,
                progress=Progress(),
                read={},
                last_round=False,
                ending=None,
            )
        case StepStarted(final=final, hidden=hidden):
            return replace(state, asked_final=final, hidden=hidden)
        case ModelReplied():
            return _with_reply(state, event)
        case ToolStarted(call_id=call_id):
            return replace(state, started=state.started | {call_id})
        case ToolFinished():
            return _with_result(state, event)
        case ApprovalRequested(call_id=call_id):
            edited = next((state.edited(call) for call in state.open_calls if call.id == call_id), None)
            held = Held(event.approval_id, event.definition, event.cause, event.approver, edited)
            return replace(state, held={**state.held, call_id: held}, asked=state.asked + 1)
        case ApprovalDecided(approval_id, decision):
            return _with_decision(state, approval_id, decision)
        case RunPaused():
            return replace(state, ending="awaiting_approval")
        case CancelRequested():
            return replace(state, cancel_requested=True, ending=None)
        case RunEnded(ending=ending):
            return replace(state, ending=ending)
    assert_never(event)


def _with_reply(state: RunState, event: ModelReplied) -> RunState:
    calls = event.message.calls
    empty = not calls and not event.message.text.strip()
    return replace(
        state,
        # An empty reply is no turn of the conversation: providers refuse to be shown one.
        messages=state.messages if empty else (*state.messages, event.message),
        open_calls=calls,
        started=frozenset(),
        results=(),
        turn=None if calls else event.turn,
        step=event.step,
        last_round=state.asked_final,
        empty_replies=state.empty_replies + 1 if empty else 0,
        usage=state.usage + event.usage,
    )


def _with_result(state: RunState, event: ToolFinished) -> RunState:
    result, done = event.result, event.result.outcome == "done"
    state = replace(
        _with_knowledge(state, event),
        open_calls=tuple(call for call in state.open_calls if call.id != result.call_id),
        held={call_id: held for call_id, held in state.held.items() if call_id != result.call_id},
        results=(*state.results, result),
        usage=state.usage + event.usage,
        tools_done=(*state.tools_done, result.name) if done else state.tools_done,
        tools_failed=state.tools_failed if done else (*state.tools_failed, result.name),
    )
    if state.open_calls:
        return state
    calls = state.messages[-1].calls
    order = {call.id: position for position, call in enumerate(calls)}
    ordered = tuple(sorted(state.results, key=lambda item: order[item.call_id]))
    messages, progress = (*state.messages, Message("tool", ordered)), state.progress.after(calls, ordered)
    return replace(state, messages=messages, results=(), started=frozenset(), progress=progress)


def _with_knowledge(state: RunState, event: ToolFinished) -> RunState:
    """What later calls need to know of this one: a read may be answered again, what was changed is to be read anew."""
    same = event.result.name, event.digest
    if event.effect != "read":
        changed = event.result.outcome in ("done", "unknown", "failed")
        unknown = state.unknown | {same} if event.result.outcome == "unknown" else state.unknown
        return replace(state, read={} if changed else state.read, unknown=unknown)
    if event.result.outcome == "done":
        return replace(state, read={**state.read, same: event.result})
    return state


def _with_decision(state: RunState, approval_id: str, decision: Decision) -> RunState:
    """A decision counts for the approval that it names and for no other."""
    held = {
        call_id: replace(held, decision=decision) if held.approval_id == approval_id and held.decision is None else held
        for call_id, held in state.held.items()
    }
    return replace(state, held=held, ending=None)
