"""Trying a model out: a few small questions, and from the bytes of its answers what it does and does not do."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import msgspec

from zeno.core.errors import ModelRefused, ModelUnavailable
from zeno.core.messages import Message, TextPart, ThinkingPart
from zeno.core.ports import ModelClient, ModelRequest, Reply, RetryDelta, ToolSpec
from zeno.models.profile import Profile
from zeno.models.registry import FAMILIES, ModelChoice, Models, wire
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


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What came of trying a model out: what it does, and the milliseconds that it took to begin its first answer."""

    profile: Profile
    first_token_ms: int


async def trial(models: Models, choice: ModelChoice, run_id: str, seconds: float | None = None) -> Trial:
    """Try a model out, for at most so many seconds, and have what was found remembered.

    Raises `ModelUnavailable` when it does not even say hello, and `ModelRefused` when it declines to.
    """
    listening = wire(choice, Listening)
    client = FAMILIES[choice.family].client(listening, choice.model, False)
    try:
        async with asyncio.timeout(seconds):
            made = await _probed(client, listening, choice.model, run_id)
    except TimeoutError:
        raise listening.unavailable("model_timeout", "", choice.model) from None
    finally:
        await listening.close()
    models.keep_profile(choice, made.profile)
    return made


async def _probed(client: ModelClient, listening: Listening, model: str, run_id: str) -> Trial:
    """The profile of a model; `client` speaks to it over the wire that listens."""
    hello, first = await _asked(client, run_id, "Say hello in one word.")
    calls = await _tried(client, run_id, "What is the weather in Paris and in Rome? Look both up at once.", tools=(_WEATHER,))
    word = await _tried(client, run_id, 'Answer with the JSON object {"word": "hello"}.', schema=_WORD)
    called = len(calls.message.calls) if calls else 0
    reasons = [reply.finish_reason for reply in (hello, calls) if reply and reply.finish_reason]
    profile = Profile(
        tools=called > 0,
        parallel_calls=called > 1,
        json_mode=word is not None and _is_word(word.message.text),
        usage=not hello.usage.estimated,
        reasoning=_reasoning(listening.heard, hello, calls),
        context_window=await _context_window(listening, model),
        finish_reasons=tuple(dict.fromkeys(reasons)),
    )
    return Trial(profile=profile, first_token_ms=round(first * 1000))


async def _asked(
    client: ModelClient,
    run_id: str,
    words: str,
    tools: tuple[ToolSpec, ...] = (),
    schema: dict[str, Any] | None = None,
) -> tuple[Reply, float]:
    """The reply, and the seconds until it began."""
    request = ModelRequest(
        system="Be brief.",
        tools=tools,
        messages=(Message("user", (TextPart(words),)),),
        context="",
        run_id=run_id,
        response_schema=schema,
    )
    clock = asyncio.get_running_loop().time
    began, first = clock(), None
    async with aclosing(client.stream(request)) as stream:
        async for item in stream:
            if isinstance(item, RetryDelta):
                continue
            first = clock() - began if first is None else first
            if isinstance(item, Reply):
                return item, first
    raise ModelUnavailable("reply_incomplete")


async def _tried(client: ModelClient, run_id: str, words: str, **wishes: Any) -> Reply | None:
    """The reply, or nothing when the endpoint refuses such a question: that is an answer, too, but a busy endpoint is none."""
    try:
        reply, _ = await _asked(client, run_id, words, **wishes)
    except ModelRefused:
        return None
    except ModelUnavailable as error:
        if error.retryable:
            raise
        return None
    return reply


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


async def _context_window(listening: Transport, model: str) -> int | None:
    """The context window in tokens, if the endpoint's list of models tells it under any of the usual names."""
    try:
        listing = await listening.get("/models")
        entry = next(entry for entry in listing["data"] if entry["id"] == model)
    except (ModelUnavailable, StopIteration, KeyError, TypeError):
        return None
    places = [entry, entry.get("meta") or {}]
    found = [place[name] for place in places for name in _WINDOW_FIELDS if isinstance(place.get(name), int)]
    return found[0] if found else None
