"""The policy of a run: what it may do by itself, what a person must permit, what it may not do at all. Pure."""

from collections.abc import Iterator, Mapping, Set
from fnmatch import fnmatchcase
from typing import Any, Literal

from msgspec import Struct

from zeno.core.arguments import as_json
from zeno.core.messages import Message
from zeno.core.ports import ToolSpec
from zeno.core.provenance import Passage, passage

Verdict = Literal["allow", "ask", "deny"]
Approver = Literal["owner", "admin"]
Cause = Literal["danger", "rule", "manual", "unknown_before", "untrusted", "question", "denied_by_rule", ""]

DAY = 86_400_000


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be done with calls that match.

    `tool` is a pattern of tool names, `arguments` maps names of arguments to patterns that all of them must match; what a call
    leaves out counts with its default. In a pattern `*` is any text and `?` any character. Texts are matched as they are, other
    values as JSON. Of a list or an object, one item or name that matches is enough to deny or to ask, and all have to match to
    allow. Denying and asking pays no regard to case. An `exact` rule allows one call: values as a whole, and no other
    arguments. `approver` says who may decide.
    """

    verdict: Verdict
    tool: str
    arguments: dict[str, str] = {}
    approver: Approver = "owner"
    exact: bool = False

    def matches(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether it speaks of a call with these arguments, defaults included; one that is not there matches nothing."""
        if not fnmatchcase(tool, self.tool) or (self.exact and arguments.keys() - self.arguments.keys()):
            return False
        return all(name in arguments and self._fits(arguments[name], pattern) for name, pattern in self.arguments.items())

    def _fits(self, value: Any, pattern: str) -> bool:
        if self.exact:
            return fnmatchcase(_as_text(value), pattern)
        if self.verdict == "allow":
            return all(fnmatchcase(text, pattern) for text in _items(value))
        return any(fnmatchcase(text.lower(), pattern.lower()) for text in (_as_text(value), *_items(value)))


class Permission(Struct, frozen=True):
    """What the policy says of one call, and why; `passage` is the untrusted text that the call took an argument from."""

    verdict: Verdict
    cause: Cause = ""
    approver: Approver = "owner"
    passage: Passage | None = None


class Policy(Struct, frozen=True):
    """What a run may do.

    `max_steps` limits the rounds with tools. Of the `rules` that match a call, `deny` beats `ask` and `ask` beats `allow`;
    where none does, a dangerous tool is asked about, unless `allow_danger` is the user's blanket consent. `manual` asks about
    every call that no rule denies. `attended` is false where there is nobody to ask, so that asking means no. `patience` is
    how long a decision is waited for, in milliseconds. `history` is the conversation before the run and `instructions` are the
    agent's: with what is said in the run they tell whose words an argument is made of. What a call that reaches out took from
    untrusted text is asked about, whatever was permitted beforehand, unless a rule names that argument.
    """

    max_steps: int
    tools: Mapping[str, ToolSpec]
    allow_danger: bool = False
    rules: tuple[Rule, ...] = ()
    manual: bool = False
    attended: bool = True
    patience: int = DAY
    history: tuple[Message, ...] = ()
    instructions: str = ""

    def permission(
        self, spec: ToolSpec, arguments: Mapping[str, Any], *, unknown_before: bool = False, said: tuple[Message, ...] = ()
    ) -> Permission:
        """Whether a call may be carried out.

        `unknown_before`: the same was tried in this run, with unknown effect. `said` is what was said in this run so far.
        """
        arguments = spec.completed(arguments)
        fitting = [rule for rule in self.rules if rule.matches(spec.name, arguments)]
        matching = {rule.verdict: rule for rule in reversed(fitting)}
        if "deny" in matching:
            return Permission("deny", "denied_by_rule")
        if spec.asks:
            return Permission("ask", "question")
        judged = {name for rule in fitting if rule.verdict == "allow" for name in rule.arguments}
        taken = self._taken_over(spec, arguments, said, judged)
        if "ask" in matching:
            return Permission("ask", "rule", matching["ask"].approver, taken)
        if unknown_before:
            return Permission("ask", "unknown_before", passage=taken)
        if taken is not None:
            return Permission("ask", "untrusted", passage=taken)
        if self.manual:
            return Permission("ask", "manual")
        if "allow" in matching or spec.effect != "danger" or self.allow_danger:
            return Permission("allow")
        return Permission("ask", "danger")

    def _taken_over(
        self, spec: ToolSpec, arguments: Mapping[str, Any], said: tuple[Message, ...], judged: Set[str]
    ) -> Passage | None:
        """What a call that reaches out took over from untrusted text, in an argument that no allowing rule has judged."""
        if not spec.reaches_out:
            return None
        return passage(
            arguments,
            spec,
            conversation=(*self.history, *said),
            instructions=self.instructions,
            tools=self.tools,
            trusted=judged,
        )


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else as_json(value)


def _items(value: Any) -> Iterator[str]:
    """The texts that a value is made of; one that holds nothing is itself one, as JSON."""
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield name
            yield from _items(item)
    elif isinstance(value, list) and value:
        for item in value:
            yield from _items(item)
    else:
        yield _as_text(value)
