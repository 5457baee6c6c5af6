"""Events: what has happened in a run, in the past tense. Names and fields are a promise to every reader of the log.

No event carries a sentence in a human language of its own: it carries codes and parameters, which clients render. What the
user, the model and the tools said is data and is kept as it was said.
"""

from typing import Literal

from msgspec import Struct

from zeno.core.decisions import Decision
from zeno.core.endings import Ending
from zeno.core.messages import Message, Part, ToolResult, Usage
from zeno.core.policy import Approver, Cause
from zeno.core.ports import ActionKind, Effect, Turn
from zeno.core.provenance import Passage


class RunStarted(Struct, frozen=True, forbid_unknown_fields=True, tag="run_started"):
    """The first event of a run. `model` is the model's name in the settings, `tools` the names the model may call."""

    agent: str
    model: str
    max_steps: int
    tools: tuple[str, ...]


class UserSaid(Struct, frozen=True, forbid_unknown_fields=True, tag="user_said"):
    """The user's words and files."""

    parts: tuple[Part, ...]


class StepStarted(Struct, frozen=True, forbid_unknown_fields=True, tag="step_started"):
    """The model is being asked. A later one of the same `step`, after a failed attempt or a crash, voids what was streamed.

    `final` says that it gets no tools any more and must answer, `hidden` names those taken away because they led nowhere.
    """

    step: int
    attempt: int = 1
    final: bool = False
    hidden: frozenset[str] = frozenset()


class ModelReplied(Struct, frozen=True, forbid_unknown_fields=True, tag="model_replied"):
    """The model's whole reply, the durable record of a step."""

    step: int
    message: Message
    turn: Turn
    usage: Usage
    finish_reason: str
    model: str


class ToolStarted(Struct, frozen=True, forbid_unknown_fields=True, tag="tool_started"):
    """A call is about to be carried out. Written before the tool runs.

    `repaired` says that its arguments were no valid JSON and had to be mended, `effect` what it may change.
    """

    step: int
    call_id: str
    name: str
    action: ActionKind
    repaired: bool = False
    effect: Effect = "read"


class ToolFinished(Struct, frozen=True, forbid_unknown_fields=True, tag="tool_finished"):
    """What became of a call. `code` says why when it was not simply done, `usage` counts the tokens that a sub-model took.

    `effect` is what the tool may change, `digest` that of the arguments it was given, `approval` the one it was decided by.
    """

    step: int
    result: ToolResult
    code: str = ""
    usage: Usage = Usage()
    effect: Effect = "read"
    digest: str = ""
    approval: str = ""


class ApprovalRequested(Struct, frozen=True, forbid_unknown_fields=True, tag="approval_requested"):
    """A person is asked about a call, or for an answer.

    The approval is bound to `arguments`, in canonical JSON, and to `definition`, the digest of the tool as it was. `cause` says
    why it is asked, `approver` who may decide; after `patience` milliseconds without a decision the answer is no. `passage` is
    the untrusted text that an argument was taken over from, where that is known.
    """

    step: int
    approval_id: str
    call_id: str
    name: str
    kind: Literal["action", "question"]
    effect: Effect
    arguments: str
    definition: str
    cause: Cause
    approver: Approver
    patience: int
    passage: Passage | None = None


class ApprovalDecided(Struct, frozen=True, forbid_unknown_fields=True, tag="approval_decided"):
    """A decision. `by` is the id of the user who made it, "" when it was the passing of time."""

    approval_id: str
    decision: Decision
    by: str = ""


class RunPaused(Struct, frozen=True, forbid_unknown_fields=True, tag="run_paused"):
    """The run waits for decisions on the approvals named; nothing of it is held in memory."""

    waiting: tuple[str, ...]


class CancelRequested(Struct, frozen=True, forbid_unknown_fields=True, tag="cancel_requested"):
    """Someone asked the run to stop."""


class RunEnded(Struct, frozen=True, forbid_unknown_fields=True, tag="run_ended"):
    """The last event of a run.

    `code` names the cause within the ending; `params` are its placeholders. `steps` counts the model calls, `done` and `failed`
    name the tools that succeeded and that did not, so that no run ends without an account of itself.
    """

    ending: Ending
    code: str
    params: dict[str, str | int]
    steps: int
    done: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


Event = (
    RunStarted
    | UserSaid
    | StepStarted
    | ModelReplied
    | ToolStarted
    | ToolFinished
    | ApprovalRequested
    | ApprovalDecided
    | RunPaused
    | CancelRequested
    | RunEnded
)
