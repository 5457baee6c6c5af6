"""Anthropic Messages: its events, and what a server sends in each scene."""

import json
from typing import Any

from tests.contracts.wires import Wire
from zeno.models.anthropic_messages import AnthropicMessages


def stream(*events: dict[str, Any]) -> bytes:
    """The bytes of an event stream."""
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode() for event in events)


def start(**usage: int) -> dict[str, Any]:
    """The first event, with what is counted so far."""
    return {"type": "message_start", "message": {"model": "claude-told", "usage": usage}}


def block(index: int, kind: str, *deltas: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    """A block: its start, which holds `fields`, the pieces it grows by, its end."""
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(*pieces: str, index: int = 0) -> list[dict[str, Any]]:
    """A block of text."""
    return block(index, "text", *({"type": "text_delta", "text": piece} for piece in pieces), text="")


def call(index: int, call_id: str, name: str, *pieces: str) -> list[dict[str, Any]]:
    """A call of a tool, its arguments in pieces."""
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, "tool_use", *deltas, id=call_id, name=name, input={})


def end(reason: str = "end_turn", **usage: int) -> list[dict[str, Any]]:
    """The last events."""
    return [{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}, {"type": "message_stop"}]


THINKING = block(
    0,
    "thinking",
    {"type": "thinking_delta", "thinking": "let me "},
    {"type": "thinking_delta", "thinking": "see"},
    {"type": "signature_delta", "signature": "c2Vh"},
    {"type": "signature_delta", "signature": "bA=="},
    thinking="",
    signature="",
)
"""The thought `let me see`, sealed with `c2VhbA==`."""


WIRE = Wire(
    name="anthropic_messages",
    client=lambda transport: AnthropicMessages(transport=transport, model="m"),
    replies={
        "text": stream(
            start(input_tokens=3, cache_creation_input_tokens=1, cache_read_input_tokens=8, output_tokens=1),
            {"type": "ping"},
            *text("Hello, ", "你好"),
            *end(output_tokens=3),
        ),
        "thinking": stream(start(input_tokens=5), *THINKING, *text("42", index=1), *end(output_tokens=9)),
        "calls": stream(
            start(input_tokens=5),
            *call(0, "a", "calculate", "", '{"expression": ', '"6*7"}'),
            *call(1, "b", "calculate", "", '{"expression"', ': "2+3"}'),
            *end("tool_use", output_tokens=9),
        ),
        "no_usage": stream(start(), *text("Hello ", "there"), *end()),
        "refused": stream(start(input_tokens=5), *end("refusal", output_tokens=1)),
        "eaten": stream(start(input_tokens=5), *THINKING, *end("max_tokens", output_tokens=9)),
        "overloaded": stream(
            start(input_tokens=5), {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        ),
        "nonsense": b"data: [1, 2]\n\n",
    },
)
