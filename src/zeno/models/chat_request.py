"""Requests of Chat Completions as bytes: what is stable first, each message encoded once. It sends nothing."""

from collections.abc import Sequence
from typing import Any

import msgspec

from zeno.core.messages import Message, ThinkingPart
from zeno.core.ports import ModelRequest, ToolSpec
from zeno.models.dialects import Dialect
from zeno.models.remembered import Remembered, encoded
from zeno.models.replay import arguments_object, fit_id, fit_name, mentioned_files

_UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""What Gemini takes for the first call of a turn that it did not write itself; from its page on thought signatures."""


class ChatRequests:
    """Writes the requests to one model in one dialect."""

    def __init__(self, model: str, dialect: Dialect) -> None:
        self.model = model
        self.dialect = dialect
        self._message = Remembered(self._encoded_message)
        self._tool = Remembered(_encoded_tool)

    def body(self, request: ModelRequest) -> bytes:
        """The body of a request. Two consecutive ones of a run are equal up to the context at the end."""
        tools = b",".join(map(self._tool, request.tools))
        return b"".join(
            (
                encoded(self._options(request))[:-1],
                b',"tools":[' + tools + b"]" if tools else b"",
                b',"messages":[',
                b",".join(self._conversation(request)),
                b"]}",
            )
        )

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        dialect = self.dialect
        options: dict[str, Any] = {"model": self.model, "stream": True}
        if dialect.stream_options:
            options["stream_options"] = {"include_usage": True}
        if dialect.temperature:
            options["temperature"] = request.temperature
        if request.max_output_tokens:
            options[dialect.limit] = request.max_output_tokens
        return options | dialect.extra | dialect.asked(request.effort) | dialect.response_format(request.response_schema)

    def _conversation(self, request: ModelRequest) -> list[bytes]:
        """System prompt, conversation, current context: what changes comes last."""
        context = f"[context]\n{request.context}" if request.context and request.pressing else ""
        messages: Sequence[Message] = request.messages
        first: list[bytes] = []
        last: list[bytes] = []
        if self.dialect.system:
            first = [encoded({"role": "system", "content": request.system})] if request.system else []
        elif messages:
            first = [encoded(item) for item in _led_by(request.system, self._wire(messages[0]))]
            messages = messages[1:]
        if context and self.dialect.joined and messages:
            last = [encoded(item) for item in _ended_by(context, self._wire(messages[-1]))]
            messages = messages[:-1]
        elif context:
            last = [encoded({"role": "user", "content": context})]
        return [*first, *map(self._message, messages), *last]

    def _encoded_message(self, message: Message) -> bytes:
        return b",".join(map(encoded, self._wire(message)))

    def _wire(self, message: Message) -> list[dict[str, Any]]:
        """A message in the provider's shape; a message of results is one of its messages for each."""
        if message.role == "tool":
            results = message.results
            return [{"role": "tool", "tool_call_id": fit_id(result.call_id), "content": result.text} for result in results]
        content = "\n".join(filter(None, [message.text, *mentioned_files(message)]))
        wire: dict[str, Any] = {"role": message.role, "content": content}
        if message.role == "assistant":
            wire |= self._reasoning(message)
        if message.calls:
            wire["tool_calls"] = self._calls(message)
        return [wire]

    def _calls(self, message: Message) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = [
            {
                "id": fit_id(call.id),
                "type": "function",
                "function": {"name": fit_name(call.name), "arguments": bytes(arguments_object(call.arguments)).decode()},
            }
            for call in message.calls
        ]
        if self.dialect.replay_field == "extra_content" and self.dialect.replays != "never":
            seals = self._sealed(message) or [_UNSIGNED]
            for call, seal in zip(calls, seals, strict=False):
                call.update({"extra_content": seal} if seal else {})
        return calls

    def _reasoning(self, message: Message) -> dict[str, Any]:
        """The field that shows the model its own earlier reasoning, where its provider wants that."""
        dialect = self.dialect
        if dialect.replays == "never" or (dialect.replays == "calls" and not message.calls):
            return {}
        if dialect.replay_field == "reasoning_details":
            details = self._sealed(message)
            return {"reasoning_details": details} if details else {}
        if dialect.replay_field == "extra_content":
            return {}
        own = ("", dialect.name)
        thoughts = "".join(part.text for part in message.parts if isinstance(part, ThinkingPart) and part.provider in own)
        # A turn of another model has none, and the field may be demanded all the same.
        return {"reasoning_content": thoughts} if thoughts or dialect.demanded else {}

    def _sealed(self, message: Message) -> list[Any]:
        """What this provider sealed in an earlier turn; nothing of another's."""
        seals = (
            part.signature for part in message.parts if isinstance(part, ThinkingPart) and part.provider == self.dialect.name
        )
        return [item for seal in seals if seal for item in msgspec.json.decode(seal, type=list[Any])]


def _led_by(system: str, wire: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [wire[0] | {"content": f"{system}\n\n{wire[0]['content']}"}, *wire[1:]]


def _ended_by(context: str, wire: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*wire[:-1], wire[-1] | {"content": f"{wire[-1]['content']}\n\n{context}"}]


def _encoded_tool(spec: ToolSpec) -> bytes:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return encoded({"type": "function", "function": function})
