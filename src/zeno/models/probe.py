"""Trying a model out: a few small questions, and from the bytes of its answers what it does and does not do."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import msgspec

from zeno.core.errors import ModelRefused, ModelUnavailable
from zeno.core.messages import Message, TextPart, ThinkingPart
from zeno.core.ports import ModelClient, ModelRequest, Reply, ToolSpec
from zeno.models.profile import Profile
from zeno.models.transport import Transport

_REASONING_FIELDS = ("reasoning_content", "reasoning_details", "reasoning", "thinking")
_WINDOW_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx", "n_ctx_train")
_CITY = {"type": "object", "properties": {"city": {"type": "string", "description": "The city."}}, "required": ["city"]}
_WEATHER = ToolSpec("get_weather", "Look up the weather of one city. Use when asked for weather.", _CITY)
_WORD = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}


@dataclass(kw_only=True)
class Listening(Transport):
    """A transport that keeps what it passes on."""

    heard: list[bytes] = field(default_factory=list)

    async def events(self, path: str, body: bytes, run_id: str, model: str = "") -> AsyncGenerator[bytes, None]:
        """As `Transport.events`."""
        async with aclosing(super().events(path, body, run_id, model)) as events:
            async for payload in events:
                self.heard.append(payload)
                yield payload


async def probed(client: ModelClient, wire: Listening, model: str, run_id: str) -> Profile:
    """The profile of a model; `client` speaks to it over `wire`. Raises `ModelUnavailable` when it does not even say hello."""
    hello = await _asked(client, run_id, "Say hello in one word.")
    calls = await _tried(client, run_id, "What is the weather in Paris and in Rome? Look both up at once.", tools=(_WEATHER,))
    word = await _tried(client, run_id, 'Answer with the JSON object {"word": "hello"}.', schema=_WORD)
    called = len(calls.message.calls) if calls else 0
    reasons = [reply.finish_reason for reply in (hello, calls) if reply and reply.finish_reason]
    return Profile(
        tools=called > 0,
        parallel_calls=called > 1,
        json_mode=word is not None and _is_word(word.message.text),
        usage=not hello.usage.estimated,
        reasoning=_reasoning(wire.heard, hello, calls),
        context_window=await _context_window(wire, model),
        finish_reasons=tuple(dict.fromkeys(reasons)),
    )


async def _asked(
    client: ModelClient,
    run_id: str,
    words: str,
    tools: tuple[ToolSpec, ...] = (),
    schema: dict[str, Any] | None = None,
) -> Reply:
    request = ModelRequest(
        system="Be brief.",
        tools=tools,
        messages=(Message("user", (TextPart(words),)),),
        context="",
        run_id=run_id,
        response_schema=schema,
    )
    async with aclosing(client.stream(request)) as stream:
        async for item in stream:
            if isinstance(item, Reply):
                return item
    raise ModelUnavailable("reply_incomplete")


async def _tried(client: ModelClient, run_id: str, words: str, **wishes: Any) -> Reply | None:
    """The reply, or nothing when the endpoint refuses such a question: that is an answer, too, but a busy endpoint is none."""
    try:
        return await _asked(client, run_id, words, **wishes)
    except ModelRefused:
        return None
    except ModelUnavailable as error:
        if error.retryable:
            raise
        return None


def _is_word(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text.strip())["word"], str)
    except (msgspec.DecodeError, KeyError, TypeError):
        return False


def _reasoning(heard: list[bytes], *replies: Reply | None) -> str:
    """Where the thoughts come from: the field of the stream that holds them, or tags in the text."""
    seen = b"".join(heard)
    for name in _REASONING_FIELDS:
        if f'"{name}":"'.encode() in seen.replace(b'": ', b'":') or f'"{name}":['.encode() in seen.replace(b'": ', b'":'):
            return name
    thought = any(isinstance(part, ThinkingPart) for reply in replies if reply for part in reply.message.parts)
    return "tags" if thought else ""


async def _context_window(wire: Transport, model: str) -> int | None:
    """The context window in tokens, if the endpoint's list of models tells it under any of the usual names."""
    try:
        listing = await wire.get("/models")
        entry = next(entry for entry in listing["data"] if entry["id"] == model)
    except (ModelUnavailable, StopIteration, KeyError, TypeError):
        return None
    places = [entry, entry.get("meta") or {}]
    found = [place[name] for place in places for name in _WINDOW_FIELDS if isinstance(place.get(name), int)]
    return found[0] if found else None
