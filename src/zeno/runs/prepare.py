"""Preparing a run: the kit that the loop is given, made from the copied agent and what the house has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from zeno.core.agents import AgentSpec
from zeno.core.errors import ConfigError
from zeno.core.kit import Kit
from zeno.core.messages import Message
from zeno.core.policy import Policy, Rule
from zeno.core.ports import Ledger, ModelClient, Tool
from zeno.core.scope import Scope
from zeno.core.state import fold
from zeno.runs.clock import iso, now
from zeno.runs.start import workspace
from zeno.stores.event_log import EventLog
from zeno.stores.leases import Lease
from zeno.stores.rules import Rules
from zeno.stores.runs import Run, Runs

MODEL_HISTORY = 20
"""How many of the session's earlier messages a run is shown."""


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """Makes kits. `model` gives the client for a model's name, `ledger` the ledger as the driver with a lease writes it.

    `rules` are the operator's, `patience` is in milliseconds.
    """

    runs: Runs
    log: EventLog
    kept_rules: Rules
    ledger: Callable[[Lease], Ledger]
    rules: tuple[Rule, ...]
    patience: int
    model: Callable[[str], ModelClient]
    tools: Mapping[str, Tool]
    workspaces: Path

    async def kit(self, run: Run, lease: Lease) -> Kit:
        """The kit of a run. Raises `ConfigError` when its agent names a tool or model that is not there."""
        agent = run.agent
        tools = permitted(agent, self.tools)
        directory = workspace(self.workspaces, run.session_id)
        directory.mkdir(parents=True, exist_ok=True)
        history = await self._history(run)
        return Kit(
            run_id=run.id,
            session_id=run.session_id,
            model=self.model(agent.model),
            tools=tools,
            policy=await self.policy(run.scope, agent, history),
            ledger=self.ledger(lease),
            workspace=directory,
            instructions=agent.instructions,
            today=iso(now())[:10],
            language=agent.language,
            history=history,
            temperature=agent.temperature,
            max_output_tokens=agent.max_output_tokens,
            effort=agent.effort,
        )

    async def policy(self, scope: Scope, agent: AgentSpec, history: tuple[Message, ...] = ()) -> Policy:
        """What an agent may do for a user, by the rules of the operator, its own and theirs, in a conversation so far."""
        tools = permitted(agent, self.tools)
        theirs = tuple(kept.rule for kept in await self.kept_rules.of(scope))
        return Policy(
            max_steps=agent.max_steps,
            tools={name: tool.spec for name, tool in tools.items()},
            allow_danger=agent.allow_danger,
            rules=(*self.rules, *agent.rules, *theirs),
            manual=agent.manual,
            patience=self.patience,
            history=history,
            instructions=agent.instructions,
        )

    async def _history(self, run: Run) -> tuple[Message, ...]:
        """What was said in the session before this run; whole runs only, so that every call keeps its result."""
        earlier: tuple[Message, ...] = ()
        for past in reversed(await self.runs.of_session(run.scope, run.session_id)):
            if past.ended_at is None or (past.created_at, past.id) >= (run.created_at, run.id):
                continue
            messages = fold(record.event for record in await self.log.read(run.scope, past.id)).messages
            if len(messages) + len(earlier) > MODEL_HISTORY:
                break
            earlier = (*messages, *earlier)
        return earlier


def permitted(agent: AgentSpec, tools: Mapping[str, Tool]) -> Mapping[str, Tool]:
    """The tools that the agent may call. Raises `ConfigError` for a name that is not there."""
    if agent.tools is None:
        return tools
    for name in agent.tools:
        if name not in tools:
            raise ConfigError("tool_unknown", tool=name, agent=agent.name, known=", ".join(tools))
    return {name: tools[name] for name in agent.tools}
