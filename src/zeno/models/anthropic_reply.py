"""Replies in the Messages format: events come in, deltas and one whole message go out. It knows nothing of the request.

Source: the streaming page of the Messages reference of the Claude API.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from zeno.core.messages import Message, Part, TextPart, ThinkingPart, ToolCall, Usage
from zeno.core.ports import Delta, TextDelta, ThinkingDelta
from zeno.models.anthropic_request import PROVIDER, REDACTED


class _Error(Struct):
    type: str = ""
    message: str = ""


class _OutputDetails(Struct):
    thinking_tokens: int | None = None


class _Counts(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: _OutputDetails | None = None


class _Start(Struct):
    model: str = ""
    usage: _Counts | None = None


class _StopDetails(Struct):
    category: str | None = None
    explanation: str | None = None


class _Piece(Struct):
    """The start of a block, a piece of one, or the end of the message: their fields do not overlap."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw()
    stop_reason: str | None = None
    stop_details: _StopDetails | None = None


class Event(Struct):
    """One event of the stream, as far as it matters."""

    type: str = ""
    index: int = 0
    message: _Start | str | None = None
    content_block: _Piece | None = None
    delta: _Piece | None = None
    usage: _Counts | None = None
    error: _Error | str | None = None

    @property
    def failed(self) -> bool:
        """Whether the endpoint gives up, in the middle of a reply or before it."""
        return self.type == "error" or self.error is not None

    @property
    def failure(self) -> tuple[str, str]:
        """The kind of a failure and its words."""
        if isinstance(self.error, _Error):
            return self.error.type, f"{self.error.type}: {self.error.message}"
        return "", str(self.error or self.message or "")


@dataclass
class _Block:
    """A content block as far as it has been received."""

    kind: str
    call_id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    seal: str = ""

    def part(self) -> Part | None:
        """The part that the block becomes; `None` for an empty one, and for blocks of tools that run at the provider."""
        text = "".join(self.pieces)
        match self.kind:
            case "tool_use":
                return ToolCall(self.call_id, self.name, text)
            case "text" if text:
                return TextPart(text)
            case "thinking" | "redacted_thinking" if text or self.seal:
                return ThinkingPart(text, self.seal or None, PROVIDER)
        return None


@dataclass
class Draft:
    """The reply as far as it has been received. `finish_reason` is the provider's word, `refusal` why it declined."""

    finish_reason: str = ""
    refusal: str = ""
    model: str = ""
    _stopped: bool = False
    _blocks: list[_Block] = field(default_factory=list)
    _open: dict[int, _Block] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the protocol came to its end: what was cut off must not pass for an answer."""
        return self._stopped or bool(self.finish_reason)

    @property
    def message(self) -> Message:
        """What the model has written."""
        return Message("assistant", tuple(part for block in self._blocks if (part := block.part())))

    @property
    def usage(self) -> Usage | None:
        """The tokens, `None` when the endpoint has not counted them."""
        cached = self._counts.get("cache_read_input_tokens", 0)
        fresh = self._counts.get("input_tokens", 0) + self._counts.get("cache_creation_input_tokens", 0)
        if not self._counts:
            return None
        return Usage(
            input_tokens=fresh + cached,
            output_tokens=self._counts.get("output_tokens", 0),
            cached_tokens=cached,
            reasoning_tokens=self._counts.get("thinking_tokens", 0),
        )

    def add(self, event: Event) -> Delta | None:
        """Take an event in; the delta to show for it."""
        if event.type == "content_block_delta" and event.delta:
            return self._add_piece(event.index, event.delta)
        if event.type == "content_block_start" and event.content_block:
            return self._add_block(event.index, event.content_block)
        if event.type == "message_start" and isinstance(event.message, _Start):
            self.model = event.message.model
            self._count(event.message.usage)
        elif event.type == "message_delta":
            self._count(event.usage)
            self._finish(event.delta or _Piece())
        elif event.type == "message_stop":
            self._stopped = True
        return None

    def _add_block(self, index: int, start: _Piece) -> Delta | None:
        block = self._open[index] = _Block(start.type, start.id or "", start.name or "")
        self._blocks.append(block)
        if start.data:
            block.seal = REDACTED + start.data
        if bytes(start.input) not in {b"", b"{}", b"null"}:
            block.pieces.append(bytes(start.input).decode())
        return self._add_piece(index, start)

    def _add_piece(self, index: int, piece: _Piece) -> Delta | None:
        block = self._open.get(index)
        if block is None:
            block = self._open[index] = _Block("text" if piece.text else "thinking")
            self._blocks.append(block)
        if piece.text:
            block.pieces.append(piece.text)
            return TextDelta(piece.text) if block.kind == "text" else None
        if piece.thinking:
            block.pieces.append(piece.thinking)
            return ThinkingDelta(piece.thinking)
        if piece.partial_json:
            block.pieces.append(piece.partial_json)
        elif piece.signature:
            block.seal += piece.signature
        return None

    def _finish(self, end: _Piece) -> None:
        self.finish_reason = end.stop_reason or self.finish_reason
        if end.stop_details:
            self.refusal = end.stop_details.explanation or end.stop_details.category or ""

    def _count(self, counts: _Counts | None) -> None:
        """Take counts in. Each is the total so far: a later one replaces an earlier one, and nothing is added up."""
        if counts is None:
            return
        told: dict[str, Any] = asdict(counts)
        details = told.pop("output_tokens_details")
        told["thinking_tokens"] = details.thinking_tokens if details else None
        # Some endpoints repeat at the end as zero what they have counted at the start.
        self._counts |= {name: count for name, count in told.items() if count}
