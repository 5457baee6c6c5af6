"""OpenAI Responses: the protocol of OpenAI's reasoning models, spoken without leaving anything at the provider.

Source: the Responses reference of the OpenAI API, streaming mode. Translates only; it knows no runs and no loop.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec

from zeno.core.ports import Delta, ModelRequest, Reply
from zeno.models.exchange import THOUGHTS, answer, decoded, estimated_usage, require_answer
from zeno.models.responses_reply import Draft, Event
from zeno.models.responses_request import EFFORT, SEALS, SUMMARY, TEMPERATURE, ResponsesRequests
from zeno.models.transport import Transport

_STATUS = {
    "invalid_api_key": 401,
    "model_not_found": 404,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "slow_down": 429,
    "server_error": 500,
    "server_is_overloaded": 503,
}
"""The statuses with which errors would have come before the stream began."""
_EVENT = msgspec.json.Decoder(Event)

_UNWANTED = {
    "invalid_encrypted_content": THOUGHTS,
    "could not be verified": THOUGHTS,
    "'rs_": THOUGHTS,
    "required following item": THOUGHTS,
    "reasoning.summary": SUMMARY,
    "reasoning.effort": EFFORT,
    "encrypted": SEALS,
    "temperature": TEMPERATURE,
}
"""What words in a refusal name what the endpoint does not want, the more particular ones first."""


@dataclass(kw_only=True)
class OpenAIResponses:
    """One model at one endpoint."""

    transport: Transport
    model: str
    _requests: ResponsesRequests = field(init=False, repr=False)
    _conceded: set[str] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        self._requests = ResponsesRequests(self.model)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """The reply as it is written. Raises `ModelUnavailable` or `ModelRefused`."""
        draft = Draft()
        async with aclosing(self._answer(request)) as events:
            async for payload in events:
                if delta := draft.add(decoded(_EVENT, payload, self.transport, self.model, _STATUS)):
                    yield delta
        yield self._reply(draft, request)

    def _answer(self, request: ModelRequest) -> AsyncGenerator[bytes, None]:
        return answer(
            self.transport,
            "/responses",
            lambda without: self._requests.body(request, without),
            run_id=request.run_id,
            model=self.model,
            refused=_refused,
            conceded=self._conceded,
        )

    def _reply(self, draft: Draft, request: ModelRequest) -> Reply:
        message = draft.message
        require_answer(
            draft,
            self.transport,
            self.model,
            declined=bool(draft.refusal) or draft.finish_reason == "content_filter",
            cut_off=draft.finish_reason == "max_output_tokens",
        )
        usage = draft.usage or estimated_usage(self._requests.body(request, self._conceded), message)
        return Reply(message, usage, "answer", draft.finish_reason, draft.model or self.model)


def _refused(reason: str) -> str | None:
    return next((unwanted for words, unwanted in _UNWANTED.items() if words in reason), None)
