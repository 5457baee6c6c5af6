"""The scripted model: replies from a file, for tests, demonstrations and replays.

Each line of the file is one reply as a JSON object. The model is strict: a request behind the last reply fails, a reply that
was never asked for fails, and so does a request that does not contain what the reply says to expect.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from zeno.core.errors import ConfigError, ModelUnavailable
from zeno.core.messages import Message, Part, TextPart, ThinkingPart, ToolCall, Usage
from zeno.core.ports import Delta, ModelRequest, Reply, TextDelta, ThinkingDelta, Turn


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call; `arguments` may be an object, or a string to be sent as it is, however broken."""

    name: str
    arguments: dict[str, Any] | str = {}
    id: str = ""

    @property
    def text(self) -> str:
        """The arguments as a model would write them."""
        return self.arguments if isinstance(self.arguments, str) else msgspec.json.encode(self.arguments).decode()


class ScriptedReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One reply. `expect` lists texts that the request must contain; `fails` is the code of an error to raise instead."""

    text: str = ""
    thinking: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    turn: Turn = "answer"
    usage: Usage = Usage()
    expect: tuple[str, ...] = ()
    fails: str = ""


class ScriptedModel:
    """Gives its replies in order, to each run for itself.

    A run's first request that already holds n replies continues behind the nth, so a resumed run fits.
    """

    def __init__(self, replies: Sequence[ScriptedReply], name: str = "scripted") -> None:
        self._replies = tuple(replies)
        self._name = name
        self._given: dict[str, tuple[int, int]] = {}
        self._spoken: ScriptedReply | None = None

    @classmethod
    def load(cls, path: Path) -> "ScriptedModel":
        """The script in a file. Raises `ConfigError` naming the line that is wrong."""
        try:
            lines = path.read_text("utf-8").splitlines()
        except OSError as error:
            raise ConfigError("script_unreadable", path=str(path), reason=error.strerror or "") from None
        replies = []
        for number, line in enumerate(lines, 1):
            try:
                replies += [msgspec.json.decode(line, type=ScriptedReply)] if line.strip() else []
            except msgspec.MsgspecError as error:
                raise ConfigError("script_invalid", path=str(path), line=number, reason=str(error)) from None
        return cls(replies, name=f"scripted:{path.name}")

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """The next reply, word by word. Raises `ModelUnavailable` when the script does not fit the request."""
        replied = sum(message.role == "assistant" for message in request.messages)
        position = self._position(request.run_id, replied)
        if position >= len(self._replies):
            raise ModelUnavailable("script_exhausted", replies=len(self._replies))
        self._given[request.run_id] = replied, position
        reply = self._spoken = self._replies[position]
        _check(reply, request, position)
        for delta in _deltas(reply):
            await asyncio.sleep(0)
            yield delta
        yield Reply(_message(reply, position), reply.usage, reply.turn, "stop", self._name)

    def _position(self, run_id: str, replied: int) -> int:
        """Which reply is next. One that never came into the conversation is given again, unless it was empty or an error."""
        if run_id not in self._given:
            return replied
        before, position = self._given[run_id]
        last = self._replies[position]
        used_up = last.fails or not (last.text.strip() or last.calls)
        return position + (replied - before or bool(used_up))

    def finish(self) -> None:
        """Raises `ConfigError` when replies are left over behind a final answer; a run that calls tools may still go on."""
        left = len(self._replies) - max((position + 1 for _, position in self._given.values()), default=0)
        if self._spoken is not None and not self._spoken.calls and left:
            raise ConfigError("script_unused", left=left)


def _check(reply: ScriptedReply, request: ModelRequest, position: int) -> None:
    shown = msgspec.json.encode([request.messages, request.context]).decode()
    for text in reply.expect:
        if text not in shown and msgspec.json.encode(text).decode()[1:-1] not in shown:
            raise ModelUnavailable("script_mismatch", reply=position + 1, expected=text)
    if reply.fails:
        raise ModelUnavailable(reply.fails)


def _deltas(reply: ScriptedReply) -> list[Delta]:
    thinking = [ThinkingDelta(word) for word in _words(reply.thinking)]
    return [*thinking, *(TextDelta(word) for word in _words(reply.text))]


def _words(text: str) -> list[str]:
    return re.findall(r"\S*\s+|\S+", text)


def _message(reply: ScriptedReply, position: int) -> Message:
    parts: list[Part] = [ThinkingPart(reply.thinking)] if reply.thinking else []
    parts += [TextPart(reply.text)] if reply.text else []
    parts += [ToolCall(call.id or f"call_{position + 1}_{n}", call.name, call.text) for n, call in enumerate(reply.calls, 1)]
    return Message("assistant", tuple(parts))
