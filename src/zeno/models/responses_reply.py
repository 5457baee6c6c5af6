"""Replies in the Responses format: events come in, deltas and one whole message go out. It knows nothing of the request.

Source: the streaming events of the Responses reference of the OpenAI API.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec import Struct

from zeno.core.messages import Message, Part, TextPart, ThinkingPart, ToolCall, Usage
from zeno.core.ports import Delta, TextDelta, ThinkingDelta
from zeno.models.remembered import encoded
from zeno.models.responses_request import PROVIDER

_BETWEEN_THOUGHTS = "\n\n"


class _Words(Struct):
    """A piece of a message or of a thought."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(Struct):
    """An item of the output: a message, a thought, a call, or something of a tool that runs at the provider."""

    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    encrypted_content: str | None = None
    summary: list[_Words] | None = None
    content: list[_Words] | None = None


class _InputDetails(Struct):
    cached_tokens: int | None = None


class _OutputDetails(Struct):
    reasoning_tokens: int | None = None


class _Counts(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _Error(Struct):
    code: str | None = None
    type: str | None = None
    message: str | None = None


class _Incomplete(Struct):
    reason: str = ""


class _Response(Struct):
    model: str = ""
    status: str | None = None
    output: list[_Item] | None = None
    usage: _Counts | None = None
    error: _Error | None = None
    incomplete_details: _Incomplete | None = None


class Event(Struct):
    """One event of the stream, as far as it matters."""

    type: str = ""
    output_index: int | None = None
    item_id: str | None = None
    summary_index: int = 0
    delta: str | None = None
    item: _Item | None = None
    response: _Response | None = None
    error: _Error | str | None = None
    code: str | None = None
    message: str | None = None

    @property
    def place(self) -> int | str | None:
        """Which item the event is about: its number, or its name where items are not numbered, as by llama.cpp.

        The number comes first: there are endpoints that change the name from event to event.
        """
        if self.output_index is not None:
            return self.output_index
        return self.item.id if self.item else self.item_id

    @property
    def failed(self) -> bool:
        """Whether the endpoint gives up, in the middle of a reply or before it."""
        return self.type in {"error", "response.failed"} or self.error is not None

    @property
    def failure(self) -> tuple[str, str]:
        """The kind of a failure and its words."""
        error = self.response.error if self.response else self.error
        if not isinstance(error, _Error):
            error = _Error(self.code, None, error or self.message)
        kind = error.code or error.type or ""
        return kind, f"{kind}: {error.message or ''}"


@dataclass
class _Growing:
    """An item as far as it has been received; `pieces` are its text, its arguments or its reasoning."""

    item: _Item
    pieces: list[str] = field(default_factory=list)

    def parts(self) -> Iterable[Part]:
        """What the item becomes; nothing for one of a tool that runs at the provider."""
        item, written = self.item, "".join(self.pieces)
        match item.type:
            case "message":
                texts = [words.text for words in item.content or () if words.text] or [written]
                yield from (TextPart(text) for text in texts if text)
            case "function_call":
                yield ToolCall(item.call_id or item.id or "", item.name or "", item.arguments or written)
            case "reasoning":
                text = _BETWEEN_THOUGHTS.join(words.text for words in item.summary or item.content or () if words.text)
                seal = _seal(item)
                if text or written or seal:
                    yield ThinkingPart(text or written, seal, PROVIDER)


def _seal(item: _Item) -> str | None:
    """A thought as the provider wants to be shown it again; `None` when it has kept it to itself."""
    if not item.encrypted_content:
        return None
    summary = [{"type": words.type, "text": words.text or ""} for words in item.summary or ()]
    sealed = {"type": "reasoning", "id": item.id, "summary": summary, "encrypted_content": item.encrypted_content}
    return encoded(sealed).decode()


@dataclass
class Draft:
    """The reply as far as it has been received. `finish_reason` is the provider's word."""

    finish_reason: str = ""
    model: str = ""
    _items: list[_Growing] = field(default_factory=list)
    _open: dict[int | str | None, _Growing] = field(default_factory=dict)
    _refusal: list[str] = field(default_factory=list)
    _counts: _Counts | None = None

    @property
    def complete(self) -> bool:
        """Whether the protocol came to its end: what was cut off must not pass for an answer."""
        return bool(self.finish_reason)

    @property
    def message(self) -> Message:
        """What the model has written."""
        return Message("assistant", tuple(part for item in self._items for part in item.parts()))

    @property
    def refusal(self) -> str:
        """Why the model declined, empty when it did not."""
        told = [words.refusal for growing in self._items for words in growing.item.content or () if words.refusal]
        return "".join(told or self._refusal)

    @property
    def usage(self) -> Usage | None:
        """The tokens, `None` when the endpoint has not counted them; its input tokens include the cached ones."""
        counts = self._counts
        if counts is None or not (counts.input_tokens or counts.output_tokens):
            return None
        return Usage(
            input_tokens=counts.input_tokens or 0,
            output_tokens=counts.output_tokens or 0,
            cached_tokens=(counts.input_tokens_details and counts.input_tokens_details.cached_tokens) or 0,
            reasoning_tokens=(counts.output_tokens_details and counts.output_tokens_details.reasoning_tokens) or 0,
        )

    def add(self, event: Event) -> Delta | None:
        """Take an event in; the delta to show for it."""
        match event.type:
            case "response.output_text.delta":
                return TextDelta(text) if (text := self._grow(event, "message")) else None
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return ThinkingDelta(text) if (text := self._grow(event, "reasoning")) else None
            case "response.reasoning_summary_part.added" if event.summary_index:
                event.delta = _BETWEEN_THOUGHTS
                return ThinkingDelta(self._grow(event, "reasoning"))
            case "response.function_call_arguments.delta":
                self._grow(event, "function_call")
            case "response.refusal.delta":
                self._refusal.append(event.delta or "")
            case "response.output_item.added" | "response.output_item.done" if event.item:
                self._place(event.place, event.item, whole=event.type.endswith("done"))
            case "response.completed" | "response.incomplete" if event.response:
                self._finish(event.response)
        return None

    def _grow(self, event: Event, kind: str) -> str:
        growing = self._open.get(event.place) or self._place(event.place, _Item(kind))
        growing.pieces.append(event.delta or "")
        return event.delta or ""

    def _place(self, index: int | str | None, item: _Item, *, whole: bool = False) -> _Growing:
        """Begin an item, or put the whole one in the place of what has been received of it."""
        growing = self._open.pop(index, None) if whole else None
        if growing is None:
            growing = _Growing(item)
            self._items.append(growing)
        growing.item = item
        if not whole:
            self._open[index] = growing
        return growing

    def _finish(self, response: _Response) -> None:
        details = response.incomplete_details
        self.finish_reason = (details and details.reason) or response.status or "completed"
        self.model = response.model
        self._counts = response.usage
        if not self._items:
            # Some endpoints stream nothing and show everything at the end.
            self._items = [_Growing(item) for item in response.output or ()]
