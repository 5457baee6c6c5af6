"""The state of a run: a fold of its events. `apply` is the only thing that changes it; `decide` says what comes next."""

from collections.abc import Iterable, Mapping
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from zeno.core.actions import Action, AskModel, CallTools, CloseCalls, Finish
from zeno.core.endings import Ending
from zeno.core.events import (
    CancelRequested,
    Event,
    ModelReplied,
    RunEnded,
    RunStarted,
    StepStarted,
    ToolFinished,
    ToolStarted,
    UserSaid,
)
from zeno.core.messages import Message, ToolCall, ToolResult, Usage
from zeno.core.ports import ToolSpec, Turn
from zeno.core.progress import Progress

MOST_EMPTY_REPLIES = 2
"""How often an empty reply is answered by asking again before the run gives up."""


class RunState(Struct, frozen=True):
    """What is known of a run. `step` counts the replies so far, `last_round` says that the last one had to be an answer.

    `open_calls` are the calls of the last reply that have no result yet, `started` those of them that were begun; `results` are
    the results that the last reply's calls have so far. When the last call is closed they become one message, in call order.
    """

    messages: tuple[Message, ...] = ()
    open_calls: tuple[ToolCall, ...] = ()
    started: frozenset[str] = frozenset()
    results: tuple[ToolResult, ...] = ()
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


class Policy(Struct, frozen=True):
    """What a run may do. `max_steps` limits the rounds with tools; `allow_danger` is the user's blanket consent."""

    max_steps: int
    tools: Mapping[str, ToolSpec]
    allow_danger: bool = False


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
            return replace(state, messages=messages, turn=None, empty_replies=0, progress=Progress())
        case StepStarted(final=final, hidden=hidden):
            return replace(state, asked_final=final, hidden=hidden)
        case ModelReplied():
            return _with_reply(state, event)
        case ToolStarted(call_id=call_id):
            return replace(state, started=state.started | {call_id})
        case ToolFinished(result=result, usage=usage):
            return _with_result(state, result, usage)
        case CancelRequested():
            return replace(state, cancel_requested=True)
        case RunEnded(ending=ending):
            return replace(state, ending=ending)
    assert_never(event)


def decide(state: RunState, policy: Policy) -> Action:
    """The next action of a run that has not ended. Pure: the same state and policy always give the same action."""
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
    if first.id in state.started and not (spec and spec.may_run_again):
        return CloseCalls((first,), "unknown", "interrupted")
    if spec and spec.effect == "danger" and not policy.allow_danger:
        return CloseCalls((first,), "rejected", "approval_required")
    if not _is_read(first, policy):
        return CallTools((first,))
    calls = []
    for call in state.open_calls:
        if not _is_read(call, policy) or call.name in state.hidden:
            break
        calls.append(call)
    return CallTools(tuple(calls))


def _is_read(call: ToolCall, policy: Policy) -> bool:
    """Whether a call changes nothing; an unknown tool will not run at all, so it counts as one that does not."""
    spec = policy.tools.get(call.name)
    return spec is None or spec.effect == "read"


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


def _with_result(state: RunState, result: ToolResult, usage: Usage) -> RunState:
    done = result.outcome == "done"
    state = replace(
        state,
        open_calls=tuple(call for call in state.open_calls if call.id != result.call_id),
        results=(*state.results, result),
        usage=state.usage + usage,
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


def _asks(text: str) -> bool:
    """Whether a progress note is in truth a question; then the user must get the word, or it is asked for ever."""
    return text.rstrip().endswith(("?", "？"))
