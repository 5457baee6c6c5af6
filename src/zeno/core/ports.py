"""Ports: what the loop asks of the outside world, each one to three methods wide."""

import hashlib
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from zeno.core.messages import FilePart, Message, ToolResult, Usage

Effect = Literal["read", "write", "danger"]
ActionKind = Literal["TOOL_CALL", "RAG_RETRIEVE", "LLM_GENERATE", "DIRECT_RESPONSE"]
EffectState = Literal["reserved", "done", "failed", "rejected", "unknown"]
OncePer = Literal["run", "session"]
Turn = Literal["answer", "question", "note"]
Effort = Literal["none", "low", "medium", "high"]


class ToolSpec(Struct, frozen=True):
    """What the model and the dispatcher know of a tool.

    `description` says what the tool is for and when to use it; `parameters` is the JSON schema of its arguments. `effect` says
    what it may change: nothing (`read`), the run's own files (`write`), anything a person must confirm (`danger`).
    `repeatable` means that doing it twice equals doing it once, so it may run again after a crash. `timeout` is in seconds,
    `None` for the configured default. `volatile` is a read whose answer changes by itself, so that asking again within a run
    asks anew. `key` names the arguments that tell one effect from another (default: all), `once_per` how far that reaches.
    `asks` means that a person's answer is what the tool works on; the call waits for it. `untrusted` says that its results hold
    text that others wrote, `outgoing` that it tells something to a place that its arguments name, though it changes nothing.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    effect: Effect = "read"
    repeatable: bool = False
    action: ActionKind = "TOOL_CALL"
    source: str = ""
    timeout: float | None = None
    volatile: bool = False
    key: tuple[str, ...] = ()
    once_per: OncePer = "run"
    asks: bool = False
    untrusted: bool = False
    outgoing: bool = False

    @property
    def may_run_again(self) -> bool:
        """Whether an interrupted call may simply be done again."""
        return self.effect == "read" or self.repeatable

    @property
    def reaches_out(self) -> bool:
        """Whether others may notice a call: who or what it is about must not be for a text to say that somebody else wrote."""
        return self.outgoing or not self.may_run_again

    def completed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the tool receives them: with the defaults of those that are left out."""
        known: dict[str, dict[str, Any]] = self.parameters.get("properties", {})
        return {name: schema["default"] for name, schema in known.items() if "default" in schema} | dict(arguments)

    @property
    def digest(self) -> str:
        """What an approval of a call is bound to: the definition that the person was shown, as 16 hexadecimal digits."""
        shown = msgspec.json.encode((self.name, self.description, self.parameters, self.effect, self.asks), order="sorted")
        return hashlib.sha256(shown).hexdigest()[:16]


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """What a person answered: the options they chose, in their order, and words of their own."""

    choices: tuple[str, ...] = ()
    text: str = ""


class ToolContext(Struct, frozen=True):
    """Where a call happens: ids for the record, the run's own directory, and the language that produced documents are in.

    `answer` is what the person answered to a tool that `asks`.
    """

    run_id: str
    call_id: str
    workspace: Path
    language: str = "en-US"
    answer: Answer | None = None


class Effecting(Struct, frozen=True):
    """A call that is about to change something: `digest` is that of its arguments."""

    key: str
    run_id: str
    call_id: str
    tool: str
    digest: str


class ToolOutput(Struct, frozen=True):
    """What a tool gives back: text for the model (conclusion first), the files it produced, and the tokens it used."""

    text: str
    files: tuple[FilePart, ...] = ()
    usage: Usage = Usage()


class Tool(Protocol):
    """Something the model may call."""

    @property
    def spec(self) -> ToolSpec: ...

    def check(self, args: dict[str, Any]) -> None:
        """Raises `ToolFailed` with code `bad_arguments` when `call` could not take `args`. Nothing is done."""
        ...

    async def call(self, args: dict[str, Any], ctx: ToolContext) -> ToolOutput:
        """Do it. Raises `ToolFailed` with a text that the model can act on, `EffectUnknown` when it may have been done."""
        ...

    async def verify(self, args: dict[str, Any], ctx: ToolContext) -> ToolOutput | None:
        """Whether an interrupted call was carried out: its output if it was, `None` if it certainly was not.

        Raises `EffectUnknown` when that cannot be told.
        """
        ...


class LedgerEntry(Struct, frozen=True):
    """What is known of one effect. `state` is `reserved` while it is at work; `text` and `files` are its first result."""

    key: str
    run_id: str
    call_id: str
    state: EffectState
    text: str = ""
    files: tuple[FilePart, ...] = ()


class Ledger(Protocol):
    """Which effects there have been, so that none happens twice. A unique constraint on the key is its whole secret."""

    async def reserve(self, effect: Effecting, *, again: bool = False) -> LedgerEntry | None:
        """Announce an effect: `None` when it may go on now, else what is known of it.

        An effect that failed may be tried again; one whose fate is unknown only with `again`.
        """
        ...

    async def settle(self, effect: Effecting, result: ToolResult) -> None:
        """Write down what became of an effect."""
        ...


class TextDelta(Struct, frozen=True, tag="text_delta"):
    """A piece of answer text, as it is written."""

    text: str


class ThinkingDelta(Struct, frozen=True, tag="thinking_delta"):
    """A piece of reasoning, as it is written."""

    text: str


class RetryDelta(Struct, frozen=True, tag="retry_delta"):
    """The model could not be had and is asked again in `seconds`: attempt number `attempt` of `most`. `code` says why."""

    attempt: int
    most: int
    seconds: float
    code: str


Piece = TextDelta | ThinkingDelta
"""A piece of a reply."""

Delta = Piece | RetryDelta
"""What is told of a step while it goes on, and not kept."""


class Reply(Struct, frozen=True):
    """The whole reply, last item of a model's stream.

    `turn` says who has control after it when it asks for no tools: `answer` and `question` hand control to the user, `note` is
    a progress note and the run goes on. `finish_reason` is the provider's own word.
    """

    message: Message
    usage: Usage = Usage()
    turn: Turn = "answer"
    finish_reason: str = ""
    model: str = ""


class ModelRequest(Struct, frozen=True):
    """One question to a model, stable parts first.

    `system` and `tools` do not change within a run and `messages` only grows, so a provider can cache the prefix; `context` is
    the one message that changes with every step and comes last. `pressing` says that it holds what the conversation itself
    does not show; a protocol with native calls, whose conversation carries goal and results, is shown only a pressing one: a
    user's message between result and reply ends the turn that reasoning models think in. `temperature` is the provider's
    scale, `max_output_tokens` limits the reply when it is given, `effort` is how much to reason (`None`: the provider's
    default). `response_schema` asks for a reply that is JSON of that schema, where the provider can promise it.
    """

    system: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    context: str
    run_id: str
    pressing: bool = True
    temperature: float = 0.2
    max_output_tokens: int | None = None
    effort: Effort | None = None
    response_schema: dict[str, Any] | None = None
    language: str = "en-US"


class ModelClient(Protocol):
    """A chat model."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """The reply as it is written: deltas, then one `Reply`, always the last item.

        Raises `ModelUnavailable` or `ModelRefused`. Closing the generator ends the request.
        """
        ...
