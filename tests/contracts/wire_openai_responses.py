"""OpenAI Responses: its events, and what a server sends in each scene."""

import json
from typing import Any

from tests.contracts.wires import Wire
from zeno.models.openai_responses import OpenAIResponses


def stream(*events: dict[str, Any]) -> bytes:
    """The bytes of an event stream; this protocol ends without a mark."""
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode() for event in events)


def created() -> dict[str, Any]:
    """The first event, which repeats the question."""
    return {"type": "response.created", "response": {"model": "gpt-told", "status": "in_progress", "output": [], "usage": None}}


def item(index: int, whole: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """An item of the output: its beginning, what it grows by, the whole of it."""
    begun = {name: value for name, value in whole.items() if name in {"type", "id", "call_id", "name"}}
    return [
        {"type": "response.output_item.added", "output_index": index, "item": begun | {"status": "in_progress"}},
        *(delta | {"output_index": index} for delta in deltas),
        {"type": "response.output_item.done", "output_index": index, "item": whole | {"status": "completed"}},
    ]


def text(*pieces: str, index: int = 0) -> list[dict[str, Any]]:
    """A message of the model."""
    deltas = [{"type": "response.output_text.delta", "content_index": 0, "delta": piece} for piece in pieces]
    content = [{"type": "output_text", "text": "".join(pieces), "annotations": []}]
    return item(index, {"type": "message", "id": f"msg_{index}", "role": "assistant", "content": content}, *deltas)


def call(index: int, call_id: str, name: str, *pieces: str) -> list[dict[str, Any]]:
    """A call of a tool, its arguments in pieces."""
    deltas = [{"type": "response.function_call_arguments.delta", "delta": piece} for piece in pieces]
    whole = {"type": "function_call", "id": f"fc_{index}", "call_id": call_id, "name": name, "arguments": "".join(pieces)}
    return item(index, whole, *deltas, {"type": "response.function_call_arguments.done", "arguments": "".join(pieces)})


def thought(index: int, *summaries: str, sealed: str | None = None) -> list[dict[str, Any]]:
    """A thought with its summaries, sealed when the provider hands it out."""
    deltas = [
        event
        for number, summary in enumerate(summaries)
        for event in (
            {"type": "response.reasoning_summary_part.added", "summary_index": number, "part": {"type": "summary_text"}},
            {"type": "response.reasoning_summary_text.delta", "summary_index": number, "delta": summary},
        )
    ]
    told = [{"type": "summary_text", "text": summary} for summary in summaries]
    return item(index, {"type": "reasoning", "id": f"rs_{index}", "summary": told, "encrypted_content": sealed}, *deltas)


def completed(*, cached: int = 0, reasoning: int = 0, **tokens: int) -> dict[str, Any]:
    """The last event of a whole reply; `tokens` are `input_tokens` and `output_tokens`."""
    details = {"input_tokens_details": {"cached_tokens": cached}, "output_tokens_details": {"reasoning_tokens": reasoning}}
    usage = tokens | details if tokens else None
    return {"type": "response.completed", "response": {"model": "gpt-told", "status": "completed", "usage": usage}}


def incomplete(reason: str) -> dict[str, Any]:
    """The last event of a reply that was cut off."""
    response = {"model": "gpt-told", "status": "incomplete", "incomplete_details": {"reason": reason}}
    return {"type": "response.incomplete", "response": response}


WIRE = Wire(
    name="openai_responses",
    client=lambda transport: OpenAIResponses(transport=transport, model="m"),
    replies={
        "text": stream(created(), *text("Hello, ", "你好"), completed(input_tokens=12, output_tokens=3, cached=8)),
        "thinking": stream(
            created(), *thought(0, "let me see", sealed="g=="), *text("42", index=1), completed(input_tokens=5, output_tokens=9)
        ),
        "calls": stream(
            created(),
            *call(0, "a", "calculate", '{"expression": ', '"6*7"}'),
            *call(1, "b", "calculate", '{"expression"', ': "2+3"}'),
            completed(input_tokens=5, output_tokens=9),
        ),
        "no_usage": stream(created(), *text("Hello ", "there"), completed()),
        "refused": stream(
            created(),
            *item(
                0,
                {"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "I cannot help."}]},
                {"type": "response.refusal.delta", "delta": "I cannot help."},
            ),
            completed(input_tokens=5, output_tokens=9),
        ),
        "eaten": stream(created(), *thought(0, "let me see"), incomplete("max_output_tokens")),
        "overloaded": stream(
            created(), {"type": "response.failed", "response": {"error": {"code": "server_is_overloaded", "message": "later"}}}
        ),
        "nonsense": b"data: [1, 2]\n\n",
    },
)
