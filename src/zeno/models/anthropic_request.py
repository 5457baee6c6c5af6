"""Requests in the Messages format: what is stable first, each message encoded once, cache marks where the next step reads.

Sources: the Messages reference of the Claude API and its pages on prompt caching, extended and adaptive thinking, effort and
preserved thinking. It knows nothing of the answer.
"""

import re
from collections.abc import Set
from functools import lru_cache
from typing import Any

from msgspec import Struct

from zeno.core.messages import Message, Part, TextPart, ThinkingPart, ToolCall, ToolResult
from zeno.core.ports import Effort, ModelRequest, ToolSpec
from zeno.models.exchange import THOUGHTS
from zeno.models.remembered import Remembered, encoded
from zeno.models.replay import arguments_object, fit_id, fit_name, mentioned_files

PROVIDER = "anthropic"
REDACTED = "redacted_thinking:"
"""Begins the seal of a thought that the provider shows to nobody; the seals of other thoughts are base64, without a colon."""

BINDING = "thinking-binding-controls-2026-08-01"
"""The beta that lets a request say what becomes of thoughts whose conversation has changed since."""

_MARK = b',"cache_control":{"type":"ephemeral"}}'

_ROOM: dict[Effort, int] = {"none": 0, "low": 2048, "medium": 8192, "high": 16384}
"""Tokens that thinking may use up, on top of the reply's own limit."""

_NEWEST = (99, 0)

TEMPERATURE = "temperature"


class Manner(Struct, frozen=True):
    """How a model is spoken to.

    `adaptive`: it decides itself how long to think, where others are given a number of tokens. `thinks_unasked`: silence means
    that it thinks. `always_thinks`: it cannot be kept from it. `takes_schema`: it can promise JSON. `binds_thoughts`:
    an earlier thought is only taken behind the very conversation in which it was had.
    """

    adaptive: bool
    thinks_unasked: bool
    always_thinks: bool
    takes_temperature: bool
    takes_schema: bool
    binds_thoughts: bool


@lru_cache(maxsize=64)
def manner_of(model: str) -> Manner:
    """The manner of a model, by the version in its name; a Claude without one is taken for the newest.

    Models of other makers behind the same protocol are spoken to like the first Claude that thinks.
    """
    model = model.lower()
    version = _version(model)
    return Manner(
        adaptive=version >= (4, 6),
        thinks_unasked=version >= (5, 0),
        always_thinks=version >= (5, 1) or "fable" in model or "mythos" in model,
        takes_temperature=version < (4, 7),
        takes_schema=version >= (4, 5),
        binds_thoughts=version >= (5, 1),
    )


def _version(model: str) -> tuple[int, int]:
    """`claude-opus-4-20250514` is 4.0, `claude-3-7-sonnet-latest` is 3.7, `anthropic/claude-sonnet-4.5` is 4.5."""
    _, claude, rest = model.rpartition("claude")
    if not claude:
        return 0, 0
    found = re.search(r"(?<!\d)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", rest)
    return (int(found[1]), int(found[2] or 0)) if found else _NEWEST


class AnthropicRequests:
    """Writes the requests to one model. `max_tokens` limits a reply for which the request gives no limit."""

    def __init__(self, model: str, *, max_tokens: int, binding: bool) -> None:
        """`binding` says that the endpoint is told of the beta named `BINDING`."""
        self.model = model
        self._max_tokens = max_tokens
        self._binding = binding
        self._manner = manner_of(model)
        self._tool = Remembered(_encoded_tool)
        self._message = Remembered(_encoded_message)
        self._thoughtless = Remembered(_encoded_without_thoughts)

    def body(self, request: ModelRequest, without: Set[str] = frozenset()) -> bytes:
        """The body, without what is named. Two consecutive ones of a run are equal up to the marks and the context."""
        head = encoded(self._options(request, without))
        turns = self._turns(request, self._thoughtless if THOUGHTS in without else self._message)
        return b"".join((head[:-1], *self._tools(request), *_system(request), b',"messages":[', b",".join(turns), b"]}"))

    def _options(self, request: ModelRequest, without: Set[str]) -> dict[str, Any]:
        manner = self._manner
        effort = request.effort or ("high" if manner.thinks_unasked else "none")
        thinking = _thinking(manner, request.effort, effort, binding=self._binding)
        if THOUGHTS in without and thinking.get("type") == "enabled":
            # A budget demands that the last turn with tools begins with its thoughts.
            thinking = {}
        thinks = thinking.get("type", "disabled") != "disabled"
        limit = request.max_output_tokens or self._max_tokens
        options: dict[str, Any] = {"model": self.model, "max_tokens": limit + (_ROOM[effort] if thinks else 0), "stream": True}
        if thinking:
            options["thinking"] = thinking
        if manner.takes_temperature and not thinks and TEMPERATURE not in without:
            options["temperature"] = request.temperature
        if output := _output(request, manner):
            options["output_config"] = output
        return options

    def _tools(self, request: ModelRequest) -> list[bytes]:
        """The tools; where none are offered any more, the bare names of those that the conversation shows, not to be called."""
        if request.tools:
            tools = b",".join(map(self._tool, request.tools))
            return [b',"tools":[', tools[:-1], _MARK, b"]"]
        shown = dict.fromkeys(fit_name(call.name) for message in request.messages for call in message.calls)
        bare = [{"name": name, "input_schema": {"type": "object"}} for name in shown]
        return [b',"tools":', encoded(bare), b',"tool_choice":{"type":"none"}'] if bare else []

    def _turns(self, request: ModelRequest, write: Remembered[Message]) -> list[bytes]:
        """The conversation in turns that alternate, the current context last in the user's last turn.

        Two turns of the user carry a cache mark: the last one, to be read by the next step, and the one before it, which the
        last step has written. The context is behind the marks, because it is another one each time.
        """
        turns: list[tuple[bytes, list[bytes]]] = []
        for message in request.messages:
            _add(turns, b"assistant" if message.role == "assistant" else b"user", write(message))
        for _, blocks in [turn for turn in turns if turn[0] == b"user"][-2:]:
            blocks[-1] = blocks[-1][:-1] + _MARK
        if request.context and request.pressing:
            _add(turns, b"user", encoded({"type": "text", "text": f"[context]\n{request.context}"}))
        return [b'{"role":"' + role + b'","content":[' + b",".join(blocks) + b"]}" for role, blocks in turns]


def _thinking(manner: Manner, asked: Effort | None, effort: Effort, *, binding: bool) -> dict[str, Any]:
    if not manner.adaptive:
        return {} if effort == "none" else {"type": "enabled", "budget_tokens": _ROOM[effort]}
    if effort == "none" and not manner.always_thinks:
        return {"type": "disabled"} if asked else {}
    thinking: dict[str, Any] = {"type": "adaptive", "display": "summarized"}
    if manner.binds_thoughts and binding:
        thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    return thinking


def _output(request: ModelRequest, manner: Manner) -> dict[str, Any]:
    output: dict[str, Any] = {}
    if manner.adaptive and request.effort and (request.effort != "none" or manner.always_thinks):
        output["effort"] = "low" if request.effort == "none" else request.effort
    if manner.takes_schema and request.response_schema:
        output["format"] = {"type": "json_schema", "schema": request.response_schema}
    return output


def _system(request: ModelRequest) -> list[bytes]:
    text = encoded({"type": "text", "text": request.system})
    return [b',"system":[', text[:-1], _MARK, b"]"] if request.system else []


def _add(turns: list[tuple[bytes, list[bytes]]], role: bytes, blocks: bytes) -> None:
    if turns and turns[-1][0] == role and blocks:
        turns[-1][1].append(blocks)
    elif blocks:
        turns.append((role, [blocks]))


def _encoded_tool(spec: ToolSpec) -> bytes:
    return encoded({"name": spec.name, "description": spec.description, "input_schema": spec.parameters})


def _encoded_without_thoughts(message: Message) -> bytes:
    return _encoded_message(Message(message.role, tuple(part for part in message.parts if not isinstance(part, ThinkingPart))))


def _encoded_message(message: Message) -> bytes:
    """The content blocks of a message, nothing for one that has none."""
    blocks = [block for part in message.parts if (block := _block(part))]
    blocks += [{"type": "text", "text": line} for line in mentioned_files(message)]
    return b",".join(map(encoded, blocks))


def _block(part: Part) -> dict[str, Any] | None:
    match part:
        case TextPart(text) if text.strip():
            return {"type": "text", "text": text}
        case ThinkingPart(text, str(seal), provider) if provider == PROVIDER:
            if seal.startswith(REDACTED):
                return {"type": "redacted_thinking", "data": seal.removeprefix(REDACTED)}
            return {"type": "thinking", "thinking": text, "signature": seal}
        case ToolCall(call_id, name, arguments):
            return {"type": "tool_use", "id": fit_id(call_id), "name": fit_name(name), "input": arguments_object(arguments)}
        case ToolResult(call_id, _, outcome, text):
            result: dict[str, Any] = {"type": "tool_result", "tool_use_id": fit_id(call_id), "content": text or outcome}
            return result if outcome == "done" else result | {"is_error": True}
    # Blank text is refused, files are mentioned at the end, and foreign thoughts are nobody else's business.
    return None
