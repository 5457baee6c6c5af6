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

from zeno.core.actions import AskModel, CallTools, CloseCalls, Finish
from zeno.core.arguments import Repaired, arguments_of
from zeno.core.endings import Ending
from zeno.core.errors import EffectUnknown, ModelUnavailable, ToolFailed
from zeno.core.events import Event, ModelReplied, RunEnded, StepStarted, ToolFinished, ToolStarted
from zeno.core.kit import Kit
from zeno.core.messages import Message, Part, ToolCall, ToolResult
from zeno.core.ports import Delta, Reply, ToolContext
from zeno.core.prompt import CLOSED, model_request
from zeno.core.state import RunState, apply, decide

Told = AsyncGenerator[Event | Delta, None]

MOST_ATTEMPTS = 2
"""How often one step asks the model, when its reply breaks off after some of it was shown."""

MOST_NAMES = 30
"""How many permitted tools an error names."""


async def run(state: RunState, kit: Kit) -> Told:
    """Go on from `state` until the run ends. Raises `RunError` when the model cannot be had."""
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
            return _close_calls(state, action)
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
                    shown = True
            raise ModelUnavailable("reply_incomplete", retryable=True)
        except ModelUnavailable as error:
            if not (shown and error.retryable) or attempt == MOST_ATTEMPTS:
                raise


def _replied(reply: Reply, state: RunState, step: int) -> ModelReplied:
    message = _with_unique_ids(reply.message, state, step)
    return ModelReplied(step, message, reply.turn, reply.usage, reply.finish_reason, reply.model)


async def _call_tools(state: RunState, kit: Kit, calls: tuple[ToolCall, ...]) -> Told:
    arguments = [_read_arguments(call) for call in calls]
    for call, read in zip(calls, arguments, strict=True):
        tool = kit.tools.get(call.name)
        action, repaired = tool.spec.action if tool else "TOOL_CALL", isinstance(read, Repaired) and read.repaired
        yield ToolStarted(state.step, call.id, call.name, action, repaired)
    begun = zip(calls, arguments, strict=True)
    tasks = [
        asyncio.create_task(_call_tool(kit, call, read, state.step), name=f"{call.name} {call.id}") for call, read in begun
    ]
    try:
        for finished in asyncio.as_completed(tasks):
            yield await finished
    finally:
        for task in tasks:
            task.cancel()
        # A tool that ignores its cancellation is left behind: stopping must not depend on its goodwill.
        await asyncio.wait(tasks, timeout=1)


def _read_arguments(call: ToolCall) -> Repaired | ToolFailed:
    """The arguments, or why there are none: a call with bad ones is told as started and as failed, like any other."""
    try:
        return arguments_of(call)
    except ToolFailed as failure:
        return failure


async def _close_calls(state: RunState, action: CloseCalls) -> Told:
    for call in action.calls:
        text = CLOSED[action.code]
        yield ToolFinished(state.step, ToolResult(call.id, call.name, action.outcome, text), action.code)


async def _finish(state: RunState, action: Finish) -> Told:
    yield ended(state, action.ending, action.code)


def ended(state: RunState, ending: Ending, code: str, **params: str | int) -> RunEnded:
    """The event that ends a run, with the account of what was done."""
    done, failed = (tuple(dict.fromkeys(names)) for names in (state.tools_done, state.tools_failed))
    return RunEnded(ending, code, params, state.step, done, failed)


async def _call_tool(kit: Kit, call: ToolCall, arguments: Repaired | ToolFailed, step: int) -> ToolFinished:
    """The one place of dispatch: nothing that is not registered runs, and nothing with arguments that are no JSON object."""
    try:
        tool = kit.tools.get(call.name)
        if tool is None:
            permitted = ", ".join(list(kit.tools)[:MOST_NAMES]) or "none"
            raise ToolFailed(f"There is no tool {call.name!r}. Permitted: {permitted}.", code="unknown_tool")
        if isinstance(arguments, ToolFailed):
            raise arguments
        output = await tool.call(arguments.value, ToolContext(kit.run_id, call.id, kit.workspace, kit.language))
    except EffectUnknown as failure:
        return ToolFinished(step, ToolResult(call.id, call.name, "unknown", failure.message), failure.code)
    except ToolFailed as failure:
        return ToolFinished(step, ToolResult(call.id, call.name, "failed", failure.message), failure.code)
    return ToolFinished(step, ToolResult(call.id, call.name, "done", output.text, output.files), usage=output.usage)


def _with_unique_ids(message: Message, state: RunState, step: int) -> Message:
    """`message` with every call id present and used once in the run: some models leave ids out or count from 0 each time."""
    seen = {call.id for earlier in state.messages for call in earlier.calls}
    parts: list[Part] = []
    for number, part in enumerate(message.parts):
        if isinstance(part, ToolCall) and (not part.id or part.id in seen):
            parts.append(replace(part, id=f"{part.id or 'call'}_{step}_{number}"))
        else:
            parts.append(part)
        seen.update(call.id for call in parts[-1:] if isinstance(call, ToolCall))
    return replace(message, parts=tuple(parts))
