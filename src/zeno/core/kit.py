"""What the loop is given: the model, the tools, the policy, and what the run brings along."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from zeno.core.messages import Message
from zeno.core.policy import Policy
from zeno.core.ports import Effort, Ledger, ModelClient, Tool


@dataclass(frozen=True, kw_only=True)
class Kit:
    """Everything a run may use. `history` is the session's earlier conversation; `today` is an ISO date."""

    run_id: str
    session_id: str
    model: ModelClient
    tools: Mapping[str, Tool]
    policy: Policy
    ledger: Ledger
    workspace: Path
    instructions: str
    today: str
    language: str
    history: tuple[Message, ...] = ()
    temperature: float = 0.2
    max_output_tokens: int | None = None
    effort: Effort | None = None
