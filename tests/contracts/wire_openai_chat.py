"""Chat Completions: what a server sends in each scene."""

import json
from typing import Any

from tests.contracts.wires import Wire
from tests.stubs.chat_server import call_delta, delta, usage
from zeno.models.openai_chat import OpenAIChat


def stream(*chunks: dict[str, Any]) -> bytes:
    """The bytes of an event stream."""
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


WIRE = Wire(
    name="openai_chat",
    client=lambda transport: OpenAIChat(transport=transport, model="m"),
    replies={
        "text": stream(delta(content="Hello, "), delta(content="你好"), delta(finish_reason="stop"), usage(12, 3, cached=8)),
        "thinking": stream(
            delta(reasoning_content="let me "), delta(reasoning_content="see"), delta(content="42"), usage(5, 9)
        ),
        "calls": stream(
            call_delta(0, "a", "calculate", '{"expression": '),
            call_delta(1, "b", "calculate", '{"expression"'),
            call_delta(0, None, None, '"6*7"}'),
            call_delta(1, None, None, ': "2+3"}'),
            delta(finish_reason="tool_calls"),
            usage(5, 9),
        ),
        "no_usage": stream(delta(content="Hello "), delta(content="there"), delta(finish_reason="stop")),
        "refused": stream(delta(refusal="I cannot "), delta(refusal="help."), delta(finish_reason="stop")),
        "eaten": stream(delta(reasoning_content="let me see"), delta(finish_reason="length"), usage(5, 9)),
        "overloaded": stream({"error": {"message": "try again later", "code": 503}}),
        "nonsense": b"data: [1, 2]\n\n",
    },
)
