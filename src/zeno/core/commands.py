"""Commands: what people and programs ask of a run, in the imperative. They go into the run's inbox, never to the loop."""

from msgspec import Struct

from zeno.core.decisions import Decision
from zeno.core.messages import FilePart


class Say(Struct, frozen=True, forbid_unknown_fields=True, tag="say"):
    """The user speaks. `files` already lie in the run's workspace."""

    text: str
    files: tuple[FilePart, ...] = ()


class Cancel(Struct, frozen=True, forbid_unknown_fields=True, tag="cancel"):
    """Stop the run."""


class Decide(Struct, frozen=True, forbid_unknown_fields=True, tag="decide"):
    """Someone decided about a call; `by` is the user's id, "" when it was the passing of time."""

    approval_id: str
    decision: Decision
    by: str = ""


Command = Say | Cancel | Decide
