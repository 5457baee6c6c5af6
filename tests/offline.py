"""Runs the offline model against real tools: asks it, executes its calls, shows it the results, until the turn ends."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zeno.core.errors import ToolFailed
from zeno.core.messages import FilePart, Message, TextPart, ToolResult
from zeno.core.ports import ModelRequest, Reply, TextDelta, ThinkingDelta, Tool, ToolContext
from zeno.models.offline.client import OfflineClient

MOST_STEPS = 10


@dataclass
class Conversation:
    """A conversation with the offline model over the files of a workspace."""

    tools: Mapping[str, Tool]
    workspace: Path
    client: OfflineClient = field(default_factory=OfflineClient)
    messages: list[Message] = field(default_factory=list)
    batches: list[list[tuple[str, dict[str, Any]]]] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    reply: Reply | None = None
    language: str = "en-US"

    def say(self, words: str, *files: str, most_steps: int = MOST_STEPS) -> str:
        """Say something, files attached; returns the model's final text."""
        parts = [FilePart(path=path, size=(self.workspace / path).stat().st_size) for path in files]
        self.messages.append(Message(role="user", parts=(TextPart(words), *parts)))
        self.batches = []
        return asyncio.run(self._turn(most_steps))

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """All calls of the last turn."""
        return [call for batch in self.batches for call in batch]

    def arguments(self, tool: str) -> list[dict[str, Any]]:
        """The arguments of the last turn's calls of one tool."""
        return [arguments for name, arguments in self.calls if name == tool]

    async def _turn(self, most_steps: int) -> str:
        for step in range(most_steps):
            last = step == most_steps - 1
            reply = await self._ask({} if last else self.tools)
            self.messages.append(reply.message)
            if not reply.message.calls:
                self.reply = reply
                return reply.message.text
            self.batches.append([(call.name, json.loads(call.arguments)) for call in reply.message.calls])
            results = await asyncio.gather(*(self._execute(call.id, call.name, call.arguments) for call in reply.message.calls))
            self.messages.append(Message(role="tool", parts=tuple(results)))
        raise AssertionError("the model called tools although none were offered")

    async def _ask(self, tools: Mapping[str, Tool]) -> Reply:
        request = ModelRequest(
            system="",
            tools=tuple(tool.spec for tool in tools.values()),
            messages=tuple(self.messages),
            context="",
            run_id="run",
            language=self.language,
        )
        items = [item async for item in self.client.stream(request)]
        self.thinking.append("".join(item.text for item in items if isinstance(item, ThinkingDelta)))
        reply = items[-1]
        assert isinstance(reply, Reply)
        assert "".join(item.text for item in items if isinstance(item, TextDelta)) == reply.message.text
        return reply

    async def _execute(self, call_id: str, name: str, arguments: str) -> ToolResult:
        context = ToolContext(run_id="0123456789abcdef", call_id=call_id, workspace=self.workspace)
        try:
            output = await self.tools[name].call(json.loads(arguments), context)
        except ToolFailed as failure:
            return ToolResult(call_id=call_id, name=name, outcome="failed", text=str(failure))
        return ToolResult(call_id=call_id, name=name, outcome="done", text=output.text, files=output.files)


def by_name(tools: Sequence[Tool]) -> dict[str, Tool]:
    """Tools by their names."""
    return {tool.spec.name: tool for tool in tools}
