"""The door of the prompted protocol for tests: a reply written in pieces goes in, what came of it comes out."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.stubs.written_model import Written, WrittenModel
from zeno.core.errors import ModelUnavailable
from zeno.core.messages import Message, TextPart
from zeno.core.ports import Delta, ModelRequest, Reply, TextDelta, ThinkingDelta, ToolSpec
from zeno.models.prompted.client import Prompted

WRITING = {"type": "object", "properties": {"instruction": {}, "text": {}}}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = (
    ToolSpec("weather", "Use it for weather.", CITY),
    ToolSpec("search", "Use it to look up.", {"type": "object", "properties": {"query": {}, "top": {}}}, action="RAG_RETRIEVE"),
    ToolSpec("draft", "Use it to write.", WRITING, action="LLM_GENERATE"),
)

HELLO = {"type": "DIRECT_RESPONSE", "isComplete": True, "text": "Hello."}
PARIS = {"type": "TOOL_CALL", "tool": "weather", "arguments": {"city": "Paris"}}
ROME = {"type": "TOOL_CALL", "tool": "weather", "arguments": {"city": "Rome"}}


@dataclass
class Heard:
    """What came of one reply."""

    deltas: list[Delta]
    reply: Reply

    @property
    def thinking(self) -> str:
        return "".join(delta.text for delta in self.deltas if isinstance(delta, ThinkingDelta))

    @property
    def text(self) -> str:
        return "".join(delta.text for delta in self.deltas if isinstance(delta, TextDelta))

    @property
    def calls(self) -> list[tuple[str, Any]]:
        return [(call.name, json.loads(call.arguments or "null")) for call in self.reply.message.calls]

    @property
    def order(self) -> list[Delta]:
        """The deltas, neighbours of one kind joined."""
        joined: list[Delta] = []
        for delta in self.deltas:
            if joined and type(joined[-1]) is type(delta):
                joined[-1] = type(delta)(joined[-1].text + delta.text)
            else:
                joined.append(delta)
        return joined


def hear(*pieces: str, tools: tuple[ToolSpec, ...] = TOOLS, **more: Any) -> Heard:
    """What the protocol makes of one reply written in these pieces; nothing is asked again."""
    model = Prompted(WrittenModel([Written(pieces, **more)]), corrections=0)
    request = ModelRequest("", tools, (Message("user", (TextPart("Hi"),)),), "", "0" * 32)

    async def listen() -> list[Delta | Reply]:
        return [item async for item in model.stream(request)]

    *deltas, reply = asyncio.run(listen())
    assert isinstance(reply, Reply)
    return Heard([delta for delta in deltas if not isinstance(delta, Reply)], reply)


def acts(*actions: Any, thinking: str = "I see.") -> str:
    """A reply in the form with tags."""
    return f"<thinking>{thinking}</thinking>\n<THINKING_DONE>\n<actions>{json.dumps({'actions': actions})}</actions>"


def refused(*pieces: str, **more: Any) -> str:
    """What is said to be wrong with a reply."""
    with pytest.raises(ModelUnavailable) as caught:
        hear(*pieces, **more)
    assert caught.value.code == "reply_unparsable"
    assert not caught.value.retryable
    return str(caught.value.params["reason"])
