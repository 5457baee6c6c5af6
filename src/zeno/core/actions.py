"""Actions: the next step of a run as a value. `decide` chooses one, the loop carries it out."""

from msgspec import Struct

from zeno.core.endings import Ending
from zeno.core.messages import Outcome, ToolCall
from zeno.core.policy import Permission


class AskModel(Struct, frozen=True):
    """Ask the model.

    `final` takes the tools away, so that it must answer from what is known; `nudge` says that its last reply was empty. `hint`
    tells it that it goes in circles, and the tools in `hidden` are taken away for that.
    """

    step: int
    final: bool = False
    nudge: bool = False
    hint: str = ""
    hidden: frozenset[str] = frozenset()


class CallTools(Struct, frozen=True):
    """Carry out these calls at once: either reads only, or a single call that changes something."""

    calls: tuple[ToolCall, ...]


class CloseCalls(Struct, frozen=True):
    """Give these calls a result without carrying them out."""

    calls: tuple[ToolCall, ...]
    outcome: Outcome
    code: str


class RequestApprovals(Struct, frozen=True):
    """Ask a person about these calls, each for the reason that goes with it."""

    calls: tuple[tuple[ToolCall, Permission], ...]


class Await(Struct, frozen=True):
    """Pause: nothing can be done before a person has decided."""


class Finish(Struct, frozen=True):
    """End the run; control goes back to the user."""

    ending: Ending
    code: str


Action = AskModel | CallTools | CloseCalls | RequestApprovals | Await | Finish
