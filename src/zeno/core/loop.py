"""The loop: decide, act, tell.

`run` yields what happens. Whoever drives it writes each event down before asking for the next item, so a `ToolStarted` is
durable before its tool runs and a refused write keeps the tool from running at all. The loop knows neither the log nor the
user: to pause, to cancel and to resume it is closed and later run again on the state folded from the log.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, assert_never

from msgspec.structs import replace

from zeno.core.actions import AskModel, CallTools, CloseCalls, Finish
from zeno.core.endings import Ending
from zeno.core.errors import EffectUnknown, ModelUnavailable, ToolFailed
from zeno.core.events import Event, ModelReplied, RunEnded, StepStarted, ToolFinished, ToolStarted
from zeno.core.kit import Kit
from zeno.core.messages import Message, Part, ToolCall, ToolResult
from zeno.core.ports import Delta, Reply, ToolContext
from zeno.core.prompt import CLOSED, model_request
from zeno.core.state import RunState, apply, decide

Told = AsyncGenerator[Event | Delta, None]


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
    yield StepStarted(action.step)
    async with aclosing(kit.model.stream(model_request(state, kit, action))) as stream:
        async for item in stream:
            if not isinstance(item, Reply):
                yield item
                continue
            yield ModelReplied(
                step=action.step,
                message=_with_unique_ids(item.message, state, action.step),
                turn=item.turn,
                usage=item.usage,
                finish_reason=item.finish_reason,
                model=item.model,
            )
            return
    raise ModelUnavailable("reply_incomplete")


async def _call_tools(state: RunState, kit: Kit, calls: tuple[ToolCall, ...]) -> Told:
    for call in calls:
        tool = kit.tools.get(call.name)
        yield ToolStarted(state.step, call.id, call.name, tool.spec.action if tool else "TOOL_CALL")
    tasks = [asyncio.create_task(_call_tool(kit, call), name=f"{call.name} {call.id}") for call in calls]
    try:
        for finished in asyncio.as_completed(tasks):
            result, code = await finished
            yield ToolFinished(state.step, result, code)
    finally:
        for task in tasks:
            task.cancel()
        # A tool that ignores its cancellation is left behind: stopping must not depend on its goodwill.
        await asyncio.wait(tasks, timeout=1)


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


async def _call_tool(kit: Kit, call: ToolCall) -> tuple[ToolResult, str]:
    """The one place of dispatch: nothing that is not registered runs, and nothing with arguments that are no JSON object."""
    try:
        tool = kit.tools.get(call.name)
        if tool is None:
            permitted = ", ".join(kit.tools) or "none"
            raise ToolFailed(f"There is no tool {call.name!r}. Permitted: {permitted}.", code="unknown_tool")
        ctx = ToolContext(kit.run_id, call.id, kit.workspace, kit.language)
        output = await tool.call(parse_arguments(call), ctx)
    except EffectUnknown as failure:
        return ToolResult(call.id, call.name, "unknown", failure.message), failure.code
    except ToolFailed as failure:
        return ToolResult(call.id, call.name, "failed", failure.message), failure.code
    return ToolResult(call.id, call.name, "done", output.text, output.files), ""


def parse_arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments as an object; an empty text is an empty object. Raises `ToolFailed` with the position of the fault."""
    try:
        arguments = json.loads(call.arguments) if call.arguments.strip() else {}
    except json.JSONDecodeError as error:
        raise _malformed(call, f"are not valid JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise _malformed(call, "must be one JSON object")
    return arguments


def _malformed(call: ToolCall, fault: str, most: int = 200) -> ToolFailed:
    """The failure of unreadable arguments, with their head and length only: a huge payload would inflate the next prompt."""
    text = call.arguments
    head = text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"
    return ToolFailed(f"The arguments of {call.name} {fault}. The tool has not run. They begin: {head}", code="bad_arguments")


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
