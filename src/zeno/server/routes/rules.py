"""Rules: what a user permits or forbids for their own runs, once and for all; and what the policy says of a call."""

from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter
from pydantic import Field, StringConstraints
from starlette.responses import Response

from zeno.core.errors import Invalid, NotFound
from zeno.core.policy import Permission, Rule
from zeno.runs.clock import new_id, now
from zeno.server.answers import House, answer, described, nothing
from zeno.server.audited import audited
from zeno.server.auth import Decider, Reader
from zeno.server.bodies import Body
from zeno.server.deciding import json_text
from zeno.stores.rules import KeptRule

router = APIRouter(prefix="/api/v1/rules", tags=["rules"])

Pattern = Annotated[str, StringConstraints(min_length=1, max_length=1000)]

_KEPT = KeptRule("5f2b8c1d3e4a4f6b8c9d0e1f2a3b4c5d", Rule("allow", "send_email", {"to": "*@example.com"}), 1_790_000_000_000)


class NewRule(Body):
    """What is to be done with calls that match. In a pattern `*` is any text and `?` any character."""

    verdict: Literal["allow", "ask", "deny"]
    tool: str = Field(min_length=1, max_length=200, description="A pattern of tools' names.", examples=["send_email"])
    arguments: dict[str, Pattern] = Field(
        {}, max_length=50, description="Patterns of arguments that must match, all of them.", examples=[{"to": "*@example.com"}]
    )
    exact: bool = Field(False, description="Whether it speaks only of calls that give no other arguments.")


class Trial(Body):
    """A call to be judged, and not to be carried out."""

    tool: str = Field(max_length=200, examples=["send_email"])
    arguments: dict[str, Any] = Field(examples=[{"to": "li@example.com"}])
    agent: str | None = Field(None, max_length=200)


class RuleList(msgspec.Struct, frozen=True):
    """One's own rules, the oldest first, and those of the settings, which count for everybody and are told to admins only."""

    rules: tuple[KeptRule, ...]
    settings: tuple[Rule, ...] = ()


@router.get("", **described(RuleList, "List one's own rules", example=RuleList((_KEPT,))))
async def listing(app: House, who: Reader) -> Response:
    """`deny` beats `ask` and `ask` beats `allow`, whoever's they are. An agent may have rules of its own beside these."""
    settings = app.preparation.rules if "admin" in who.rights else ()
    return answer(RuleList(tuple(await app.rules.of(who.scope)), settings))


@router.post("", **described(KeptRule, "Keep a rule", status=201, example=_KEPT, problems=(409,)))
async def keep(app: House, who: Decider, body: NewRule) -> Response:
    """It counts from the next reply of the model on, also in runs that are on. One that says the same is kept once."""
    kept = KeptRule(new_id(), Rule(body.verdict, body.tool, body.arguments, exact=body.exact), now())
    async with audited(app, who, "rule_added", kept.id):
        kept = await app.rules.add(who.scope, kept)
    return answer(kept, 201, {"location": f"/api/v1/rules/{kept.id}"})


@router.delete("/{rule_id}", **described(None, "Forget a rule", status=204, problems=(404,)))
async def forget(app: House, who: Decider, rule_id: str) -> Response:
    """It counts no more."""
    async with audited(app, who, "rule_removed", rule_id):
        await app.rules.remove(who.scope, rule_id)
    return nothing()


@router.post(
    "/test", **described(Permission, "Ask what would become of a call", example=Permission("ask", "danger"), problems=(404,))
)
async def try_out(app: House, who: Reader, body: Trial) -> Response:
    """By all rules that count for the caller. Nothing is carried out."""
    if body.agent is not None and body.agent not in app.settings.agents:
        raise Invalid("agent_unknown", agent=body.agent, known=", ".join(app.settings.agents) or "-")
    json_text(body.arguments)
    policy = await app.preparation.policy(who.scope, await app.agent(body.agent, language="en-US"))
    if body.tool not in policy.tools:
        raise NotFound("tool_not_found", tool=body.tool, known=", ".join(policy.tools))
    return answer(policy.permission(policy.tools[body.tool], body.arguments, unknown_before=False))
