"""The step table: a run as people audit it, rebuilt from the log alone."""

from collections.abc import Iterable

from msgspec import Struct

from zeno.core.events import ModelReplied, StepStarted, ToolFinished, ToolStarted
from zeno.core.messages import ToolCall, Usage
from zeno.core.ports import ActionKind
from zeno.stores.event_log import Record

SUMMARY = 200
"""Characters of a call's arguments that the table shows."""


class Step(Struct, frozen=True):
    """One action of a run. `milliseconds` is `None` while it is open; `tokens` counts all tokens of the run so far."""

    number: int
    action: ActionKind
    tool: str
    arguments: str
    outcome: str
    result_length: int
    tokens: int
    milliseconds: int | None


def steps(records: Iterable[Record]) -> list[Step]:
    """The actions of a run in the order in which they ended; those that never did come last, outcome `open`."""
    asked_at = number = 0
    usage = Usage()
    calls: dict[str, ToolCall] = {}
    begun: dict[str, tuple[int, ActionKind]] = {}
    table: list[Step] = []
    for record in records:
        match record.event:
            case StepStarted():
                asked_at = record.at
            case ModelReplied(step=number, message=message):
                usage = usage + record.event.usage
                calls.update((call.id, call) for call in message.calls)
                if message.text or not message.calls:
                    took = record.at - asked_at
                    table.append(Step(number, "DIRECT_RESPONSE", "", "", "done", len(message.text), _total(usage), took))
            case ToolStarted(call_id=call_id, action=action):
                begun[call_id] = (record.at, action)
            case ToolFinished(step=number, result=result):
                at, action = begun.pop(result.call_id, (record.at, "TOOL_CALL"))
                arguments = _summary(calls.get(result.call_id))
                length = len(result.text)
                usage = usage + record.event.usage
                took = record.at - at
                table.append(Step(number, action, result.name, arguments, result.outcome, length, _total(usage), took))
            case _:
                pass
    for call_id, (_, action) in begun.items():
        call = calls[call_id]
        table.append(Step(number, action, call.name, _summary(call), "open", 0, _total(usage), None))
    return table


def _summary(call: ToolCall | None) -> str:
    text = " ".join(call.arguments.split()) if call else ""
    return text if len(text) <= SUMMARY else f"{text[: SUMMARY - 1]}…"


def _total(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens
