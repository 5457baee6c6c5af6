"""A chat model that writes what it is told, cut where it is told: a double behind the port, strict about its calls."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any

from zeno.core.messages import Message, Part, TextPart, ThinkingPart, Usage
from zeno.core.ports import Delta, ModelRequest, Reply, TextDelta, ThinkingDelta


@dataclass
class Written:
    """One reply: its text in pieces, what it reasons in the provider's own way, its own calls, how it ends."""

    pieces: Sequence[str] = ()
    thinking: str = ""
    calls: Sequence[Part] = ()
    finish_reason: str = "stop"

    @property
    def items(self) -> list[Delta | Reply]:
        """What the model's stream gives."""
        thinking = [ThinkingPart(self.thinking, "seal", "inner")] if self.thinking else []
        text = [TextPart("".join(self.pieces))] if any(self.pieces) else []
        reply = Reply(
            Message("assistant", (*thinking, *text, *self.calls)), Usage(10, 2), "answer", self.finish_reason, "inner"
        )
        reasoned = [ThinkingDelta(self.thinking)] if self.thinking else []
        return [*reasoned, *map(TextDelta, self.pieces), reply]


@dataclass
class WrittenModel:
    """Gives its replies in order and keeps the requests."""

    replies: Sequence[Written]
    leaves_deltas_out: bool = False
    requests: list[ModelRequest] = field(default_factory=list)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """The next reply."""
        assert len(self.requests) < len(self.replies), "one call more than expected"
        self.requests.append(request)
        for item in self.replies[len(self.requests) - 1].items:
            if isinstance(item, Reply) or not self.leaves_deltas_out:
                yield item


def writes(*texts: str, **more: Any) -> WrittenModel:
    """A model that writes these replies, each in one piece."""
    return WrittenModel([Written([text], **more) for text in texts])
