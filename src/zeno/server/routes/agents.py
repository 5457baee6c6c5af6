"""Agents, tools, settings: what there is to choose from, and nothing that is secret of it."""

from typing import Any, Literal

import msgspec
from fastapi import APIRouter
from starlette.responses import Response

from zeno import __version__
from zeno.core.ports import ActionKind, Effect
from zeno.i18n import LANGUAGES
from zeno.server.answers import House, answer, described
from zeno.server.auth import Reader
from zeno.server.page_models import editable

router = APIRouter(prefix="/api/v1", tags=["agents"])


class AgentSummary(msgspec.Struct, frozen=True):
    """An agent. `model` is `null` where the settings name none, `tools` where it may use all."""

    name: str
    model: str | None
    tools: tuple[str, ...] | None
    mode: Literal["auto", "manual"]


class AgentList(msgspec.Struct, frozen=True):
    """The agents, the default one first."""

    agents: tuple[AgentSummary, ...]


class ToolSummary(msgspec.Struct, frozen=True):
    """A tool: what it is for, the JSON schema of its arguments, what it may change, and whether it asks a person."""

    name: str
    description: str
    parameters: dict[str, Any]
    effect: Effect
    action: ActionKind
    asks: bool


class ToolList(msgspec.Struct, frozen=True):
    """All tools of the installation."""

    tools: tuple[ToolSummary, ...]


class PublicSettings(msgspec.Struct, frozen=True):
    """What a page needs to know of the installation. `max_upload` is in bytes, `language` the one that the operator chose.

    `approval_hours` is how long a decision is waited for, `models_editable` whether models can be saved on the page, `priced`
    whether any model has a price.
    """

    mode: Literal["local", "team"]
    version: str
    languages: tuple[str, ...]
    language: str | None
    default_model: str
    max_upload: int
    max_steps: int
    approval_hours: float
    models_editable: bool
    priced: bool


_AGENT = AgentSummary("default", None, None, "auto")
_TOOL = ToolSummary("calculate", "Calculates. Use it for ...", {"type": "object", "properties": {}}, "read", "TOOL_CALL", False)
_SETTINGS = PublicSettings("local", __version__, LANGUAGES, None, "offline", 104_857_600, 10, 24, True, False)


@router.get("/agents", **described(AgentList, "List the agents", example=AgentList((_AGENT,))))
async def agents(app: House, who: Reader) -> Response:
    """Those of the settings. What they are instructed to do is the operator's."""
    own = app.settings
    found = [AgentSummary("default", own.default_model, None, own.mode)]
    for name, each in own.agents.items():
        tools = None if each.tools is None else tuple(each.tools)
        found.append(AgentSummary(name, each.model or own.default_model, tools, each.mode or own.mode))
    return answer(AgentList(tuple(found)))


@router.get("/tools", **described(ToolList, "List the tools", example=ToolList((_TOOL,))))
async def tools(app: House, who: Reader) -> Response:
    """With what a page needs to show their calls."""
    specs = [tool.spec for tool in app.tools.values()]
    return answer(ToolList(tuple(ToolSummary(s.name, s.description, s.parameters, s.effect, s.action, s.asks) for s in specs)))


@router.get("/settings", **described(PublicSettings, "Show what a page needs to know", example=_SETTINGS, problems=(503,)))
async def settings(app: House, who: Reader) -> Response:
    """No secrets, no paths."""
    own = app.settings
    default = await app.agent(None, language="en-US")
    return answer(
        PublicSettings(
            mode=own.server.auth,
            version=__version__,
            languages=LANGUAGES,
            language=own.language,
            default_model=default.model,
            max_upload=own.server.max_upload,
            max_steps=own.max_steps,
            approval_hours=own.approval_hours,
            models_editable=editable(app),
            priced=bool(own.prices),
        )
    )
