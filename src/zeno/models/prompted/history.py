"""The conversation in the form of the protocol: calls as the model should have written them, results as fenced text.

Roles alternate, and a message is shown in the same words in every step, so the beginning of a request can be cached.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from zeno.core.messages import Message, Part, TextPart, ThinkingPart, ToolCall, ToolResult
from zeno.models.prompted.protocol import Form, written

PROVIDER = "prompted"
"""The family of thinking that was written in the protocol; it is shown again where it stood."""

_FENCE = re.compile(r"<(/?\s*result)", re.IGNORECASE)
_GO_ON = Message("user", (TextPart("Go on."),))


def rendered(messages: Sequence[Message], form: Form) -> tuple[Message, ...]:
    """`messages` for a model that knows no tools."""
    shown: list[Message] = []
    for position, message in enumerate(messages):
        following = messages[position + 1].role if position + 1 < len(messages) else None
        fresh = _assistant(message, form, complete=following == "user") if message.role == "assistant" else _user(message)
        if shown and shown[-1].role == fresh.role == "user":
            shown[-1] = Message("user", (*shown[-1].parts, TextPart("\n\n"), *fresh.parts))
            continue
        if shown and shown[-1].role == fresh.role:
            shown.append(_GO_ON)
        shown.append(fresh)
    return tuple(shown)


def _user(message: Message) -> Message:
    if message.role == "user":
        return message
    return Message("user", (TextPart("\n".join(_fenced(result) for result in message.results)),))


def _fenced(result: ToolResult) -> str:
    """A result between marks that its own text cannot contain."""
    text = _FENCE.sub(r"<\\\1", result.text)
    call_id, name = json.dumps(result.call_id), json.dumps(result.name)
    return f'<result call={call_id} tool={name} outcome="{result.outcome}">\n{text}\n</result>'


def _assistant(message: Message, form: Form, *, complete: bool) -> Message:
    """What the model wrote, as a reply of the protocol. A text that is followed by its own next reply was a progress note."""
    own = "\n\n".join(part.text for part in message.parts if isinstance(part, ThinkingPart) and part.provider == PROVIDER)
    foreign: list[Part] = [part for part in message.parts if isinstance(part, ThinkingPart) and part.provider != PROVIDER]
    actions: list[dict[str, Any]] = []
    if message.text:
        control = complete and not message.calls
        actions.append({"type": "DIRECT_RESPONSE", "isComplete": control, "text": message.text})
    actions += [{"type": "TOOL_CALL", "tool": call.name, "arguments": _arguments(call)} for call in message.calls]
    return Message("assistant", (*foreign, TextPart(written(own, actions, form))))


def _arguments(call: ToolCall) -> Any:
    """The arguments as an object, or as the text they are when they are none."""
    try:
        return json.loads(call.arguments) if call.arguments.strip() else {}
    except (ValueError, RecursionError):
        return call.arguments
