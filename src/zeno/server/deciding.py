"""Deciding: from what a caller sends about an approval to a decision, and to a rule when the next question is to be spared."""

import json
from typing import Any, Literal, Self

import msgspec
from pydantic import Field, model_validator

from zeno.app import App
from zeno.core.decisions import Answered, Approved, Decision, Denied, Edited
from zeno.core.errors import Invalid
from zeno.core.ports import Answer
from zeno.runs.decide import LONGEST_REASON
from zeno.server.auth import Principal
from zeno.server.bodies import Body
from zeno.stores.approvals import Approval


class AnswerBody(Body):
    """What a person answers to a question: options, in their order, and words of their own."""

    choices: list[str] = Field([], max_length=100)
    text: str = Field("", max_length=LONGEST_REASON)


class DecisionBody(Body):
    """A decision: `edit` comes with `arguments`, `answer` with an `answer`.

    `always` keeps a rule as well, so that a call of this tool with exactly these arguments is not asked about again, those in
    `any` aside, which may then have any value; it goes with `approve` and `edit` of a call that is asked about because the tool
    is dangerous or an argument is others' words.
    """

    decision: Literal["approve", "edit", "deny", "answer"]
    arguments: dict[str, Any] | None = Field(None, description="The arguments to carry it out with instead.")
    reason: str = Field("", max_length=LONGEST_REASON, description="Why; the model is told.")
    answer: AnswerBody | None = None
    always: bool = False
    any: list[str] = Field([], max_length=100, description="Arguments that the rule of `always` leaves open.")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.arguments is not None) != (self.decision == "edit"):
            raise ValueError("arguments belong to edit")
        if (self.answer is not None) != (self.decision == "answer"):
            raise ValueError("an answer belongs to answer")
        if self.always and self.decision not in ("approve", "edit"):
            raise ValueError("always belongs to approve and edit")
        if self.any and not self.always:
            raise ValueError("any belongs to always")
        return self


class Decided(msgspec.Struct, frozen=True):
    """The approval as it is now, and whether it was this request that decided it."""

    approval: Approval
    decided_by_this: bool


async def decided(app: App, who: Principal, approval_id: str, body: DecisionBody) -> Decided:
    """Decide. Raises `NotFound`, `Invalid` for what does not fit, and `Conflict` when it was decided otherwise."""
    admin = "admin" in who.rights
    always = body.any if body.always else None
    return Decided(*await app.decide(who.scope, approval_id, _decision(body), admin=admin, always=always))


def json_text(value: dict[str, Any]) -> str:
    """An object as JSON text. Raises `Invalid` for what JSON cannot say."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        raise Invalid("decision_arguments", reason="not a JSON object") from None


def _decision(body: DecisionBody) -> Decision:
    match body.decision:
        case "approve":
            return Approved()
        case "edit":
            return Edited(json_text(body.arguments or {}), body.reason)
        case "deny":
            return Denied(body.reason)
        case "answer":
            given = body.answer or AnswerBody(choices=[], text="")
            return Answered(Answer(tuple(given.choices), given.text))
