"""Agents: what a run is to be like. The specification is copied into the run, so later changes do not touch it."""

from typing import Literal

from msgspec import Struct

from zeno.core.policy import Rule
from zeno.core.ports import Effort


class AgentSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """One agent.

    `model` is a model's name in the settings; `tools` the names it may call, `None` for all. `max_steps` limits the rounds with
    tools, `temperature` is the provider's scale, `effort` is how much to reason, `language` the one of documents and questions.
    `manual` has a person confirm every action, `rules` are the agent's own; `on_disconnect` says what becomes of a run that
    nobody watches any more.
    """

    name: str
    model: str
    instructions: str = ""
    tools: tuple[str, ...] | None = None
    max_steps: int = 10
    temperature: float = 0.2
    max_output_tokens: int | None = None
    effort: Effort | None = None
    language: str = "en-US"
    allow_danger: bool = False
    manual: bool = False
    rules: tuple[Rule, ...] = ()
    on_disconnect: Literal["continue", "cancel"] = "continue"
