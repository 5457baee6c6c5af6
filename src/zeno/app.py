"""The house, put together: the only place that knows what is concrete."""

import functools
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from zeno.core.agents import AgentSpec
from zeno.core.commands import Command
from zeno.core.errors import ConfigError
from zeno.core.ports import Tool
from zeno.core.state import RunState
from zeno.models.discovery import local_model
from zeno.models.profile import Profiles
from zeno.models.registry import Endpoint, ModelChoice, Models
from zeno.models.transport import Timeouts
from zeno.models.writer import written
from zeno.runs.clock import iso, now
from zeno.runs.cost import Price
from zeno.runs.drive import Driver, Tell
from zeno.runs.prepare import Preparation, permitted
from zeno.runs.start import start
from zeno.settings import AgentSettings, EndpointSettings, ModelSettings, PriceSettings, Settings
from zeno.stores.database import opened as database_opened
from zeno.stores.event_log import EventLog
from zeno.stores.inbox import Inbox
from zeno.stores.leases import Leases
from zeno.stores.runs import Run, Runs
from zeno.tools.builtin.generate import generate_text_tool
from zeno.tools.catalog import Surroundings, toolset
from zeno.tools.guards import guarded

USUAL_OPENAI_MODEL = "gpt-5-mini"
USUAL_ANTHROPIC_MODEL = "claude-sonnet-4-5"
"""Asked for when there is a key but no name of a model."""


@dataclass(frozen=True, kw_only=True)
class App:
    """Zeno, open for work. Make one with `opened`."""

    settings: Settings
    runs: Runs
    log: EventLog
    inbox: Inbox
    driver: Driver
    models: Models
    tools: Mapping[str, Tool]
    workspaces: Path
    prices: Mapping[str, Price]

    async def agent(
        self,
        name: str | None,
        *,
        language: str,
        model: str | None = None,
        max_steps: int | None = None,
        allow_danger: bool = False,
    ) -> AgentSpec:
        """The agent called `name` (`None`: the default one), with what the caller wants different.

        Raises `ConfigError` when there is no such agent, model or tool.
        """
        if name is not None and name not in self.settings.agents:
            raise ConfigError("agent_unknown", agent=name, known=", ".join(self.settings.agents) or "-")
        own = self.settings.agents[name] if name is not None else AgentSettings()
        spec = AgentSpec(
            name=name or "default",
            model=model or own.model or self.settings.model or await self._best_model(),
            instructions=own.instructions,
            tools=None if own.tools is None else tuple(own.tools),
            max_steps=max_steps or own.max_steps or self.settings.max_steps,
            temperature=self.settings.temperature if own.temperature is None else own.temperature,
            max_output_tokens=self.settings.max_output_tokens,
            effort=own.effort or self.settings.effort,
            language=language,
            allow_danger=allow_danger,
        )
        permitted(spec, self.tools)
        self.models.client(spec.model)
        return spec

    async def start(self, agent: AgentSpec, text: str, files: Sequence[Path] = (), session_id: str | None = None) -> Run:
        """Make a run that can be driven. Raises `RequestError` for a text or a file that cannot be taken."""
        return await start(self.runs, agent, text, files=files, workspaces=self.workspaces, session_id=session_id)

    async def drive(self, run: Run, tell: Tell) -> RunState:
        """Go on with a run to its end. Raises `Conflict` when another process drives it."""
        return await self.driver.drive(run, tell)

    async def send(self, run_id: str, command: Command) -> None:
        """Leave a command for a run and ring."""
        await self.inbox.put(run_id, command, now())
        self.driver.ring(run_id)

    async def _best_model(self) -> str:
        """The best model that nobody had to configure: the environment's, one on this machine, else `offline`."""
        for family, endpoint, usual in (
            ("openai", self.settings.openai, USUAL_OPENAI_MODEL),
            ("anthropic", self.settings.anthropic, USUAL_ANTHROPIC_MODEL),
        ):
            if endpoint.api_key.get_secret_value() or endpoint.base_url:
                return f"{family}:{endpoint.model or usual}"
        return await local_model(self.settings.local_model_ports) or "offline"


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[App]:
    """The house, open; closed at the end. Raises `ConfigError` when it cannot be put together."""
    workspaces = settings.home / "workspaces"
    url = settings.database_url or f"sqlite:///{settings.home / 'zeno.db'}"
    async with AsyncExitStack() as closing, database_opened(url) as database:
        models = _models(settings, closing)
        tools = _tools(settings, models)
        log, runs, inbox = EventLog(database=database), Runs(database=database), Inbox(database=database)
        preparation = Preparation(runs=runs, log=log, model=models.client, tools=tools, workspaces=workspaces)
        yield App(
            settings=settings,
            runs=runs,
            log=log,
            inbox=inbox,
            driver=Driver(leases=Leases(database=database), log=log, inbox=inbox, equip=preparation.kit),
            models=models,
            tools=tools,
            workspaces=workspaces,
            prices={name: _price(own) for name, own in settings.prices.items()},
        )


def _price(own: PriceSettings) -> Price:
    return Price(own.input, own.output, own.input if own.cached is None else own.cached)


def _models(settings: Settings, closing: AsyncExitStack) -> Models:
    openai, anthropic = _endpoint(settings.openai), _endpoint(settings.anthropic)
    configured = {"openai": openai, "responses": openai, "anthropic": anthropic}
    return Models(
        closing=closing,
        endpoints=configured,
        choices={name: _choice(own, configured[own.family]) for name, own in settings.models.items()},
        profiles=Profiles(settings.home / "profiles.json"),
    )


def _endpoint(own: EndpointSettings) -> Endpoint:
    return Endpoint(base_url=own.base_url or "", api_key=own.api_key.get_secret_value())


def _choice(own: ModelSettings, configured: Endpoint) -> ModelChoice:
    key = own.api_key.get_secret_value() if own.api_key else ""
    # The family's key is for the family's endpoint; another address needs a key of its own.
    elsewhere = own.base_url and own.base_url.rstrip("/") != configured.base_url.rstrip("/")
    return ModelChoice(
        family=own.family,
        model=own.model,
        endpoint=Endpoint(
            base_url=own.base_url or configured.base_url, api_key=key or ("" if elsewhere else configured.api_key)
        ),
        protocol=own.protocol,
        timeouts=Timeouts(
            connect=own.connect_timeout, first=own.first_timeout, between=own.between_timeout, total=own.total_timeout
        ),
        fallback=tuple(own.fallback),
    )


def _tools(settings: Settings, models: Models) -> dict[str, Tool]:
    own = settings.tools
    surroundings = Surroundings(
        weather_forecast_url=own.weather_forecast_url,
        weather_geocoding_url=own.weather_geocoding_url,
        dns_nameservers=own.dns_nameservers,
        dns_port=own.dns_port,
    )
    tools = toolset(surroundings, own.modules)
    if settings.text_model:
        writer = generate_text_tool(functools.partial(written, models.client(settings.text_model)))
        tools[writer.spec.name] = writer
    return {
        name: guarded(tool, seconds=own.timeout, characters=own.result_characters, now=lambda: iso(now()))
        for name, tool in tools.items()
    }
