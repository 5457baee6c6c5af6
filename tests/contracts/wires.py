"""What a family of model endpoints brings to the contract of `ModelClient`: its client, and the bytes of its replies."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from zeno.core.ports import ModelClient
from zeno.models.transport import Transport

SCENES = ("text", "thinking", "calls", "no_usage", "refused", "eaten", "overloaded", "nonsense")
"""Each family has the raw bytes of these replies:

text: `Hello, 你好`, in two pieces or more, with 12 input tokens, 8 of them from a cache, and 3 output tokens.
thinking: the reasoning `let me see`, then the text `42`.
calls: two calls at once, `calculate` with `{"expression": "6*7"}` and id `a`, the same with `{"expression": "2+3"}` and id `b`.
no_usage: the text `Hello there` and no counts.
refused: the model declines, with whatever the family says for it.
eaten: the output limit was used up by reasoning.
overloaded: an error inside the stream, before anything was said, that may pass.
nonsense: an event that is not the family's protocol.
"""


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A family: `client` makes its client for a model named `m`, `replies` holds the bytes by scene."""

    name: str
    client: Callable[[Transport], ModelClient]
    replies: Mapping[str, bytes]
