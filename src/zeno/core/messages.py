"""Messages: the same value is stored, sent to providers and drawn on the screen."""

from typing import Literal

from msgspec import Struct

Role = Literal["user", "assistant", "tool"]
Outcome = Literal["done", "failed", "rejected", "unknown", "cancelled"]


class TextPart(Struct, frozen=True, forbid_unknown_fields=True, tag="text"):
    """Text that a person reads."""

    text: str


class ThinkingPart(Struct, frozen=True, forbid_unknown_fields=True, tag="thinking"):
    """The model's reasoning.

    `signature` is the provider's seal, opaque and replayed unchanged where it demands that; `provider` names the family that
    gave it, and no other is shown it.
    """

    text: str
    signature: str | None = None
    provider: str = ""


class FilePart(Struct, frozen=True, forbid_unknown_fields=True, tag="file"):
    """A file of the run, by reference: `path` is relative to the run's workspace, `size` is in bytes."""

    path: str
    size: int
    media_type: str = "application/octet-stream"


class ToolCall(Struct, frozen=True, forbid_unknown_fields=True, tag="tool_call"):
    """A call the model asks for.

    `arguments` is the JSON text exactly as the model wrote it; it is parsed at dispatch.
    """

    id: str
    name: str
    arguments: str


class ToolResult(Struct, frozen=True, forbid_unknown_fields=True, tag="tool_result"):
    """What became of one call: `text` is what the model reads, `files` is what the tool produced."""

    call_id: str
    name: str
    outcome: Outcome
    text: str
    files: tuple[FilePart, ...] = ()


Part = TextPart | ThinkingPart | FilePart | ToolCall | ToolResult


class Message(Struct, frozen=True, forbid_unknown_fields=True):
    """One turn of a conversation."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in the order in which the model wrote them."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results, in the order of their calls."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


class Usage(Struct, frozen=True, forbid_unknown_fields=True):
    """Tokens of one model call, or of several added up. `estimated` marks figures that the provider did not report."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            estimated=self.estimated or other.estimated,
        )
