"""What a decision must be to fit the call that it is about, and the rule that spares the next question of its kind."""

import glob
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from zeno.core.arguments import as_json, canonical, known_arguments
from zeno.core.decisions import Answered, Approved, Decision, Denied, Edited, Expired
from zeno.core.errors import Invalid, ToolFailed
from zeno.core.policy import Rule
from zeno.core.ports import Tool
from zeno.stores.approvals import Approval

LONGEST_REASON = 10_000
"""Characters of a reason or of an answer in words."""


SPARED = ("danger", "untrusted")
"""Causes of asking that a rule can take away: it says that such calls are fine."""


def fitting(approval: Approval, decision: Decision, tools: Mapping[str, Tool]) -> Decision:
    """The decision, changed arguments in canonical form.

    Raises `Invalid` for a kind of decision that does not belong to this kind of approval, and for arguments or an answer that
    the tool could not take.
    """
    match decision:
        case Approved() if approval.kind == "action":
            return decision
        case Edited(arguments, reason) if approval.kind == "action":
            return Edited(_checked(approval, arguments, tools), _short(reason))
        case Denied(reason):
            return Denied(_short(reason))
        case Answered() if approval.kind == "question":
            _check_answer(approval, decision)
            return decision
        case Approved() | Edited() | Answered() | Expired():
            raise Invalid("decision_misplaced", kind=approval.kind)


def sparing(approval: Approval, decision: Decision, tools: Mapping[str, Tool], anything: Collection[str] = ()) -> Rule:
    """The rule that allows exactly what is being approved, with any value of the arguments in `anything`.

    Raises `Invalid` where no rule could spare the question, and for an argument that the call does not have.
    """
    if approval.kind != "action" or approval.cause not in SPARED or not isinstance(decision, Approved | Edited):
        raise Invalid("always_not_possible", cause=approval.cause)
    text = decision.arguments if isinstance(decision, Edited) else approval.arguments
    arguments: dict[str, Any] = msgspec.json.decode(text)
    if (tool := tools.get(approval.tool)) is not None:
        arguments = tool.spec.completed(arguments)
    if unknown := sorted(set(anything) - arguments.keys()):
        raise Invalid("always_unknown", names=", ".join(unknown)[:200], known=", ".join(arguments) or "-")
    patterns = {name: glob.escape(value if isinstance(value, str) else as_json(value)) for name, value in arguments.items()}
    return Rule("allow", glob.escape(approval.tool), patterns | dict.fromkeys(anything, "*"), exact=True)


def _checked(approval: Approval, text: str, tools: Mapping[str, Tool]) -> str:
    arguments, tool = known_arguments(text), tools.get(approval.tool)
    if arguments is None:
        raise Invalid("decision_arguments", reason="not a JSON object")
    if tool is not None:
        try:
            tool.check(arguments)
        except ToolFailed as misfit:
            raise Invalid("decision_arguments", reason=misfit.message) from None
    return canonical(arguments)


def _check_answer(approval: Approval, answered: Answered) -> None:
    """Choices must be among the options that were offered; words are always welcome."""
    asked: dict[str, Any] = msgspec.json.decode(approval.arguments)
    answer, options = answered.answer, asked.get("options") or ()
    _short(answer.text)
    if any(choice not in options for choice in answer.choices):
        raise Invalid("answer_not_offered", options="; ".join(map(str, options)) or "-")
    if asked.get("form") == "single" and len(answer.choices) > 1:
        raise Invalid("answer_one_only")
    if not answer.choices and not answer.text.strip() and asked.get("form") != "preview":
        raise Invalid("answer_empty")


def _short(words: str) -> str:
    if len(words) > LONGEST_REASON:
        raise Invalid("task_too_long", length=len(words), most=LONGEST_REASON)
    return words
