"""The loop: decide, act, tell.

`run` yields what happens. Whoever drives it writes each event down before asking for the next item, so a `ToolStarted` is
durable before its tool runs and a refused write keeps the tool from running at all. The loop knows neither the log nor the
user: to pause, to cancel and to resume it is closed and later run again on the state folded from the log.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import assert_never

from msgspec.structs import replace

from zeno.core import dispatch
from zeno.core.actions import AskModel, Await, CallTools, CloseCalls, Finish, RequestApprovals
from zeno.core.arguments import canonical, digest
from zeno.core.decide import decide
from zeno.core.endings import Ending
from zeno.core.errors import ModelUnavailable
from zeno.core.events import ApprovalRequested, Event, ModelReplied, RunEnded, RunPaused, StepStarted
from zeno.core.kit import Kit
from zeno.core.messages import Message, Part, ToolCall
from zeno.core.ports import Delta, Reply, RetryDelta
from zeno.core.prompt import model_request
from zeno.core.state import RunState, apply

Told = AsyncGenerator[Event | Delta, None]

MOST_ATTEMPTS = 2
"""How often one step asks the model, when its reply breaks off after some of it was shown."""

LONGEST_CALL_ID = 80
"""Characters of a model's id of a call; what tells two of the same id apart comes on top."""


async def run(state: RunState, kit: Kit) -> Told:
    """Go on from `state` until the run ends or pauses. Raises `RunError` when the model cannot be had."""
    while state.ending is None:
        async with aclosing(_act(state, kit)) as told:
            async for item in told:
                yield item
                if not isinstance(item, Delta):
                    state = apply(state, item)


def _act(state: RunState, kit: Kit) -> Told:
    match decide(state, kit.policy):
        case AskModel() as action:
            return _ask_model(state, kit, action)
        case CallTools(calls):
            return _call_tools(state, kit, calls)
        case CloseCalls() as action:
            return _close_calls(state, kit, action)
        case RequestApprovals() as action:
            return _request_approvals(state, kit, action)
        case Await():
            return _await(state)
        case Finish() as action:
            return _finish(state, action)
        case unknown:
            assert_never(unknown)


async def _ask_model(state: RunState, kit: Kit, action: AskModel) -> Told:
    """Ask, and once more when a reply broke off that was partly shown: the new attempt voids it."""
    request = model_request(state, kit, action)
    for attempt in range(1, MOST_ATTEMPTS + 1):
        yield StepStarted(action.step, attempt, action.final, action.hidden)
        shown = False
        try:
            async with aclosing(kit.model.stream(request)) as stream:
                async for item in stream:
                    if isinstance(item, Reply):
                        yield _replied(item, state, action.step)
                        return
                    yield item
                    shown = shown or not isinstance(item, RetryDelta)
            raise ModelUnavailable("reply_incomplete", retryable=True)
        except ModelUnavailable as error:
            if not (shown and error.retryable) or attempt == MOST_ATTEMPTS:
                raise


def _replied(reply: Reply, state: RunState, step: int) -> ModelReplied:
    message = _with_unique_ids(reply.message, state, step)
    return ModelReplied(step, message, reply.turn, reply.usage, reply.finish_reason, reply.model)


async def _call_tools(state: RunState, kit: Kit, calls: tuple[ToolCall, ...]) -> Told:
    ready = [dispatch.prepared(state, kit, call) for call in calls]
    for call in ready:
        yield dispatch.started(state, call)
    tasks = [asyncio.create_task(dispatch.carried_out(state, kit, call), name=f"{call.name} {call.id}") for call in ready]
    try:
        for finished in asyncio.as_completed(tasks):
            yield await finished
    finally:
        for task in tasks:
            task.cancel()
        # A tool that ignores its cancellation is left behind: stopping must not depend on its goodwill.
        await asyncio.wait(tasks, timeout=1)


async def _close_calls(state: RunState, kit: Kit, action: CloseCalls) -> Told:
    for call in action.calls:
        yield await dispatch.closed(state, kit, call, action)


async def _request_approvals(state: RunState, kit: Kit, action: RequestApprovals) -> Told:
    """Ask about calls. One whose arguments do not fit is not worth a person's time: it fails at once."""
    asked = state.asked
    for call, permission in action.calls:
        ready = dispatch.prepared(state, kit, call)
        if ready.fault is not None:
            yield dispatch.started(state, ready)
            yield dispatch.failed(state, ready, ready.fault)
        elif ready.tool is not None:
            asked += 1
            spec, approval_id = ready.tool.spec, f"{kit.run_id}.{asked}"
            yield ApprovalRequested(
                state.step,
                approval_id,
                call.id,
                call.name,
                "question" if spec.asks else "action",
                spec.effect,
                canonical(ready.arguments),
                spec.digest,
                permission.cause,
                permission.approver,
                kit.policy.patience,
                permission.passage,
            )


async def _await(state: RunState) -> Told:
    yield RunPaused(tuple(held.approval_id for held in state.held.values() if held.decision is None))


async def _finish(state: RunState, action: Finish) -> Told:
    yield ended(state, action.ending, action.code)


def ended(state: RunState, ending: Ending, code: str, **params: str | int) -> RunEnded:
    """The event that ends a run, with the account of what was done."""
    done, failed = (tuple(dict.fromkeys(names)) for names in (state.tools_done, state.tools_failed))
    return RunEnded(ending, code, params, state.step, done, failed)


def _with_unique_ids(message: Message, state: RunState, step: int) -> Message:
    """`message` with every call id present and used once in the run: some models leave ids out or count from 0 each time."""
    seen = {call.id for earlier in state.messages for call in earlier.calls}
    parts: list[Part] = []
    for number, part in enumerate(message.parts):
        if isinstance(part, ToolCall):
            call_id = _short(part.id or f"call_{step}_{number}")
            while call_id in seen:
                call_id += f"_{step}_{number}"
            seen.add(call_id)
            parts.append(replace(part, id=call_id))
        else:
            parts.append(part)
    return replace(message, parts=tuple(parts))


def _short(call_id: str) -> str:
    """An id that every database can keep: of a longer or unprintable one the beginning, and a digest that tells it apart."""
    if len(call_id) <= LONGEST_CALL_ID and call_id.isprintable():
        return call_id
    head = "".join(sign for sign in call_id if sign.isprintable())
    return f"{head[: LONGEST_CALL_ID - 17]}_{digest(call_id)}"
