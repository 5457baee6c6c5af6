"""Starting: from what a caller sends to a run; once only for a request that the caller gave a name."""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Literal

import msgspec
from pydantic import Field

from zeno.app import App, WhenBusy
from zeno.core.agents import AgentSpec
from zeno.core.commands import Say
from zeno.core.errors import ConfigError, Conflict, Forbidden, Invalid
from zeno.core.events import UserSaid
from zeno.core.messages import FilePart, Part
from zeno.core.scope import Scope
from zeno.runs.start import LONGEST_TASK, workspace
from zeno.server.auth import Principal
from zeno.server.bodies import Body
from zeno.server.session_files import normal, part
from zeno.stores.requests import run_of_request
from zeno.stores.runs import Run

Language = Literal["zh-CN", "en-US"]


class NewRun(Body):
    """A task, and how it is to be done; what is left out is as the settings say."""

    text: str = Field(min_length=1, max_length=LONGEST_TASK, examples=["Compare the sales of the channels by quarter."])
    agent: str | None = Field(None, max_length=200, description="The name of an agent.")
    model: str | None = Field(None, max_length=500, description="The name of a model.")
    mode: Literal["auto", "manual"] | None = Field(
        None, description="`manual`: a person confirms every action; else those that the policy and the settings say."
    )
    language: Language | None = Field(None, description="That of documents and questions; left out, as Accept-Language says.")
    on_disconnect: Literal["continue", "cancel"] = Field(
        "continue", description="What becomes of the run when nobody follows its events any more."
    )


class NewSessionRun(NewRun):
    """A task within a conversation, with files of it."""

    files: list[str] = Field([], max_length=100, description="Paths of uploaded files.", examples=[["sales.csv"]])
    when_busy: WhenBusy = Field(
        "queue",
        description="While another run of the conversation is on: wait for it, say it to that run, or refuse.",
    )


class Started(msgspec.Struct, frozen=True):
    """A run that was begun, or that heard the words; `queued_behind` is the run that it waits for."""

    run_id: str
    session_id: str
    queued_behind: str | None


async def started(app: App, who: Principal, session_id: str, body: NewSessionRun, key: str | None, language: str) -> Run:
    """The run for a task in a session of the caller's.

    `key` is the caller's name for the request: with one that was used before it is the run of then, or a `Conflict` when that
    had another task. Raises `Invalid`, `NotFound`, `Forbidden` and `Conflict`.
    """
    if key is not None and (earlier := await run_of_request(app.runs.database, who.scope, session_id, key)):
        return await _same(app, await app.runs.find(who.scope, earlier), body)
    agent = await _agent(app, who, body, language)
    directory = workspace(app.workspaces, session_id)
    parts = await asyncio.to_thread(lambda: tuple(part(directory, path) for path in body.files))
    run = await app.start(
        who.scope, agent, body.text, session_id=session_id, attached=parts, request_key=key, when_busy=body.when_busy
    )
    return run if key is None or body.when_busy == "steer" else await _same(app, run, body)


def session_for(scope: Scope, key: str) -> str:
    """The id of the session that a request of this name begins: always the same one."""
    return hashlib.sha256(f"{scope.team}\n{scope.user}\n{key}".encode()).hexdigest()[:32]


async def queued_behind(app: App, run: Run) -> str | None:
    """The run that has to end before this one begins."""
    earlier = None
    for other in await app.runs.of_session(run.scope, run.session_id):
        if other.id == run.id:
            break
        earlier = other.id if other.ended_at is None else earlier
    return earlier


async def _agent(app: App, who: Principal, body: NewRun, language: str) -> AgentSpec:
    if body.agent is not None and body.agent not in app.settings.agents:
        raise Invalid("agent_unknown", agent=body.agent, known=", ".join(app.settings.agents) or "-")
    if body.model is not None and not _may_name(app, who, body.model):
        raise Forbidden("model_not_permitted", model=body.model)
    try:
        return await app.agent(
            body.agent,
            language=body.language or language,
            model=body.model,
            manual=body.mode == "manual",
            on_disconnect=body.on_disconnect,
        )
    except ConfigError as error:
        if body.model is None:
            raise
        raise Invalid(error.code, **error.params) from None


def _may_name(app: App, who: Principal, model: str) -> bool:
    """Whether they may have this model: a name can also be a file of this machine or an address in its network."""
    own = app.settings.server.auth == "local"
    return own or "admin" in who.rights or model in model_names(app)


def model_names(app: App) -> list[str]:
    """The models that anyone may ask for: those that the operator named."""
    agents = (agent.model for agent in app.settings.agents.values())
    return list(dict.fromkeys(name for name in (app.settings.model, *app.settings.models, *agents, "offline") if name))


async def _same(app: App, run: Run, body: NewSessionRun) -> Run:
    """The run, if it is what the body asks for. Raises `Conflict`."""
    asked = (body.model in (None, run.agent.model), (body.agent or "default") == run.agent.name, body.text == run.task)
    if not all(asked) or await _brought(app, run) != [normal(path) for path in body.files]:
        raise Conflict("request_key_reused", run=run.id)
    return run


async def _brought(app: App, run: Run) -> list[str]:
    """The files that came with a run's task, heard already or not."""
    waiting = [command for _, command in await app.inbox.pending(run.id)]
    heard = [record.event for record in await app.log.read(run.scope, run.id)]
    said: Sequence[Part] | None = next((event.parts for event in heard if isinstance(event, UserSaid)), None)
    if said is None:
        said = next((command.files for command in waiting if isinstance(command, Say)), ())
    return [each.path for each in said if isinstance(each, FilePart)]
