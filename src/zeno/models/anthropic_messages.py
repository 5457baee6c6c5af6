"""Anthropic Messages: the protocol of Claude, and of the other makers who offer it as a second door.

Source: the Messages reference of the Claude API, streaming mode. Translates only; it knows no runs and no loop.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec

from zeno.core.ports import Delta, ModelRequest, Reply
from zeno.models.anthropic_reply import Draft, Event
from zeno.models.anthropic_request import BINDING, TEMPERATURE, AnthropicRequests, manner_of
from zeno.models.exchange import THOUGHTS, answer, decoded, estimated_usage, require_answer
from zeno.models.transport import Transport

_STATUS = {
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The statuses with which errors would have come before the stream began."""
_CUT_OFF = {"max_tokens", "model_context_window_exceeded"}
_EVENT = msgspec.json.Decoder(Event)


def anthropic_headers(api_key: str, model: str) -> dict[str, str]:
    """The headers that the transport of a model needs; `api_key` is empty for an endpoint that asks for none."""
    headers = {"anthropic-version": "2023-06-01"}
    if api_key:
        headers["x-api-key"] = api_key
    if manner_of(model).binds_thoughts:
        headers["anthropic-beta"] = BINDING
    return headers


@dataclass(kw_only=True)
class AnthropicMessages:
    """One model at one endpoint. `default_max_tokens` limits a reply for which the request gives no limit."""

    transport: Transport
    model: str
    default_max_tokens: int = 8192
    _requests: AnthropicRequests = field(init=False, repr=False)
    _conceded: set[str] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        binding = BINDING in self.transport.headers.get("anthropic-beta", "")
        self._requests = AnthropicRequests(self.model, max_tokens=self.default_max_tokens, binding=binding)

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
            # By custom the address of this protocol ends before the version, but not everybody keeps to it.
            "/messages" if self.transport.base_url.endswith("/v1") else "/v1/messages",
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
            declined=draft.finish_reason == "refusal",
            cut_off=draft.finish_reason in _CUT_OFF,
        )
        return Reply(
            message,
            draft.usage or estimated_usage(self._requests.body(request, self._conceded), message),
            # A pause is the provider's own: it wants to be asked again, with what it has written.
            "note" if draft.finish_reason == "pause_turn" else "answer",
            draft.finish_reason,
            draft.model or self.model,
        )


def _refused(reason: str) -> str | None:
    """What the endpoint does not want of a request, from its words.

    Earlier thoughts are refused when their seal does not hold: another model wrote them, or what came before them has changed.
    """
    if "temperature" in reason:
        return TEMPERATURE
    if "thinking" in reason and any(word in reason for word in ("signature", "block", "expected")):
        return THOUGHTS
    return None
