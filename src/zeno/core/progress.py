"""Whether a run gets anywhere, seen from its calls and their results alone. Pure; knows neither the loop nor the tools.

Two things count as standing still: the same call with the same result as the last time, whatever was called in between, and
the same error from the same tool without a success in between. A call that brings something else than the last time, as polling
and paging do, is progress. What counts is replies, not calls: within one reply the model could not know better. A message of
the user starts the account afresh.
"""

import json
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from zeno.core.arguments import repaired
from zeno.core.messages import ToolCall, ToolResult

HINT_AT = 3
HIDE_AT = 5
STOP_AFTER = 2
"""Equal replies before the model is told, before the tool is taken away, and after that before the run has to answer."""

COSMETIC = frozenset(
    {"reason", "reasoning", "thought", "thoughts", "explanation", "description", "note", "comment"}
    | {"request_id", "trace_id", "nonce", "timestamp"}
)
"""Arguments that do not make a call another one, and so does no argument whose name begins with an underscore."""


class Verdict(Struct, frozen=True):
    """What to do about it: a text for the model ("" for none), tools to take away, and whether to ask for the final answer."""

    hint: str = ""
    hidden: frozenset[str] = frozenset()
    stop: bool = False


class _Streaks:
    """How often in a row each thing has had the same outcome."""

    def __init__(self, last: Mapping[str, tuple[str, int]]) -> None:
        self.last = dict(last)

    def count(self, thing: str, outcome: str) -> int:
        before, count = self.last.get(thing, ("", 0))
        count = count + 1 if outcome == before else 1
        self.last[thing] = (outcome, count)
        return count


class Progress:
    """The count of replies that brought nothing new, and what follows from it. Never changed: each reply gives another one."""

    def __init__(self, before: "Progress | None" = None) -> None:
        self._calls: _Streaks = _Streaks(before._calls.last if before else {})
        self._errors: _Streaks = _Streaks(before._errors.last if before else {})
        self._hidden: frozenset[str] = before._hidden if before else frozenset()
        self._idle: int = before._idle if before else 0
        self._hints: dict[str, str] = {}

    def after(
        self, calls: Sequence[ToolCall], results: Sequence[ToolResult], cosmetic: frozenset[str] = COSMETIC
    ) -> "Progress":
        """The account after one more reply with these calls, which had these results."""
        asked = {call.id: call for call in calls}
        known = (result for result in results if result.call_id in asked and result.outcome != "cancelled")
        further = Progress(self)
        further._add({_key(asked[result.call_id], cosmetic): result for result in known})
        return further

    def _add(self, results: dict[str, ToolResult]) -> None:
        """One more reply: the results by what was called."""
        done = {result.name for result in results.values() if result.outcome == "done"}
        failed = {result.name: _outcome(result) for result in results.values() if result.name not in done}
        calls = {key: self._calls.count(key, _outcome(result)) for key, result in results.items()}
        errors = {name: self._errors.count(name, error) for name, error in failed.items()}
        for name in done:
            self._errors.last.pop(name, None)
        if any(calls[key] == 1 and result.outcome == "done" for key, result in results.items()):
            self._idle = 0
        elif self._hidden & (done | set(failed)) or (self._hidden and max((*calls.values(), *errors.values()), default=0) > 1):
            self._idle += 1
        for name, count in errors.items():
            if self._judged(name, count):
                self._hints[name] = _FAILING.format(name=name, count=count)
        for key, result in results.items():
            if self._judged(result.name, calls[key]):
                about = key if result.outcome == "done" else result.name  # the failing call says more than the failing tool
                self._hints[about] = _REPEATING.format(call=_shown(key), count=calls[key])

    def _judged(self, name: str, count: int) -> bool:
        """Whether the model is to be told; from a certain count on the tool is also taken away."""
        if count >= HIDE_AT:
            self._hidden |= {name}
        return count >= HINT_AT

    def verdict(self) -> Verdict:
        """What follows."""
        hints = list(self._hints.values())[:_MOST_HINTS]
        if self._hidden:
            hints.append(_GONE.format(names=", ".join(sorted(self._hidden))))
        return Verdict("\n".join(hints), self._hidden, self._idle >= STOP_AFTER)


_MOST_HINTS = 3
_MOST_SHOWN = 200
_REPEATING = (
    "You have made the call {call} {count} times and got the same result each time. The result is in the conversation: use it. "
    "Do not make this call again; change what it asks for, take another way, or answer with what is known."
)
_FAILING = (
    "{name} has failed {count} times in a row with the same error. Do not call it like that again: read its last error and "
    "correct what it names, use another tool, or tell the user what failed."
)
_GONE = (
    "No longer available in this run: {names}. Calling again brought nothing new. Go on with the other tools, or answer now "
    "with what is known and say what is missing."
)


def _shown(key: str) -> str:
    return key if len(key) <= _MOST_SHOWN else f"{key[:_MOST_SHOWN]}…"


_STAMP = re.compile(r"\n\[source: [^\n]*; at [^\n]*\]")
_KEPT = re.compile(r"the whole text is in the file results/[\w-]+\.txt")
"""Where a long result is kept, by the id of its call."""

_PLACE_OF_FAULT = re.compile(r"\bline \d+ column \d+ \(char \d+\)|(?<=The tool has not run\. ).*", re.DOTALL)
"""Where arguments are wrong and how they begin."""


def _outcome(result: ToolResult) -> str:
    """What makes a result equal to another: its text without what differs from call to call anyway, and its files."""
    text = _KEPT.sub("", _STAMP.sub("", result.text))
    if result.outcome != "done":
        text = _PLACE_OF_FAULT.sub("", text)
    files = " ".join(f"{file.path}:{file.size}" for file in result.files)
    return f"{result.outcome} {files} {text.strip()}"


def _key(call: ToolCall, cosmetic: frozenset[str]) -> str:
    """A call as it is compared and shown: its name and its arguments in one order, without the cosmetic ones.

    When there are no others, they are what the call is about.
    """
    try:
        arguments = repaired(call.arguments or "{}").value
    except ValueError:
        return f"{call.name}({call.arguments.strip()})"
    if isinstance(arguments, dict):
        telling = {key: value for key, value in arguments.items() if key not in cosmetic and not key.startswith("_")}
        arguments = telling or arguments
    return f"{call.name}({json.dumps(arguments, ensure_ascii=False, sort_keys=True)})"
