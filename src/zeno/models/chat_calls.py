"""Tool calls put together from the fragments of a stream, as many servers write them: with indexes that lie, or none."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from zeno.core.messages import ToolCall
from zeno.models.letters import whole
from zeno.models.remembered import encoded


class FunctionFragment(msgspec.Struct, gc=False):
    """A piece of a call: the name, and more of the arguments. Some servers give the arguments as an object."""

    name: Any = None
    arguments: Any = None

    @property
    def text(self) -> str:
        """The piece of the arguments as text."""
        arguments = self.arguments
        return arguments if isinstance(arguments, str) else "" if arguments is None else encoded(arguments).decode()


class CallFragment(msgspec.Struct, gc=False):
    """A fragment and what says to which call it belongs. `extra_content` is where Gemini keeps its seal."""

    index: Any = None
    id: Any = None
    function: FunctionFragment | None = None
    extra_content: Any = None


@dataclass
class _Draft:
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    seal: Any = None

    @property
    def arguments(self) -> str:
        return whole("".join(self.pieces))

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are a complete JSON object; tried only where they may be."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            return isinstance(msgspec.json.decode(self.arguments), dict)
        except (msgspec.DecodeError, RecursionError):
            return False


class Calls:
    """The calls of one reply, in the order in which they began."""

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._at: dict[Any, _Draft] = {}
        """The call that each index means now."""

    def add(self, fragment: CallFragment) -> None:
        """Take a fragment in."""
        function = fragment.function or FunctionFragment()
        call_id, name, text = whole(str(fragment.id or "")), whole(str(function.name or "")), function.text
        draft = self._known(fragment.index, call_id)
        if draft is None or _begins_another(draft, call_id, name, text):
            draft = _Draft(name="" if call_id or draft is None else draft.name)
            self._drafts.append(draft)
        elif draft.is_whole and text.strip() in ("", draft.arguments.strip()):
            # The end of a call may say all of it once more.
            text = ""
        draft.id = draft.id or call_id
        draft.name = name or draft.name
        draft.seal = fragment.extra_content or draft.seal
        if text:
            draft.pieces.append(text)
        self._at[fragment.index] = draft

    def _known(self, index: Any, call_id: str) -> _Draft | None:
        """The call that a fragment goes on with: that of its id, else that of its index, else the last one."""
        if call_id and (known := next((draft for draft in self._drafts if draft.id == call_id), None)):
            return known
        if index is not None:
            return self._at.get(index)
        return self._drafts[-1] if self._drafts else None

    @property
    def text(self) -> str:
        """Everything the model wrote for its calls."""
        return "".join(draft.name + draft.arguments for draft in self._drafts)

    @property
    def seals(self) -> list[Any]:
        """What the provider sealed, call by call; empty when there is none."""
        seals = [draft.seal for draft in self._drafts]
        return seals if any(seals) else []

    def finished(self) -> tuple[ToolCall, ...]:
        """The calls. Their ids may be missing, or not be unique."""
        return tuple(ToolCall(draft.id, draft.name, draft.arguments) for draft in self._drafts if draft.name or draft.pieces)


def _begins_another(draft: _Draft, call_id: str, name: str, text: str) -> bool:
    """Whether a fragment belongs to a new call although its index is taken: some servers call each of them 0."""
    if call_id and draft.id:
        return call_id != draft.id
    if name and draft.name and name != draft.name:
        return True
    # Nothing can follow a whole object: a call without a name is one more of the same tool.
    return text.strip() not in ("", draft.arguments.strip()) and draft.is_whole
