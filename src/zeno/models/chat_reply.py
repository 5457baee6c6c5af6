"""A reply of Chat Completions, put together from the chunks of its stream. It asks for nothing and knows no connection."""

import json
from typing import Any

import msgspec

from zeno.core.errors import ModelRefused, ModelUnavailable
from zeno.core.messages import Message, Part, TextPart, ThinkingPart, Usage
from zeno.core.ports import Piece, Reply, TextDelta, ThinkingDelta
from zeno.models.chat_calls import CallFragment, Calls, FunctionFragment
from zeno.models.dialects import Dialect
from zeno.models.letters import Letters, whole
from zeno.models.reasoning import is_thinking, joined, spoken
from zeno.models.remembered import encoded
from zeno.models.tagged import Tagged
from zeno.models.tokens import estimated_tokens
from zeno.models.transport import Transport

_DECLINED = {"content_filter", "sensitive", "safety", "refusal"}
_BROKEN = {"error", "network_error", "insufficient_system_resource"}
_PASSING = ("overload", "rate_limit", "server_error", "timeout", "unavailable", "internal")


class _Details(msgspec.Struct, gc=False):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct, gc=False):
    """The counts; `cached_tokens` is Moonshot's place for them and `prompt_cache_hit_tokens` DeepSeek's."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: int | None = None
    cached_tokens: int | None = None

    def told(self) -> Usage:
        cached = (self.prompt_tokens_details or _Details()).cached_tokens
        return Usage(
            input_tokens=self.prompt_tokens or 0,
            output_tokens=self.completion_tokens or 0,
            cached_tokens=cached or self.prompt_cache_hit_tokens or self.cached_tokens or 0,
            reasoning_tokens=(self.completion_tokens_details or _Details()).reasoning_tokens or 0,
        )


class _Delta(msgspec.Struct, gc=False):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: list[Any] | None = None
    thinking: Any = None
    tool_calls: list[CallFragment] | None = None
    function_call: FunctionFragment | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None
    usage: _Usage | None = None


class _Groq(msgspec.Struct, gc=False):
    usage: _Usage | None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    x_groq: _Groq | None = None
    model: str | None = None
    error: Any = None
    object: Any = None
    message: Any = None
    code: Any = None


_DECODER = msgspec.json.Decoder(_Chunk, strict=False)


class ChatReply:
    """The reply as far as it has been received."""

    def __init__(self, transport: Transport, model: str, dialect: Dialect) -> None:
        self._transport = transport
        self._model = model
        self._dialect = dialect
        self._tagged = Tagged() if dialect.tagged else None
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._details: list[Any] = []
        self._refusal: list[str] = []
        self._calls = Calls()
        self._letters = Letters()
        self._thought_letters = Letters()
        self._usage: _Usage | None = None
        self._finish_reason = ""
        self._answered_by = ""

    def add(self, payload: bytes) -> list[Piece]:
        """Take an event in; the deltas to show for it. The last one may hold usage and no choices."""
        if payload == b"[DONE]":
            return []
        chunk = self._decoded(payload)
        if chunk is None:
            # A server that leaves out the empty lines between its events.
            return [delta for line in payload.split(b"\n") if line for delta in self.add(line)]
        if chunk.error or chunk.object == "error":
            raise self._failed(chunk)
        self._answered_by = chunk.model or self._answered_by
        # Some repeat the counts in each chunk: the last ones are the sum.
        self._usage = chunk.usage or (chunk.x_groq and chunk.x_groq.usage) or self._usage
        return self._chosen(chunk.choices[0]) if chunk.choices else []

    def _decoded(self, payload: bytes) -> _Chunk | None:
        """The chunk in an event, or `None` when it is several lines. Halves of letters and broken ones are let through."""
        try:
            return _DECODER.decode(payload)
        except msgspec.DecodeError:
            if b"\n" in payload:
                return None
        text = payload.decode("utf-8", "replace")
        try:
            return msgspec.convert(json.loads(text), _Chunk, strict=False)
        except (ValueError, RecursionError):
            raise self._transport.unavailable("model_protocol_error", text[:4000], self._model) from None

    def _chosen(self, choice: _Choice) -> list[Piece]:
        self._finish_reason = choice.finish_reason or self._finish_reason
        self._usage = choice.usage or self._usage
        delta = choice.delta or choice.message
        if delta is None:
            return []
        shown: list[Piece] = []
        if thinking := self._reasoned(delta):
            shown.append(ThinkingDelta(thinking))
        if delta.content:
            shown += self._said(delta.content)
        for fragment in delta.tool_calls or ():
            self._calls.add(fragment)
        if delta.function_call:
            self._calls.add(CallFragment(function=delta.function_call))
        if delta.refusal:
            self._refusal.append(delta.refusal)
        self._keep(shown)
        return shown

    def _reasoned(self, delta: _Delta) -> str:
        """The piece of reasoning in a delta: the same text may stand in several fields."""
        if delta.reasoning_details:
            self._details += delta.reasoning_details
        told = delta.reasoning_content or delta.reasoning or delta.thinking or delta.reasoning_details
        return self._thought_letters.feed(spoken(told)) if told else ""

    def _said(self, content: Any) -> list[Piece]:
        if isinstance(content, list):
            return [delta for part in content for delta in self._part(part)]
        text = self._letters.feed(spoken(content))
        if self._tagged is None:
            return [TextDelta(text)] if text else []
        return self._tagged.feed(text)

    def _part(self, part: Any) -> list[Piece]:
        if not is_thinking(part):
            return self._said(spoken(part))
        text = self._thought_letters.feed(spoken(part))
        return [ThinkingDelta(text)] if text else []

    def _keep(self, shown: list[Piece]) -> None:
        for delta in shown:
            (self._text if isinstance(delta, TextDelta) else self._thinking).append(delta.text)

    def end(self) -> list[Piece]:
        """What was held back, when the stream is over."""
        thought = self._thought_letters.end()
        shown: list[Piece] = [ThinkingDelta(thought)] if thought else []
        shown += self._said(self._letters.end())
        shown += self._tagged.end() if self._tagged else []
        self._keep(shown)
        return shown

    def reply(self, body: bytes) -> Reply:
        """The whole reply to the request of `body`.

        Raises `ModelRefused`, and `ModelUnavailable` when the provider gave up or reasoning has eaten the whole output.
        """
        text, thinking, calls = "".join(self._text), "".join(self._thinking), self._calls.finished()
        if self._refusal or self._finish_reason in _DECLINED:
            reason = self._transport.safe(whole("".join(self._refusal)))[:500] or self._finish_reason
            raise ModelRefused("model_refused", model=self._model, reason=reason)
        if self._finish_reason in _BROKEN:
            raise self._transport.refused(503, self._finish_reason, self._model)
        if self._finish_reason == "length" and not calls and not text.strip():
            raise ModelUnavailable("model_output_eaten", model=self._model)
        seal = self._seal()
        parts: list[Part] = []
        if thinking or seal:
            parts.append(ThinkingPart(thinking, seal, self._dialect.name if seal else ""))
        if text.strip() or (text and not calls):
            parts.append(TextPart(text))
        message = Message("assistant", (*parts, *calls))
        return Reply(
            message, self._counted(text, thinking, body), "answer", self._finish_reason, self._answered_by or self._model
        )

    def _seal(self) -> str | None:
        """What the provider wants to see again unchanged, as JSON."""
        sealed = self._calls.seals if self._dialect.replay_field == "extra_content" else joined(self._details)
        return encoded(sealed).decode() if sealed else None

    def _counted(self, text: str, thinking: str, body: bytes) -> Usage:
        usage = self._usage.told() if self._usage else Usage()
        if usage.input_tokens or usage.output_tokens:
            return usage
        return Usage(
            input_tokens=estimated_tokens(body.decode()),
            output_tokens=estimated_tokens(text + thinking + self._calls.text),
            reasoning_tokens=estimated_tokens(thinking),
            estimated=True,
        )

    def _failed(self, chunk: _Chunk) -> ModelUnavailable:
        """The failure that came inside a stream: an object with a message and a code, or a text."""
        error = chunk.error if isinstance(chunk.error, dict) else {"message": chunk.error or chunk.message, "code": chunk.code}
        kind = error.get("code") or error.get("type") or ""
        reason = whole(str(error.get("message") or encoded(error).decode()))
        status = int(kind) if str(kind).isdecimal() else 0
        if not 400 <= status < 600:
            status = 503 if any(word in f"{kind} {error.get('type')}".lower() for word in _PASSING) else 200
        return self._transport.refused(status, reason, self._model)
