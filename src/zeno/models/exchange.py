"""An exchange in which the endpoint may refuse a part of the request, and is asked again without it.

It knows no protocol: the adapters say how a request is written and what a refusal means.
"""

from collections.abc import AsyncGenerator, Callable, Set
from contextlib import aclosing

from zeno.core.errors import ModelUnavailable
from zeno.core.messages import Message, ThinkingPart, Usage
from zeno.models.tokens import estimated_tokens
from zeno.models.transport import Transport

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


def estimated_usage(asked: bytes, told: Message) -> Usage:
    """What an exchange has used, when the endpoint does not say."""
    thinking = sum(estimated_tokens(part.text) for part in told.parts if isinstance(part, ThinkingPart))
    written = estimated_tokens(told.text) + sum(estimated_tokens(call.name + call.arguments) for call in told.calls)
    return Usage(estimated_tokens(asked.decode()), written + thinking, reasoning_tokens=thinking, estimated=True)
