"""The single place of dispatch: here a call becomes a deed, or the reason why not.

Nothing that is not registered runs, nothing with arguments that do not fit, nothing that the policy does not allow and no
person permitted, and no effect that the ledger has seen before.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from zeno.core.actions import CloseCalls
from zeno.core.arguments import arguments_of, canonical, digest, mark
from zeno.core.decide import may_run
from zeno.core.decisions import Answered, Denied, Edited
from zeno.core.errors import EffectUnknown, ToolFailed
from zeno.core.events import ToolFinished, ToolStarted
from zeno.core.kit import Kit
from zeno.core.messages import FilePart, Outcome, ToolCall, ToolResult, Usage
from zeno.core.ports import Effect, Effecting, LedgerEntry, Tool, ToolContext, ToolOutput, ToolSpec
from zeno.core.prompt import CLOSED
from zeno.core.state import RunState

MOST_NAMES = 30
"""How many permitted tools an error names."""


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A call made ready: its tool and arguments, or the fault for which it cannot be carried out."""

    call: ToolCall
    tool: Tool | None
    arguments: dict[str, Any]
    repaired: bool = False
    fault: ToolFailed | None = None

    @property
    def id(self) -> str:
        return self.call.id

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def mark(self) -> str:
        """What it has in common with its repetitions."""
        return mark(self.tool.spec, self.arguments) if self.tool else digest(canonical(self.arguments))

    @property
    def effect(self) -> Effect:
        """What it may change; a tool that is not there changes nothing."""
        return self.tool.spec.effect if self.tool else "read"


def prepared(state: RunState, kit: Kit, call: ToolCall) -> Ready:
    """A call with its tool and its arguments, a person's ones where they changed them, all checked."""
    tool, edited = kit.tools.get(call.name), state.edited(call)
    try:
        read = arguments_of(call if edited is None else ToolCall(call.id, call.name, edited))
    except ToolFailed as unreadable:
        return Ready(call=call, tool=tool, arguments={}, fault=unreadable if tool else _unknown_tool(kit, call))
    fault = _unknown_tool(kit, call) if tool is None else _misfit(tool, read.value)
    return Ready(call=call, tool=tool, arguments=read.value, repaired=read.repaired, fault=fault)


def started(state: RunState, ready: Ready) -> ToolStarted:
    """The event that must be written before the call is carried out."""
    action = ready.tool.spec.action if ready.tool else "TOOL_CALL"
    return ToolStarted(state.step, ready.id, ready.name, action, ready.repaired, ready.effect)


async def carried_out(state: RunState, kit: Kit, ready: Ready) -> ToolFinished:
    """Carry a call out, and tell what became of it."""
    if ready.fault is not None or ready.tool is None:
        return failed(state, ready, ready.fault or _unknown_tool(kit, ready.call))
    spec = ready.tool.spec
    if not may_run(state, kit.policy, ready.call):
        return _finished(state, ready, "rejected", CLOSED["approval_required"], code="approval_required")
    if spec.effect == "read" and not spec.volatile and (known := state.read.get((ready.name, ready.mark))):
        return _finished(state, ready, "done", known.text, known.files, code="cached")
    try:
        if spec.may_run_again:
            output = await ready.tool.call(ready.arguments, _context(state, kit, ready))
            return _finished(state, ready, "done", output.text, output.files, usage=output.usage)
        return await _once(state, kit, ready, ready.tool)
    except EffectUnknown as failure:
        return _finished(state, ready, "unknown", failure.message, code=failure.code)
    except ToolFailed as failure:
        return failed(state, ready, failure)


async def closed(state: RunState, kit: Kit, call: ToolCall, action: CloseCalls) -> ToolFinished:
    """Give a call a result without carrying it out."""
    ready, decision = prepared(state, kit, call), state.decision(call)
    text = CLOSED[action.code]
    if isinstance(decision, Denied) and decision.reason:
        text += f" Their reason: {decision.reason}"
    finished = _finished(state, ready, action.outcome, text, code=action.code)
    if ready.tool and not ready.tool.spec.may_run_again and action.outcome in ("unknown", "rejected"):
        await kit.ledger.settle(_effecting(kit, ready), finished.result)
    return finished


def failed(state: RunState, ready: Ready, failure: ToolFailed) -> ToolFinished:
    """The event of a call that certainly changed nothing."""
    return _finished(state, ready, "failed", failure.message, code=failure.code)


async def _once(state: RunState, kit: Kit, ready: Ready, tool: Tool) -> ToolFinished:
    """Carry out an effect that the ledger does not know yet, and have it written there before anyone is told."""
    effecting, context = _effecting(kit, ready), _context(state, kit, ready)
    known = await kit.ledger.reserve(effecting)
    if known is not None and known.state == "done":
        return _finished(state, ready, "done", _done_before(known), known.files, code="already_done")
    if known is not None and (verified := await _cleared(state, kit, ready, tool, context)):
        return await _settled(state, kit, ready, verified, code="verified")
    try:
        output = await tool.call(ready.arguments, context)
    except EffectUnknown as failure:
        if (verified := await _verified(tool, ready, context)) is not None:
            return await _settled(state, kit, ready, verified, code="verified")
        await kit.ledger.settle(effecting, ToolResult(ready.id, ready.name, "unknown", failure.message))
        raise
    except ToolFailed as failure:
        await kit.ledger.settle(effecting, ToolResult(ready.id, ready.name, "failed", failure.message))
        raise
    return await _settled(state, kit, ready, output)


async def _settled(state: RunState, kit: Kit, ready: Ready, output: ToolOutput, code: str = "") -> ToolFinished:
    finished = _finished(state, ready, "done", output.text, output.files, code=code, usage=output.usage)
    await kit.ledger.settle(_effecting(kit, ready), finished.result)
    return finished


async def _cleared(state: RunState, kit: Kit, ready: Ready, tool: Tool, context: ToolContext) -> ToolOutput | None:
    """What an effect of unknown fate gave, as the tool finds out, or `None`: it is free to happen now.

    It is free when the tool is certain that it did not happen, or when a person who knew of it had it tried again. Raises
    `EffectUnknown` otherwise.
    """
    effecting, held = _effecting(kit, ready), state.held.get(ready.id)
    try:
        output = await tool.verify(ready.arguments, context)
    except EffectUnknown:
        if held is None or held.cause != "unknown_before":
            await kit.ledger.settle(effecting, ToolResult(ready.id, ready.name, "unknown", CLOSED["interrupted"]))
            raise EffectUnknown(CLOSED["interrupted"], code="interrupted") from None
        output = None
    if output is None:
        await kit.ledger.reserve(effecting, again=True)
    return output


async def _verified(tool: Tool, ready: Ready, context: ToolContext) -> ToolOutput | None:
    """What a call gave that was given up, if it can be shown to have been carried out: it may also be still at work."""
    try:
        return await tool.verify(ready.arguments, context)
    except EffectUnknown:
        return None


def _finished(
    state: RunState,
    ready: Ready,
    outcome: Outcome,
    text: str,
    files: tuple[FilePart, ...] = (),
    *,
    code: str = "",
    usage: Usage = Usage(),  # noqa: B008 - a frozen value
) -> ToolFinished:
    decision, held, edited = state.decision(ready.call), state.held.get(ready.id), state.edited(ready.call)
    if edited is not None:
        reason = f" Their reason: {decision.reason}" if isinstance(decision, Edited) and decision.reason else ""
        text = f"[A person changed the arguments to {edited} before permitting this call.{reason}]\n{text}"
    result = ToolResult(ready.id, ready.name, outcome, text, files)
    return ToolFinished(state.step, result, code, usage, ready.effect, ready.mark, held.approval_id if held else "")


def _effecting(kit: Kit, ready: Ready) -> Effecting:
    """The call as the ledger knows it: the key never holds the model's own id of it, which is new with every try."""
    spec: ToolSpec | None = ready.tool.spec if ready.tool else None
    received = spec.completed(ready.arguments) if spec else ready.arguments
    telling = {name: received.get(name) for name in spec.key} if spec and spec.key else received
    reach = kit.session_id if spec and spec.once_per == "session" else kit.run_id
    key = hashlib.sha256("\n".join((ready.name, reach, canonical(telling))).encode()).hexdigest()
    return Effecting(key, kit.run_id, ready.id, ready.name, ready.mark)


def _context(state: RunState, kit: Kit, ready: Ready) -> ToolContext:
    decision = state.decision(ready.call)
    answer = decision.answer if isinstance(decision, Answered) else None
    return ToolContext(kit.run_id, ready.id, kit.workspace, kit.language, answer)


def _done_before(known: LedgerEntry) -> str:
    return f"This was already done, by the call {known.call_id}, and was not done again. What it gave then:\n{known.text}"


def _unknown_tool(kit: Kit, call: ToolCall) -> ToolFailed:
    permitted = ", ".join(list(kit.tools)[:MOST_NAMES]) or "none"
    return ToolFailed(f"There is no tool {call.name!r}. Permitted: {permitted}.", code="unknown_tool")


def _misfit(tool: Tool, arguments: dict[str, Any]) -> ToolFailed | None:
    try:
        tool.check(arguments)
    except ToolFailed as fault:
        return fault
    return None
