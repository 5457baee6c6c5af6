"""Asking a Chat Completions client directly, for tests of single bytes."""

import asyncio
from typing import Any

from tests.stubs.chat_server import ChatServer
from zeno.core.messages import Message, TextPart, ToolCall
from zeno.core.ports import Delta, ModelRequest, Reply, TextDelta, ThinkingDelta, ToolSpec
from zeno.models.dialects import Dialect
from zeno.models.openai_chat import OpenAIChat
from zeno.models.transport import Timeouts, Transport

KEY = "sk-very-secret-key"
RUN_ID = "0123456789abcdef0123456789abcdef"
TOOL = ToolSpec("calculate", "Computes. Use for sums.", {"type": "object", "properties": {}})
HI = Message("user", (TextPart("hi"),))


def request(*messages: Message, context: str = "Step 1.", **more: Any) -> ModelRequest:
    """A request of a run."""
    return ModelRequest("You are Zeno.", more.pop("tools", (TOOL,)), messages or (HI,), context, RUN_ID, **more)


def asked(
    server: ChatServer,
    *requests: ModelRequest,
    model: str = "m",
    dialect: Dialect | None = None,
    timeouts: Timeouts = Timeouts(),  # noqa: B008 - a frozen value
    told: list[Delta | Reply] | None = None,
) -> list[Delta | Reply]:
    """What one client tells for these requests, one after the other; kept in `told` also when it fails."""
    told = [] if told is None else told

    async def ask() -> list[Delta | Reply]:
        headers = {"authorization": f"Bearer {KEY}"}
        transport = Transport(base_url=server.url, headers=headers, secrets=(KEY,), family="openai", timeouts=timeouts)
        client = OpenAIChat(transport=transport, model=model, dialect=dialect)
        try:
            for each in requests or (request(),):
                async for item in client.stream(each):
                    told.append(item)
            return told
        finally:
            await transport.close()

    return asyncio.run(ask())


def reply(items: list[Delta | Reply]) -> Reply:
    """The last item."""
    assert isinstance(items[-1], Reply)
    return items[-1]


def thinking(items: list[Delta | Reply]) -> str:
    """The reasoning as it was told."""
    return "".join(item.text for item in items if isinstance(item, ThinkingDelta))


def text(items: list[Delta | Reply]) -> str:
    """The text as it was told."""
    return "".join(item.text for item in items if isinstance(item, TextDelta))


def call_list(items: list[Delta | Reply]) -> list[tuple[str, str, str]]:
    """The calls of the reply."""
    return [(call.id, call.name, call.arguments) for call in reply(items).message.calls]


def called(call_id: str = "a", arguments: str = "{}") -> ToolCall:
    """A call in a history."""
    return ToolCall(call_id, "calculate", arguments)
