"""An exchange in which the endpoint may refuse a part of the request, and is asked again without it.

It knows no protocol: the adapters say how a request is written and what a refusal means.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Set
from contextlib import aclosing
from typing import Protocol, TypeVar

import msgspec

from zeno.core.errors import ModelRefused, ModelUnavailable
from zeno.core.messages import Message, ThinkingPart, Usage
from zeno.models.tokens import estimated_tokens
from zeno.models.transport import OK, Transport

Encode = Callable[[Set[str]], bytes]
"""Writes the request without the things named."""

_MALFORMED = {400, 404, 422}
"""Statuses of a refusal that may be about a part of the request; 404 when it names something that is not kept."""

THOUGHTS = "thoughts"
"""Earlier reasoning, the one thing that is refused for what it is in this conversation and not for the endpoint's sake."""


async def answer(
    transport: Transport,
    path: str,
    encode: Encode,
    *,
    run_id: str,
    model: str,
    refused: Callable[[str], str | None],
    conceded: set[str],
) -> AsyncGenerator[bytes, None]:
    """The data of the answer's events. Raises `ModelUnavailable`.

    When the endpoint calls the request malformed, `refused` finds what it does not want in its words, given in small letters.
    Without that it is asked again, and `conceded` remembers it for the next request.
    """
    without = frozenset(conceded)
    while True:
        body = encode(without)
        try:
            async with aclosing(transport.events(path, body, run_id, model)) as events:
                async for payload in events:
                    yield payload
            return
        except ModelUnavailable as error:
            malformed = error.params.get("status") in _MALFORMED
            unwanted = refused(str(error.params["reason"]).lower()) if malformed else None
            if unwanted is None or encode(without | {unwanted}) == body:
                raise
            without |= {unwanted}
            if unwanted != THOUGHTS:
                conceded.add(unwanted)


class Told(Protocol):
    """An event of a protocol that may tell a failure: its kind in the protocol's words, and the reason."""

    @property
    def failed(self) -> bool: ...

    @property
    def failure(self) -> tuple[str, str]: ...


class Drafted(Protocol):
    """A reply as far as it was received."""

    @property
    def message(self) -> Message: ...

    @property
    def complete(self) -> bool: ...

    @property
    def refusal(self) -> str: ...

    @property
    def finish_reason(self) -> str: ...


E = TypeVar("E", bound=Told)


def decoded(
    decoder: msgspec.json.Decoder[E], payload: bytes, transport: Transport, model: str, statuses: Mapping[str, int]
) -> E:
    """The event in `payload`. Raises `ModelUnavailable` for what is none, and for one that tells a failure.

    `statuses` gives the HTTP status that a kind of failure would have had if it had come before the stream.
    """
    try:
        event = decoder.decode(payload if payload != b"[DONE]" else b"{}")
    except msgspec.DecodeError:
        raise transport.unavailable("model_protocol_error", payload[:200].decode("utf-8", "replace"), model) from None
    if event.failed:
        kind, reason = event.failure
        raise transport.refused(statuses.get(kind, OK), reason, model)
    return event


def require_answer(draft: Drafted, transport: Transport, model: str, *, declined: bool, cut_off: bool) -> None:
    """Raise what keeps a draft from being a reply: it broke off, the model declined, or its limit went into thoughts alone."""
    message = draft.message
    if not draft.complete:
        raise transport.unavailable("reply_incomplete", "", model, retryable=True)
    if declined:
        reason = transport.safe(draft.refusal or draft.finish_reason)[:500]
        raise ModelRefused("model_refused", model=model, reason=reason)
    if cut_off and not message.calls and not message.text.strip():
        raise ModelUnavailable("model_output_eaten", model=model)


def estimated_usage(asked: bytes, told: Message) -> Usage:
    """What an exchange has used, when the endpoint does not say."""
    thinking = sum(estimated_tokens(part.text) for part in told.parts if isinstance(part, ThinkingPart))
    written = estimated_tokens(told.text) + sum(estimated_tokens(call.name + call.arguments) for call in told.calls)
    return Usage(estimated_tokens(asked.decode()), written + thinking, reasoning_tokens=thinking, estimated=True)
