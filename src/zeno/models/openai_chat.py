"""OpenAI-compatible Chat Completions: the protocol that OpenAI, vLLM, Ollama, LM Studio, llama.cpp and many others speak.

Source: the Chat Completions reference of the OpenAI API, streaming mode. Translates only; it knows no runs and no loop.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from zeno.core.errors import ModelUnavailable
from zeno.core.ports import Delta, ModelRequest, Reply
from zeno.models.chat_reply import ChatReply
from zeno.models.chat_request import ChatRequests
from zeno.models.dialects import Dialect, conceded, dialect_for
from zeno.models.transport import Transport

PATH = "/chat/completions"
MOST_CONCESSIONS = 4
"""How many refused parameters are left out, one after the other, before a refusal counts."""

_ABOUT_THE_REQUEST = {200, 400, 422, 500}
"""Statuses of a refusal that may name a parameter; 500 is llama.cpp's when the chat template raises."""


@dataclass(kw_only=True)
class OpenAIChat:
    """One model at one endpoint. What the endpoint refuses to be asked is left out from then on."""

    transport: Transport
    model: str
    dialect: Dialect | None = None
    _requests: ChatRequests = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.dialect = self.dialect or dialect_for(self.transport.base_url, self.model)
        self._requests = ChatRequests(self.model, self.dialect)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """The reply as it is written. Raises `ModelUnavailable` or `ModelRefused`; no error contains the key."""
        requests, left = self._requests, MOST_CONCESSIONS
        while True:
            body, reply = requests.body(request), ChatReply(self.transport, self.model, requests.dialect)
            answered = begun = False
            try:
                async with aclosing(self.transport.events(PATH, body, request.run_id, self.model)) as events:
                    async for payload in events:
                        answered = True
                        for delta in reply.add(payload):
                            begun = True
                            yield delta
                break
            except ModelUnavailable as error:
                conceding = _conceding(requests, error) if left and not begun else None
                if conceding is None:
                    raise
                requests, left = conceding, left - 1
        if not answered:
            raise self.transport.unavailable("model_protocol_error", "the reply is empty", self.model, retryable=True)
        self._requests = requests
        for delta in reply.end():
            yield delta
        yield reply.reply(body)


def _conceding(requests: ChatRequests, error: ModelUnavailable) -> ChatRequests | None:
    """The requests that do without what a refusal names, if it names anything."""
    if error.params.get("status") not in _ABOUT_THE_REQUEST:
        return None
    dialect = conceded(requests.dialect, str(error.params.get("reason", "")))
    return ChatRequests(requests.model, dialect) if dialect else None
