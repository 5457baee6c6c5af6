"""Requests in the Responses format: what is stable first, each message encoded once, nothing stored at the provider.

Source: the Responses reference of the OpenAI API and its guide to reasoning without storage. It knows nothing of the answer.
"""

import re
from collections.abc import Set
from typing import Any

from msgspec import Raw

from zeno.core.messages import Message, Part, TextPart, ThinkingPart, ToolCall, ToolResult
from zeno.core.ports import ModelRequest, ToolSpec
from zeno.models.exchange import THOUGHTS
from zeno.models.remembered import Remembered, encoded
from zeno.models.replay import arguments_object, fit_id, fit_name, mentioned_files

PROVIDER = "responses"
TEMPERATURE = "temperature"
SUMMARY = "summary"
EFFORT = "effort"
SEALS = "seals"
"""That the provider hands its reasoning out sealed, to be shown to it again."""

_REASONS = re.compile(r"o\d|gpt-([5-9]|\d\d)|codex")
"""Names of models that reason and take no temperature."""
_PLAIN = re.compile(r"gpt-[34]|chatgpt")
"""Names of models that do not reason and refuse to be asked for it."""


class ResponsesRequests:
    """Writes the requests to one model."""

    def __init__(self, model: str) -> None:
        self.model = model
        name = model.lower().rpartition("/")[2]
        self._reasons = bool(_REASONS.match(name))
        self._plain = bool(_PLAIN.match(name))
        self._tool = Remembered(_encoded_tool)
        self._message = Remembered(_encoded_message)
        self._thoughtless = Remembered(_encoded_without_thoughts)

    def body(self, request: ModelRequest, without: Set[str] = frozenset()) -> bytes:
        """The body, without what is named. Two consecutive ones of a run are equal up to the context at the end."""
        write = self._thoughtless if THOUGHTS in without else self._message
        items = [item for message in request.messages if (item := write(message))]
        if request.context and request.pressing:
            items.append(encoded({"role": "user", "content": f"[context]\n{request.context}"}))
        tools = b",".join(map(self._tool, request.tools))
        return b"".join(
            (
                encoded(self._options(request, without))[:-1],
                b',"tools":[' + tools + b"]" if tools else b"",
                b',"input":[',
                b",".join(items),
                b"]}",
            )
        )

    def _options(self, request: ModelRequest, without: Set[str]) -> dict[str, Any]:
        options: dict[str, Any] = {"model": self.model, "stream": True, "store": False}
        if not self._plain and SEALS not in without:
            options["include"] = ["reasoning.encrypted_content"]
        if not self._reasons and TEMPERATURE not in without:
            options["temperature"] = request.temperature
        if request.max_output_tokens:
            options["max_output_tokens"] = request.max_output_tokens
        if reasoning := self._reasoning(request, without):
            options["reasoning"] = reasoning
        if request.response_schema:
            form = {"type": "json_schema", "name": "reply", "schema": request.response_schema, "strict": False}
            options["text"] = {"format": form}
        if request.system:
            options["instructions"] = request.system
        return options

    def _reasoning(self, request: ModelRequest, without: Set[str]) -> dict[str, str]:
        reasoning: dict[str, str] = {}
        if request.effort and not self._plain:
            # Not every model that reasons can be kept from it; all of them can be asked for little.
            refused = "low" if request.effort == "none" else None
            effort = refused if EFFORT in without else request.effort
            reasoning |= {"effort": effort} if effort else {}
        if (self._reasons or reasoning) and request.effort != "none" and SUMMARY not in without:
            reasoning["summary"] = "auto"
        return reasoning


def _encoded_tool(spec: ToolSpec) -> bytes:
    tool = {"type": "function", "name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return encoded(tool | {"strict": False})


def _encoded_without_thoughts(message: Message) -> bytes:
    return _encoded_message(Message(message.role, tuple(part for part in message.parts if not isinstance(part, ThinkingPart))))


def _encoded_message(message: Message) -> bytes:
    """The input items of a message, nothing for one that has none."""
    items = [item for part in message.parts if (item := _item(part, message.role))]
    while items and isinstance(items[-1], Raw):
        # A thought that led to nothing is refused.
        items.pop()
    items += [{"role": message.role, "content": line} for line in mentioned_files(message)]
    return b",".join(map(encoded, items))


def _item(part: Part, role: str) -> dict[str, Any] | Raw | None:
    match part:
        case TextPart(text) if text:
            return {"role": role, "content": text}
        case ThinkingPart(_, str(seal), provider) if provider == PROVIDER:
            return Raw(seal.encode())
        case ToolCall(call_id, name, arguments):
            written = bytes(arguments_object(arguments)).decode()
            return {"type": "function_call", "call_id": fit_id(call_id), "name": fit_name(name), "arguments": written}
        case ToolResult(call_id, _, outcome, text):
            return {"type": "function_call_output", "call_id": fit_id(call_id), "output": text or outcome}
    # Empty text says nothing, files are mentioned at the end, and foreign thoughts are nobody else's business.
    return None
